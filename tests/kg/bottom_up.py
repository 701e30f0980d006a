"""The least model of a knowledge graph's rules, level by level: an oracle that shares no code.

R_0 is the facts; R_k adds what each rule concludes from R_{k−1}, by joining its body's atoms one
after the other. A triple's level is the first k with the triple in R_k: how deep rules must nest.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

Triple = tuple[str, str, str]  # relation, head, tail
Written = tuple[Triple, list[Triple]]

_ATOM = re.compile(r"([a-z]\w*)\(\s*(\w+)\s*,\s*(\w+)\s*\)")


def read_facts(path: Path) -> list[Triple]:
    """The facts `relation(a,b).` of a file."""
    return [m.groups() for m in _ATOM.finditer(path.read_text())]  # type: ignore[misc]


def read_clauses(path: Path) -> list[Written]:
    """The rules `label :: head :- body.` of a file; capitals are variables."""
    rules = []
    for line in path.read_text().splitlines():
        if ":-" in line:
            head, body = line.split(":-")
            rules.append((_ATOM.findall(head)[0], _ATOM.findall(body)))
    return rules


def levels(facts: Iterable[Triple], rules: list[Written], limit: int) -> dict[Triple, int]:
    """Every triple that at most `limit` nestings prove, with its level."""
    found = dict.fromkeys(facts, 0)
    for level in range(1, limit + 1):
        index = _Index(found)
        new = {t for head, body in rules for t in _conclusions(head, body, index)}
        before = len(found)
        for triple in new:
            found.setdefault(triple, level)
        if len(found) == before:
            break
    return found


class _Index:
    def __init__(self, triples: Iterable[Triple]) -> None:
        self.forward: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.backward: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.pairs: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for relation, head, tail in triples:
            self.forward[relation, head].add(tail)
            self.backward[relation, tail].add(head)
            self.pairs[relation].add((head, tail))

    def matches(self, relation: str, x: str | None, y: str | None) -> set[tuple[str, str]]:
        if x is not None:
            tails = self.forward.get((relation, x), set())
            return {(x, b) for b in tails if y is None or b == y}
        if y is not None:
            return {(a, y) for a in self.backward.get((relation, y), set())}
        return self.pairs.get(relation, set())


def _conclusions(head: Triple, body: list[Triple], index: _Index) -> set[Triple]:
    frames: list[dict[str, str]] = [{}]
    for relation, x, y in body:
        frames = [
            {**frame, x: a, y: b}
            for frame in frames
            for a, b in index.matches(relation, _value(frame, x), _value(frame, y))
            if x != y or a == b
        ]
    return {(head[0], frame.get(head[1], head[1]), frame.get(head[2], head[2])) for frame in frames}


def _value(frame: dict[str, str], name: str) -> str | None:
    return frame.get(name) if name[0].isupper() else name
