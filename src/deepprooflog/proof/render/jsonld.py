"""Proofs as JSON-LD, in the terms of PROV-O: what was concluded, by which step, from which facts.

A statement is a `prov:Entity` and an `rdf:Statement`; one that is a fact has its file and line as
`prov:hadPrimarySource`. A step is a `prov:Activity`: it `prov:used` the statements of its body and
its clause, a `prov:Plan`, and the statement that it proves `prov:wasGeneratedBy` it. A proof as a
whole is an activity too, which used all its facts. The terms that PROV-O has none for are those of
`urn:deepprooflog:`, prefix `dpl`: atom, clause, place, kind, probability, step.

Names are the IRIs that the proof's maker gave for them, `iris`; others are
`urn:deepprooflog:name:…`, numbers and strings are literals where they stand in a tail.

>>> from deepprooflog.proof.tree import Node, Proof
>>> node = Node("knows(ann,bob)", "fact", "knows(ann,bob).", "kin.nt:3", 0.0, -1, 0)
>>> text = to_jsonld(Proof("knows(ann,X)", {"X": "bob"}, 0.0, (node,), iris={"ann": "http://e/a"}))
>>> [one.get("rdf:subject") for one in json.loads(text)["@graph"][1:2]]
[{'@id': 'http://e/a'}]
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from deepprooflog.errors import ProofLogError
from deepprooflog.proof.tree import Node, Proof, children
from deepprooflog.syntax.reader import read_term
from deepprooflog.syntax.terms import Atom, Float, Str, Struct, Term, deref
from deepprooflog.syntax.writer import write_term

OWN = "urn:deepprooflog:"
CONTEXT: Mapping[str, str] = {
    "dpl": OWN,
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
PRIOR = "dpl:prior"
"""The agent of steps that believe an embedding."""


def to_jsonld(proof: Proof) -> str:
    """The proof as a JSON-LD document."""
    record = ProvenanceRecord()
    record.add(proof)
    return record.text()


class ProvenanceRecord:
    """Proofs on their way to one document; a statement that several share stands there once."""

    def __init__(self) -> None:
        self.nodes: dict[str, dict[str, Any]] = {}  # by what they are about
        self.proofs = 0

    def add(self, proof: Proof) -> str:
        """Add a proof; the name of its activity."""
        self.proofs += 1
        name = f"_:proof{self.proofs}"
        about: dict[str, Any] = {
            "@id": name, "@type": ["prov:Activity", "dpl:Proof"], "dpl:query": proof.query,
            "dpl:probability": exact_number(proof.probability), "prov:used": [], "dpl:step": [],
        }  # fmt: skip
        self.nodes[name] = about
        roots, below = children(proof.nodes)
        for at, node in enumerate(proof.nodes):
            own = self.statement(node.atom, proof.iris, proof.labels)
            if node.kind == "fact":
                self._fact(own, node)
                _append(about, "prov:used", own)
                continue
            step = f"{name}-step{at}"
            body = [self.statement(proof.nodes[i].atom, proof.iris, {}) for i in below[at]]
            self._step(step, node, body)
            _append(about, "dpl:step", {"@id": step})
            _append(own, "prov:wasGeneratedBy", {"@id": step})
            for part in body:
                _append(own, "prov:wasDerivedFrom", part)
        for at in roots:
            own = self.statement(proof.nodes[at].atom, proof.iris, {})
            _append(own, "prov:wasGeneratedBy", {"@id": name})
        return name

    def statement(
        self, atom: str, iris: Mapping[str, str], labels: Mapping[str, str]
    ) -> dict[str, Any]:
        """The entity of an atom: with its parts where it is a triple."""
        if atom in self.nodes:
            return self.nodes[atom]
        own: dict[str, Any] = {
            "@id": f"_:statement{len(self.nodes)}", "@type": ["prov:Entity"], "dpl:atom": atom,
        }  # fmt: skip
        parts = _triple(atom)
        if parts is not None:
            own["@type"].append("rdf:Statement")
            places = ("rdf:subject", "rdf:predicate", "rdf:object")
            for place, term in zip(places, parts, strict=True):
                own[place] = _resource(term, iris, literal=place == "rdf:object")
                label = labels.get(write_term(term))
                if label and "@id" in own[place]:
                    own[place] = {**own[place], "rdfs:label": label}
        self.nodes[atom] = own
        return own

    def _fact(self, own: dict[str, Any], node: Node) -> None:
        if "dpl:Fact" not in own["@type"]:
            own["@type"].append("dpl:Fact")
        if node.place is not None:
            source = {"@id": f"_:source{len(self.nodes)}", "@type": "prov:Entity",
                      "dpl:place": node.place}  # fmt: skip
            kept = self.nodes.setdefault(f"place {node.place}", source)
            _append(own, "prov:hadPrimarySource", kept)

    def _step(self, step: str, node: Node, body: list[dict[str, Any]]) -> None:
        own: dict[str, Any] = {
            "@id": step, "@type": ["prov:Activity", "dpl:Step"], "dpl:kind": node.kind,
            "dpl:probability": exact_number(_probability(node)),
        }  # fmt: skip
        for part in body:
            _append(own, "prov:used", part)
        if node.kind == "belief":
            own["prov:wasAssociatedWith"] = {"@id": PRIOR}
            agent = {"@id": PRIOR, "@type": ["prov:Agent", "prov:SoftwareAgent"]}
            self.nodes.setdefault(PRIOR, agent)
        elif node.kind == "rule":
            plan: dict[str, Any] = {
                "@id": f"_:clause{len(self.nodes)}", "@type": ["prov:Entity", "prov:Plan"],
                "dpl:clause": node.reason,
            }  # fmt: skip
            if node.place is not None:
                plan["dpl:place"] = node.place
            _append(own, "prov:used", self.nodes.setdefault(f"clause {node.reason}", plan))
        else:
            own["dpl:reason"] = node.reason
        self.nodes[step] = own

    def text(self) -> str:
        """The document; what is referred to stands in it once."""
        graph = list(self.nodes.values())
        return json.dumps({"@context": dict(CONTEXT), "@graph": graph}, indent=2)


def exact_number(value: float) -> dict[str, str]:
    """A number with all its digits, which a bare one may lose in JSON-LD."""
    return {"@value": repr(float(value)), "@type": "xsd:double"}


def _probability(node: Node) -> float:
    return math.exp(node.log_weight)


def _append(own: dict[str, Any], key: str, other: Mapping[str, Any]) -> None:
    """Refer to another node, once."""
    link = {"@id": other["@id"]}
    if link not in own.setdefault(key, []):
        own[key].append(link)


def _triple(atom: str) -> tuple[Term, Term, Term] | None:
    """Subject, predicate and object of an atom r(h, t)."""
    try:
        term = read_term(atom, end_optional=True).term
    except ProofLogError:  # an atom that shows what no program can write
        return None
    if type(term) is not Struct or len(term.args) != 2:
        return None
    head, tail = map(deref, term.args)
    return head, Atom(term.functor.name), tail


def _resource(term: Term, iris: Mapping[str, str], literal: bool) -> dict[str, Any]:
    if literal and isinstance(term, int):
        return {"@value": str(term), "@type": "xsd:integer"}
    if literal and type(term) is Float:
        return exact_number(term.value)
    if literal and type(term) is Str:
        return {"@value": term.value}
    text = write_term(term)
    name = term.name if type(term) is Atom else text
    return {"@id": iris.get(text) or f"{OWN}name:{quote(name, safe='')}"}
