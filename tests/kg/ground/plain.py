"""BC(w, d) in plain Python, as it is told: queries one by one, variables over the whole domain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from deepprooflog.kg.ground.ground_rule import GroundAtom, GroundRule

Triple = tuple[int, int, int]  # head, relation, tail
Grounding = tuple[int, Triple, tuple[Triple, ...]]


@dataclass(frozen=True)
class PlainGrounder:
    """Facts, rules and the width, over entities 0 to `entities` − 1."""

    facts: frozenset[Triple]
    rules: tuple[GroundRule, ...]
    width: int
    entities: int

    def groundings(self, query: Triple) -> set[Grounding]:
        """The bodies of one round that are not rejected."""
        heads = {rule.head[0] for rule in self.rules}
        found = set()
        for number, rule in enumerate(self.rules):
            for body in self._anchored(rule, query):
                unknown = [atom for atom in body if atom not in self.facts]
                if query in body or len(unknown) > self.width:
                    continue
                if all(atom[1] in heads for atom in unknown):
                    found.add((number, query, body))
        return found

    def _anchored(self, rule: GroundRule, query: Triple) -> Iterator[tuple[Triple, ...]]:
        bound = _matched(rule.head, query, {})
        if bound is None:
            return
        for atom in rule.body:
            for fact in self.facts:
                anchored = _matched(atom, fact, bound)
                if anchored is None:
                    continue
                terms = {term for other in rule.body for term in other[1:] if term < 0}
                free = sorted(terms - anchored.keys())
                for values in product(range(self.entities), repeat=len(free)):
                    value = {**anchored, **dict(zip(free, values, strict=True))}
                    yield tuple(_ground(other, value) for other in rule.body)

    def kept(self, query: Triple, depth: int) -> set[Grounding]:
        """Those of which every atom is a fact or proved by the rounds that are left."""
        if not depth:
            return set()
        return {
            grounding
            for grounding in self.groundings(query)
            if all(atom in self.facts or self.kept(atom, depth - 1) for atom in grounding[2])
        }

    def rounds(self, queries: set[Triple], depth: int) -> list[set[Grounding]]:
        """What is kept in each round."""
        result: list[set[Grounding]] = []
        for left in range(depth, 0, -1):
            found = {g for query in queries for g in self.kept(query, left)}
            result.append(found)
            queries = {atom for g in found for atom in g[2] if atom not in self.facts}
        return result


def _matched(atom: GroundAtom, triple: Triple, bound: dict[int, int]) -> dict[int, int] | None:
    head, relation, tail = triple
    if atom[0] != relation:
        return None
    value = dict(bound)
    for term, entity in ((atom[1], head), (atom[2], tail)):
        if (term if term >= 0 else value.setdefault(term, entity)) != entity:
            return None
    return value


def _ground(atom: GroundAtom, value: dict[int, int]) -> Triple:
    first, second = (term if term >= 0 else value[term] for term in atom[1:])
    return first, atom[0], second
