"""Counting rules whose body is a path from X to Y: exactly, by products of relations.

For the pairs (x, y) that a path connects, predictions is their number, support how many of them are
facts r(x, y), PCA predictions how many have an x with some fact r(x, ·). One path is counted for
all its heads at once, and with a constant in place of X or Y wherever that makes it surer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Int64

from deepprooflog.kg.mining.adjacency import DirectedGraph
from deepprooflog.kg.mining.found import CLOSED, FREE, FoundRule, at_least
from deepprooflog.kg.mining.identity import Pairs, pairs_without
from deepprooflog.kg.mining.reach import Reach, first_step, next_step, stripes

MOST_BYTES = 1 << 27  # of the pairs of a path's beginning

Path = tuple[int, ...]


@dataclass(frozen=True)
class Thresholds:
    """What a rule must have to be kept."""

    support: int
    confidence: float
    constants: int = 2  # the most steps of a path with a constant at its end; 0 for none

    def keep(self, support: int, predictions: int) -> bool:
        """Whether one rule is kept."""
        return support >= self.support and support >= self.confidence * predictions

    def passing(
        self, support: Int64[np.ndarray, " rules"], predictions: Int64[np.ndarray, " rules"]
    ) -> Int64[np.ndarray, " kept"]:
        """The numbers of the rules that are kept."""
        enough = (support >= self.support) & (support >= self.confidence * predictions)
        return np.flatnonzero(enough & (predictions > 0))


@dataclass(eq=False)
class PathCounter:
    """Counts the rules of closed paths, fastest where paths that begin alike follow each other."""

    edges: DirectedGraph
    identity: bool
    kept: Thresholds
    _prefix: Path = field(default=(), init=False)
    _reaches: dict[int, Reach] = field(default_factory=dict, init=False)
    _kept_bytes: int = field(default=0, init=False)

    def rules(self, path: Path, heads: list[int]) -> Iterator[FoundRule]:
        """The rules r(X,Y) :- path that are kept, for some relations r."""
        turned = oriented(self.edges, path) != path
        shift = self.edges.relations if turned else 0
        walk = oriented(self.edges, path)
        drop = self._dropped(walk)
        ranges = list(stripes(self.edges.by_relation[walk[0]]))
        # One stripe is walked once; several are walked again, so that only one is held.
        held = [self._walked(walk, *ranges[0], drop)] if len(ranges) == 1 else None
        reaches = held or (self._walked(walk, *span, drop) for span in ranges)
        heads = [head + shift for head in heads]
        tallies = {head: _HeadTally(self.edges, head) for head in heads}
        predictions = np.zeros(self.edges.entities, np.int64)
        for reach in reaches:
            predictions[reach.targets] += reach.row_counts
            for tally in tallies.values():
                tally.add(reach)
        total = int(predictions.sum())
        some = [t for t in tallies.values() if self._worth(path, t.support, total)]
        if not some:
            return
        for reach in held or (self._walked(walk, *span, drop) for span in ranges):
            for tally in some:
                tally.add_pca(reach, self.kept if self._with_constants(path) else None)
        for tally in some:
            for rule in self._kept(tally, predictions, self._with_constants(path)):
                yield turn(rule, path, self.edges.relations) if turned else rule._replace(path=path)

    def least_predictions(self, path: Path) -> int:
        """A number that the predictions of a path cannot be below, told by its busiest entity."""
        walk = oriented(self.edges, path)
        last = self.edges.by_relation[walk[-1]].out_degree
        if len(walk) == 1:
            return int(last.sum())
        if len(walk) == 2:
            before = self.edges.by_relation[walk[0]].in_degree
        else:
            before = np.zeros(self.edges.entities, np.int64)
            first = self.edges.by_relation[walk[0]]
            for low, high in stripes(first):
                reach = self._prefix_reach(walk[:-1], low, high)
                before[reach.targets] += reach.row_counts
        # An x of a hub may lose two y: itself, and the one its path came through.
        return int((before * np.maximum(last - 2 * self.identity, 0)).max(initial=0))

    def _with_constants(self, path: Path) -> bool:
        """Whether constants are put in place of X or Y: a path of one step is an acyclic rule."""
        return 1 < len(path) <= self.kept.constants

    def _worth(self, path: Path, support: int, total: int) -> bool:
        """Whether a rule may be kept, with a constant if not without."""
        enough = support >= self.kept.support
        return self.kept.keep(support, total) or (self._with_constants(path) and enough)

    def _dropped(self, path: Path) -> Pairs | None:
        if not self.identity or len(path) < 3:
            return None
        x, y = pairs_without(self.edges, *path)
        return (x, y) if len(x) else None

    def _prefix_reach(self, path: Path, low: int, high: int) -> Reach:
        """The pairs of a path's beginning, kept until another is asked for."""
        if self._prefix != path:
            self._prefix, self._kept_bytes = path, 0
            self._reaches.clear()
        reach = self._reaches.get(low)
        if reach is None:
            reach = first_step(self.edges.by_relation[path[0]], low, high)
            for label in path[1:]:
                reach = self._further(reach, label)
            self._kept_bytes += reach.bits.nbytes
            if self._kept_bytes <= MOST_BYTES:
                self._reaches[low] = reach
        return reach

    def _further(self, reach: Reach, label: int) -> Reach:
        reach = next_step(reach, self.edges.by_relation[label])
        return reach.without_loops() if self.identity else reach

    def _walked(self, path: Path, low: int, high: int, drop: Pairs | None) -> Reach:
        if len(path) == 1:
            return first_step(self.edges.by_relation[path[0]], low, high)
        reach = self._further(self._prefix_reach(path[:-1], low, high), path[-1])
        return reach if drop is None else reach.without(*drop)

    def _kept(
        self, tally: _HeadTally, predictions: Int64[np.ndarray, " entities"], constants: bool
    ) -> Iterator[FoundRule]:
        x, y = tally.pairs
        support, total = len(x), int(predictions.sum())
        counts = (support, total, int(tally.pca.sum()))
        example = (int(x[0]), int(y[0]))
        if self.kept.keep(support, total):
            yield FoundRule(tally.head, (), FREE, FREE, CLOSED, *counts, example)
        if not constants:
            return
        sure = support / total
        targets = np.flatnonzero(np.bincount(y) >= self.kept.support)
        for c, found, at in self._surer(y, targets, predictions, tally.pca, sure):
            yield FoundRule(tally.head, (), FREE, c, CLOSED, *found, (int(x[at]), c))
        sources, reached, known = tally.sources
        for c, found, at in self._surer(x, sources, reached, known, sure):
            yield FoundRule(tally.head, (), c, FREE, CLOSED, *found, (c, int(y[at])))

    def _surer(
        self,
        ends: Int64[np.ndarray, " support"],
        constants: Int64[np.ndarray, " constants"],
        predictions: Int64[np.ndarray, " entities"],
        pca: Int64[np.ndarray, " entities"],
        sure: float,
    ) -> Iterator[tuple[int, tuple[int, int, int], int]]:
        """The constants that make a rule surer, what is counted of them, a pair as an example."""
        support = np.bincount(ends, minlength=len(predictions))[constants]
        passing = self.kept.passing(support, predictions[constants])
        surer = at_least(support[passing], predictions[constants[passing]]) > sure
        for at in passing[surer].tolist():
            c = int(constants[at])
            counts = (int(support[at]), int(predictions[c]), int(pca[c]))
            yield c, counts, int(np.flatnonzero(ends == c)[0])


class _HeadTally:
    """What one head, a directed relation, has in common with the pairs of a path."""

    def __init__(self, edges: DirectedGraph, head: int) -> None:
        self.head = head
        self.facts = edges.by_relation[head]
        self.forward = head < edges.relations
        subjects = edges.by_relation[head if self.forward else head - edges.relations]
        self.subjects = subjects.has_edge
        self.found: list[Pairs] = []
        self.pca = np.zeros(edges.entities, np.int64)  # by target
        self.by_source = np.zeros((2, edges.entities), np.int64)  # of sources with support

    @property
    def support(self) -> int:
        return sum(len(x) for x, _ in self.found)

    @property
    def pairs(self) -> Pairs:
        x, y = (np.concatenate(part) for part in zip(*self.found, strict=True))
        return x, y

    def add(self, reach: Reach) -> None:
        hit = reach.has(self.facts.sources, self.facts.targets)
        self.found.append((self.facts.sources[hit], self.facts.targets[hit]))

    def add_pca(self, reach: Reach, constants: Thresholds | None) -> None:
        """Predictions whose subject has a fact; for sources with support, all they reach."""
        if self.forward:
            self.pca[reach.targets] += reach.among(self.subjects)
        else:
            self.pca[reach.targets] += reach.row_counts * self.subjects[reach.targets]
        if constants is None:
            return
        x = self.pairs[0]
        counts = np.bincount(x[reach.column[x] >= 0], minlength=1)
        enough = np.flatnonzero(counts >= constants.support)
        reached = reach.reached(enough)
        self.by_source[0, enough] = reached.sum(0)
        known = reached if self.forward else reached[self.subjects[reach.targets]]
        self.by_source[1, enough] = known.sum(0)

    @property
    def sources(
        self,
    ) -> tuple[
        Int64[np.ndarray, " some"], Int64[np.ndarray, " entities"], Int64[np.ndarray, " entities"]
    ]:
        """The sources with support, and for these how many they reach, and how many known ones."""
        return np.flatnonzero(self.by_source[0]), self.by_source[0], self.by_source[1]


def oriented(edges: DirectedGraph, path: Path) -> Path:
    """The path or its inverse, whichever is cheaper to walk."""
    back = tuple((label + edges.relations) % edges.directed for label in reversed(path))
    return min((path, back), key=lambda p: (_cost(edges, p), p))


def _cost(edges: DirectedGraph, path: Path) -> int:
    return len(edges.by_relation[path[0]].domain) * len(edges.by_relation[path[-1]])


def turn(rule: FoundRule, path: Path, relations: int) -> FoundRule:
    """A rule counted along the inverse path, its head the right way round."""
    return rule._replace(
        relation=rule.relation - relations,
        path=path,
        x=rule.y,
        y=rule.x,
        example=rule.example[::-1],
    )
