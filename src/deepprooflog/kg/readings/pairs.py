"""The pairs (x, y) that the body of a rule connects over the facts, from some x or to some y.

Bodies are read under object identity, as mining counts them: different variables stand for
different entities, none of them a constant of the rule. A body that is a path of at most three
steps is walked for all sources at once, by rows of bits; any other is joined atom by atom.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Int64

from deepprooflog.kg.data.rules import Rule
from deepprooflog.kg.data.triple_set import Side
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.mining.adjacency import DirectedGraph, directed_graph
from deepprooflog.kg.mining.found import CLOSED, FREE, FoundRule
from deepprooflog.kg.mining.identity import Pairs, pairs_without
from deepprooflog.kg.mining.reach import STRIPE, Reach, at_start, next_step
from deepprooflog.kg.readings.bodies import path_rule
from deepprooflog.kg.readings.join import joined, readable

NOTHING = np.zeros(0, np.int64)


@dataclass(eq=False)
class BodyReader:
    """What the bodies of rules connect, over the training triples of a graph."""

    graph: Graph
    _meeting: dict[tuple[int, ...], Pairs] = field(default_factory=dict, init=False)

    @cached_property
    def edges(self) -> DirectedGraph:
        """The facts in both directions."""
        return directed_graph(self.graph, identity=True)

    def readable(self, rule: Rule) -> bool:
        """Whether a rule is about the graph's relations alone, and binds its head."""
        return path_rule(self.graph, rule.clause) is not None or readable(self.graph, rule.clause)

    def pairs(
        self, rules: Iterable[Rule], side: Side, ends: Int64[np.ndarray, " ends"]
    ) -> list[Pairs]:
        """For each rule the pairs (x, y) that it connects with x (`head`) or y among some ends."""
        rules = list(rules)
        found: list[Pairs] = [(NOTHING, NOTHING)] * len(rules)
        paths = [path_rule(self.graph, rule.clause) for rule in rules]
        way = [self._way(path, side) for path in paths]
        order = sorted(range(len(rules)), key=way.__getitem__)
        ends = np.unique(ends)
        for low in range(0, len(ends), STRIPE):
            some = ends[low : low + STRIPE]
            walks = _Walks(self.edges, at_start(some, self.edges.entities))
            for at in order:
                path = paths[at]
                if path is None:
                    more = joined(self.edges, rules[at].clause, self.graph, side, some)
                elif path.end != CLOSED:
                    more = self._acyclic(path, side, some)
                else:
                    more = self._closed(path, self._apart(way[at], walks), side)
                x, y = found[at]
                found[at] = np.concatenate([x, more[0]]), np.concatenate([y, more[1]])
        return found

    def _way(self, path: FoundRule | None, side: Side) -> tuple[int, ...]:
        """The path as it is walked from the known side."""
        if path is None or path.end != CLOSED:
            return ()
        back = self.edges.inverse(np.array(path.path[::-1]))
        return path.path if side == "head" else tuple(back.tolist())

    def _closed(self, rule: FoundRule, reach: Reach, side: Side) -> Pairs:
        source, target = reach.pairs()
        x, y = (source, target) if side == "head" else (target, source)
        kept = np.ones(len(x), bool)
        for fixed, own in ((rule.x, x), (rule.y, y)):
            if fixed != FREE:
                kept &= own == fixed
        return x[kept], y[kept]

    def _apart(self, way: tuple[int, ...], walks: _Walks) -> Reach:
        """Where a path leads without meeting an entity twice."""
        reach = walks.reach(way)
        if len(way) < 3:
            return reach
        if way not in self._meeting:
            a, b, c = way
            self._meeting[way] = pairs_without(self.edges, a, b, c)
        return reach.without(*self._meeting[way])

    def _acyclic(self, rule: FoundRule, side: Side, ends: Int64[np.ndarray, " ends"]) -> Pairs:
        """Those with a trait, and the head's constant."""
        body = self.edges.by_relation[rule.path[0]]
        forward = rule.x == FREE
        constant = rule.y if forward else rule.x
        kept = body.targets != constant if rule.end == FREE else body.targets == rule.end
        members = np.unique(body.sources[kept])
        members = members[members != constant]
        if rule.end != FREE:
            members = members[members != rule.end]
        if (side == "head") == forward:
            members = members[np.isin(members, ends)]
        elif constant not in ends:
            members = NOTHING
        fixed = np.full(len(members), constant)
        return (members, fixed) if forward else (fixed, members)


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
