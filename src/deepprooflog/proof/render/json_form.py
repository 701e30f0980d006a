"""A proof as JSON, and back.

    {"query": text,                    the query
     "bindings": {variable: text},     the query's variables
     "probability": number,            of this derivation; 0 where it is below the smallest float
     "log_probability": number|null,   its natural logarithm; null stands for log 0
     "labels": {name: text},           what people call names, where that is known
     "iris": {name: text},             what they stand for on the web, where that is known
     "nodes": [                        the steps in preorder
       {"id": n,                       the step's index: 0, 1, 2, …
        "parent": n|null,              the step whose clause brought this atom; null: the query
        "atom": text, "kind": text,    kind: fact, rule, builtin, guard, neural, belief,
                                       and where a derivation failed missing or failed
        "reason": text,                the clause, the builtin's name, or the network's answer
        "place": text|null,            "file:line" of the clause
        "probability": number, "log_probability": number|null}]}

Reading takes `log_probability` for the truth and ignores `probability` and any other key.

>>> q = Node("q(a)", "fact", "0.2::q(a).", "slp.pl:5", -1.5, -1, 0)
>>> proof = Proof("q(X)", {"X": "a"}, -1.5, (q,))
>>> from_json(to_json(proof)) == proof
True
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, cast

from deepprooflog.errors import ProofLogError, SyntaxProblem
from deepprooflog.proof.tree import KINDS, Node, NodeKind, Proof

_SURROGATE = re.compile("[\ud800-\udfff]")


def to_dict(proof: Proof) -> dict[str, Any]:
    """The proof as plain Python, in the form above."""
    steps = [
        {
            "id": index,
            "parent": None if node.parent < 0 else node.parent,
            "atom": node.atom,
            "kind": node.kind,
            "reason": node.reason,
            "place": node.place,
            **_weight(node.log_weight),
        }
        for index, node in enumerate(proof.nodes)
    ]
    head = {"query": proof.query, "bindings": dict(proof.bindings), **_weight(proof.log_prob)}
    told = {"labels": dict(proof.labels), "iris": dict(proof.iris)}
    return {**head, **{key: names for key, names in told.items() if names}, "nodes": steps}


def to_json(proof: Proof) -> str:
    """The proof as JSON text, one step a line."""
    head = to_dict(proof)
    steps = head.pop("nodes")
    lines = [f"  {_dump(key)}: {_dump(value)}," for key, value in head.items()]
    if not steps:
        return "\n".join(["{", *lines, '  "nodes": []', "}"])
    rows = ",\n".join(f"    {_dump(step)}" for step in steps)
    return "\n".join(["{", *lines, '  "nodes": [', rows, "  ]", "}"])


def from_json(text: str) -> Proof:
    """The proof in a JSON text of this form."""
    record = _parse(text)
    nodes: list[Node] = []
    for index, step in enumerate(_get(record, "nodes", list, "the proof")):
        whose = f"node {index}"
        if not isinstance(step, dict):
            raise ProofLogError(f"{whose} of the proof is not a JSON object")
        if _get(step, "id", int, whose) != index:
            raise ProofLogError(f"{whose} has id {step['id']}; ids count the steps from 0")
        parent = -1 if step.get("parent", 0) is None else _get(step, "parent", int, whose)
        if parent >= index or (parent < 0 and step["parent"] is not None):
            raise ProofLogError(f"{whose} has parent {parent}, which is no earlier step")
        kind = _get(step, "kind", str, whose)
        if kind not in KINDS:
            raise ProofLogError(f"{whose} has kind {kind!r}; kinds are {', '.join(KINDS)}")
        nodes.append(
            Node(
                atom=_get(step, "atom", str, whose),
                kind=cast(NodeKind, kind),
                reason=_get(step, "reason", str, whose),
                place=None if step.get("place") is None else _get(step, "place", str, whose),
                log_weight=_log(step, whose),
                parent=parent,
                depth=0 if parent < 0 else nodes[parent].depth + 1,
            )
        )
    bindings = _get(record, "bindings", dict, "the proof")
    if not all(isinstance(value, str) for value in bindings.values()):
        raise ProofLogError("the proof's bindings are not all text")
    query = _get(record, "query", str, "the proof")
    told: dict[str, dict[str, str]] = {}
    for key in ("labels", "iris"):
        told[key] = _get(record, key, dict, "the proof") if key in record else {}
        if not all(isinstance(value, str) for value in told[key].values()):
            raise ProofLogError(f"the proof's {key} are not all text")
    labels, iris = told["labels"], told["iris"]
    log = _log(record, "the proof")
    return Proof(query, bindings, log, tuple(nodes), labels=labels, iris=iris)


def _dump(value: object) -> str:
    # Letters beyond ASCII stay legible; a lone surrogate could not be encoded in a file.
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _weight(log_weight: float) -> dict[str, float | None]:
    return {
        "probability": math.exp(log_weight),
        "log_probability": None if log_weight == -math.inf else log_weight,
    }


def _parse(text: str) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        lines = text.splitlines()
        line = lines[error.lineno - 1] if error.lineno <= len(lines) else ""
        raise SyntaxProblem(
            f"not JSON: {error.msg}",
            line=error.lineno,
            column=error.colno,
            text=line if len(line) <= 200 else None,
        ) from None
    except RecursionError:
        raise ProofLogError("not a proof: JSON nested too deeply") from None
    if not isinstance(record, dict):
        raise ProofLogError("not a proof: the JSON text is not an object")
    return record


def _get(record: dict[str, Any], key: str, kind: type, whose: str) -> Any:
    if key not in record:
        raise ProofLogError(f"{whose} has no {key!r}")
    value = record[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ProofLogError(f"{whose}: {key!r} is not a JSON {_JSON_NAMES[kind]}")
    return value


_JSON_NAMES = {str: "string", int: "integer", list: "array", dict: "object"}


def _log(record: dict[str, Any], whose: str) -> float:
    value = record.get("log_probability", 0)
    if "log_probability" not in record or isinstance(value, bool):
        raise ProofLogError(f"{whose} has no log_probability")
    if value is None:
        return -math.inf
    if not isinstance(value, int | float):
        raise ProofLogError(f"{whose}: 'log_probability' is not a JSON number")
    return float(value)
