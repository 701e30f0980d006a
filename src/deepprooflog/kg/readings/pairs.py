"""The pairs (x, y) that the body of a rule connects over the facts, from some x or to some y.

Bodies are read under object identity, as mining counts them: different variables stand for
different entities, none of them a constant of the rule. A body that is a path of at most three
steps is walked for all sources at once, by rows of bits; one atom beside a constant is looked up
with all others of its kind (`traits`); any other body is joined atom by atom.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeGuard

import numpy as np
from jaxtyping import Bool, Int64

from deepprooflog.kg.data.rules import Rule
from deepprooflog.kg.data.triple_set import Side
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.mining.adjacency import DirectedGraph, directed_graph
from deepprooflog.kg.mining.found import CLOSED, FREE, FoundRule
from deepprooflog.kg.mining.identity import Pairs, pairs_without
from deepprooflog.kg.mining.reach import STRIPE, Reach, at_start, next_step
from deepprooflog.kg.readings.bodies import path_rule
from deepprooflog.kg.readings.join import joined, readable
from deepprooflog.kg.readings.traits import trait_pairs
from deepprooflog.logic.clause import Clause

RuleBody = FoundRule | Clause
"""A path, or a clause whose atoms are joined."""

NOTHING = np.zeros(0, np.int64)


@dataclass(eq=False)
class BodyReader:
    """What the bodies of rules connect, over the training triples of a graph."""

    graph: Graph

    @cached_property
    def edges(self) -> DirectedGraph:
        """The facts in both directions."""
        return directed_graph(self.graph, identity=True)

    def body(self, rule: Rule) -> RuleBody | None:
        """A rule as it is read, None where it is not about the graph's relations alone, or does
        not bind its head."""
        path = path_rule(self.graph, rule.clause)
        if path is not None:
            return path
        return rule.clause if readable(self.graph, rule.clause) else None

    def pairs(
        self, bodies: Sequence[RuleBody], side: Side, ends: Int64[np.ndarray, " ends"]
    ) -> list[Pairs]:
        """For each body the pairs (x, y) that it connects with x (`head`) or y among some ends."""
        ends = np.unique(ends)
        found: list[Pairs] = [(NOTHING, NOTHING)] * len(bodies)
        traits = [(n, b) for n, b in enumerate(bodies) if _is_path(b) and b.end != CLOSED]
        together = trait_pairs(self.edges, [body for _, body in traits], side, ends)
        for (number, _), own in zip(traits, together, strict=True):
            found[number] = own
        paths = [(self._way(b, side), n, b) for n, b in enumerate(bodies) if _is_path(b)]
        paths = sorted((way, n, b) for way, n, b in paths if b.end == CLOSED)
        others = [(n, b) for n, b in enumerate(bodies) if isinstance(b, Clause)]
        for low in range(0, len(ends), STRIPE):
            some = ends[low : low + STRIPE]
            parts = [(n, joined(self.edges, b, self.graph, side, some)) for n, b in others]
            for number, more in (*parts, *self._closed(paths, side, some)):
                x, y = found[number]
                found[number] = np.concatenate([x, more[0]]), np.concatenate([y, more[1]])
        return found

    def _way(self, path: FoundRule, side: Side) -> tuple[int, ...]:
        """The path as it is walked from the known side."""
        if side == "head":
            return path.path
        return tuple((d + self.edges.relations) % self.edges.directed for d in path.path[::-1])

    def _closed(
        self,
        paths: Sequence[tuple[tuple[int, ...], int, FoundRule]],
        side: Side,
        ends: Int64[np.ndarray, " ends"],
    ) -> Iterator[tuple[int, Pairs]]:
        """What closed paths connect, each way walked once for all that differ in constants."""
        walks = _Walks(self.edges, at_start(ends, self.edges.entities))
        asked = np.zeros(self.edges.entities, bool)
        asked[ends] = True
        last: tuple[int, ...] | None = None
        for way, number, rule in paths:
            own, other = (rule.x, rule.y) if side == "head" else (rule.y, rule.x)
            if own != FREE and not asked[own]:
                continue
            if way != last:
                led, last = _Led(*self._apart(way, walks, asked).pairs()), way
            source, target = led.fixed(own, other)
            yield number, (source, target) if side == "head" else (target, source)

    def _apart(
        self, way: tuple[int, ...], walks: _Walks, asked: Bool[np.ndarray, " entities"]
    ) -> Reach:
        """Where a path leads without meeting an entity twice."""
        reach = walks.reach(way)
        if len(way) < 3:
            return reach
        a, b, c = way
        return reach.without(*pairs_without(self.edges, a, b, c, of=asked))


@dataclass(frozen=True, eq=False)
class _Led:
    """Where a path leads, with one end fixed where it is asked so."""

    source: Int64[np.ndarray, " pairs"]
    target: Int64[np.ndarray, " pairs"]

    @cached_property
    def by_source(self) -> Int64[np.ndarray, " pairs"]:
        return np.argsort(self.source, kind="stable")

    @cached_property
    def by_target(self) -> Int64[np.ndarray, " pairs"]:
        return np.argsort(self.target, kind="stable")

    @cached_property
    def sources(self) -> Int64[np.ndarray, " pairs"]:
        return np.asarray(self.source[self.by_source])

    @cached_property
    def targets(self) -> Int64[np.ndarray, " pairs"]:
        return np.asarray(self.target[self.by_target])

    def fixed(self, source: int, target: int) -> Pairs:
        """The pairs with a given source, or a given target, or all."""
        if source == FREE == target:
            return self.source, self.target
        fixed, keys = (source, self.sources) if source != FREE else (target, self.targets)
        order = self.by_source if source != FREE else self.by_target
        low, high = np.searchsorted(keys, [fixed, fixed + 1])
        chosen = order[low:high]
        return self.source[chosen], self.target[chosen]


def _is_path(body: RuleBody) -> TypeGuard[FoundRule]:
    return isinstance(body, FoundRule)


class _Walks:
    """Where paths lead from some entities; paths that begin alike are to follow each other."""

    def __init__(self, edges: DirectedGraph, start: Reach) -> None:
        self.edges, self.start = edges, start
        self.chain: list[tuple[int, Reach]] = []

    def reach(self, path: tuple[int, ...]) -> Reach:
        shared = 0
        while shared < min(len(path), len(self.chain)) and self.chain[shared][0] == path[shared]:
            shared += 1
        del self.chain[shared:]
        reach = self.chain[-1][1] if self.chain else self.start
        for label in path[shared:]:
            reach = next_step(reach, self.edges.by_relation[label]).without_loops()
            self.chain.append((label, reach))
        return reach
