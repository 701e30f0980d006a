"""How deep rules must nest to prove a triple: a bottom-up oracle that shares no code with `dpl`.

Every rule of these graphs is a path from its head's first argument to its second,

    brother(a, h), mother(b, h) -> son(a, b)    is    a -brother→ h ←mother- b

so the facts of rule-nesting level k follow by joining sets along paths:

    R_0 = facts,    R_k(x) = R_0(x) ∪ ⋃ over rules of  ⋃ {S_{k-1}(z) : z ∈ Q_{k-1}(x)}

Rows are computed on demand and kept, from either end, because level 3 of WN18RR has ten million
pairs and its test queries need a few of them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

Triple: TypeAlias = tuple[str, str, str]
Step: TypeAlias = tuple[str, bool]
"""A relation and whether it is walked from its first argument to its second."""

_ATOM = re.compile(r"(\w+)\(\s*([^,()\s]+)\s*,\s*([^,()\s]+)\s*\)")


def read_triples(path: Path) -> list[Triple]:
    """The facts `relation(a, b).` of a file."""
    return [(m[1], m[2], m[3]) for m in _ATOM.finditer(path.read_text())]


def read_paths(path: Path) -> list[tuple[str, list[Step]]]:
    """The rules `id:weight:body -> head` of a file, each as its head and its path."""
    rules = []
    for line in path.read_text().splitlines():
        if line.strip():
            body, head = line.split(":", 2)[2].split("->")
            rules.append(_as_path(_ATOM.findall(head)[0], _ATOM.findall(body)))
    return rules


def _as_path(head: Triple, body: list[Triple]) -> tuple[str, list[Step]]:
    at, end = head[1], head[2]
    left, steps = list(body), []
    while left:
        atom = next(a for a in left if at in a[1:])
        left.remove(atom)
        forward = atom[1] == at
        steps.append((atom[0], forward))
        at = atom[2] if forward else atom[1]
    if at != end:
        raise ValueError(f"no path from {head[1]} to {end}: {body} -> {head}")
    return head[0], steps


@dataclass
class Levels:
    """Facts and rules; `level(triple, limit)` is the least rule nesting that proves a triple."""

    triples: list[Triple]
    rules: list[tuple[str, list[Step]]]
    _facts: dict[Step, dict[str, set[str]]] = field(init=False)
    _paths: dict[Step, list[list[Step]]] = field(init=False)
    _rows: dict[tuple[Step, str, int], set[str]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._facts = defaultdict(lambda: defaultdict(set))
        for relation, a, b in self.triples:
            self._facts[relation, True][a].add(b)
            self._facts[relation, False][b].add(a)
        self._paths = defaultdict(list)
        for head, path in self.rules:
            self._paths[head, True].append(path)
            self._paths[head, False].append([(r, not forward) for r, forward in reversed(path)])

    def row(self, step: Step, start: str, level: int) -> set[str]:
        """Where one step leads from `start`, by the facts and `level` nestings of rules."""
        key = (step, start, level)
        found = self._rows.get(key)
        if found is None:
            found = set(self._facts[step].get(start, ()))
            if level:
                for path in self._paths[step]:
                    found |= self._walk(path, start, level - 1)
            self._rows[key] = found
        return found

    def _walk(self, path: list[Step], start: str, level: int) -> set[str]:
        here = {start}
        for step in path:
            here = set().union(*(self.row(step, at, level) for at in here))
        return here

    def level(self, triple: Triple, limit: int) -> int | None:
        """The least level ≤ limit at which the triple is proved, 0 for a fact; None if none is.

        The paths are met in the middle, from both ends, so that only short joins are made.
        """
        relation, a, b = triple
        if b in self._facts[relation, True].get(a, ()):
            return 0
        for level in range(1, limit + 1):
            if any(self._meets(path, a, b, level - 1) for path in self._paths[relation, True]):
                return level
        return None

    def _meets(self, path: list[Step], a: str, b: str, level: int) -> bool:
        relation, forward = path[-1]
        back = self.row((relation, not forward), b, level)
        return not back.isdisjoint(self._walk(path[:-1], a, level))
