"""Scores of triples by the rules that back them, for the lists of some triples at once.

Every list r(x, ?) and r(?, y) that ranking asks about is found by one walk of each rule's body, not
candidate by candidate. A triple that no rule backs has the score 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float64, Int, Int64
from torch import Tensor

from deepprooflog.kg.data.notice import DataNotice, plural
from deepprooflog.kg.data.rules import Rule
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.readings.backing import Backing, WeighedRules, backing_of, weighed_rules
from deepprooflog.kg.readings.clusters import THRESHOLDS, clusters, overlaps
from deepprooflog.kg.readings.formulas import clustered, in_order, noisy_or, surest
from deepprooflog.kg.readings.lists import backed_lists
from deepprooflog.kg.readings.pairs import BodyReader, RuleBody

BLOCK = 256  # triples whose lists are held at once
SAMPLE = 128  # facts of a relation beside which overlaps are measured
ENOUGH = 50  # lists of a relation from which its own threshold is chosen
MOST_VALID = 2000  # validation triples that choose


@dataclass(frozen=True)
class ChosenClusters:
    """The clusters of each relation's rules, and the thresholds that validation chose."""

    common: float
    thresholds: Mapping[str, float]  # of the relations that have one of their own
    of_relation: Mapping[int, Int64[np.ndarray, " rules"]] = field(repr=False)


@dataclass(frozen=True, eq=False)
class RuleReader:
    """Rules with confidences, read over the training triples of a graph."""

    graph: Graph
    rules: Sequence[Rule]

    @cached_property
    def bodies(self) -> BodyReader:
        """What their bodies connect."""
        return BodyReader(self.graph)

    @cached_property
    def by_relation(self) -> Mapping[int, WeighedRules]:
        """The rules that can be read, by the relation of their head."""
        found: dict[int, list[tuple[Rule, RuleBody]]] = defaultdict(list)
        for rule in self.rules:
            body = self.bodies.body(rule) if rule.clause.body else None
            if body is not None:
                found[self.graph.relation_ids[rule.clause.functor.name]].append((rule, body))
        return {
            r: weighed_rules(self.bodies, r, *zip(*rules, strict=True))
            for r, rules in sorted(found.items())
        }

    @property
    def notices(self) -> list[DataNotice]:
        """Word of rules that are left out of readings."""
        left = len(self.rules) - sum(map(len, self.by_relation.values()))
        told = (
            f"{plural(left, 'rule')} left out of readings: only bodies over the graph's relations, "
            "connected and without guards other than \\=, are read"
        )
        return [DataNotice(told, count=left)] if left else []

    @cached_property
    def clusters(self) -> ChosenClusters:
        """Clusters at the thresholds that rank validation triples best.

        A relation has a threshold of its own where it has 50 lists or more; others have the one
        that is best overall.
        """
        gains = np.zeros(len(THRESHOLDS))
        own: dict[int, Float64[np.ndarray, " thresholds"]] = {}
        lists: dict[int, int] = {}
        overlap = {r: self._overlap(rules) for r, rules in self.by_relation.items()}
        draw = np.random.default_rng(0)
        chosen = draw.permutation(len(self.graph.valid))[:MOST_VALID]
        for relation, rows in _by_relation(self.graph.valid[chosen], self.by_relation):
            found = np.zeros(len(THRESHOLDS))
            for low in range(0, len(rows), BLOCK):
                part = rows[low : low + BLOCK]
                found += self._gains(relation, part, overlap[relation])
            gains += found
            own[relation], lists[relation] = found, 2 * len(rows)
        best = _first_best(gains)
        number = {r: _first_best(own[r]) if lists.get(r, 0) >= ENOUGH else best for r in overlap}
        names = self.graph.relations
        return ChosenClusters(
            THRESHOLDS[best],
            {names[r]: THRESHOLDS[n] for r, n in number.items() if lists.get(r, 0) >= ENOUGH},
            {
                r: clusters(overlap[r], THRESHOLDS[n], len(self.by_relation[r]))
                for r, n in number.items()
            },
        )

    def _overlap(self, rules: WeighedRules) -> Float64[np.ndarray, "rules rules"]:
        """The overlaps of a relation's rules beside a sample of its facts."""
        facts = self.graph.train[self.graph.train[:, 1] == rules.relation]
        chosen = np.random.default_rng(rules.relation).permutation(len(facts))[:SAMPLE]
        return overlaps(backing_of(self.bodies, rules, facts[chosen]))

    def _gains(
        self,
        relation: int,
        triples: Int64[np.ndarray, "n 3"],
        overlap: Float64[np.ndarray, "rules rules"],
    ) -> Float64[np.ndarray, " thresholds"]:
        """The sum of the reciprocal ranks of some triples at each threshold."""
        backing = backing_of(self.bodies, self.by_relation[relation], triples)
        lists = backed_lists(self.graph, backing, triples)
        scores = (clustered(backing, clusters(overlap, t, len(backing.rules))) for t in THRESHOLDS)
        return np.array([(1 / lists.ranks(score)).sum() for score in scores])

    def scores(
        self,
        triples: Int64[np.ndarray, "n 3"],
        names: Sequence[str],
        on_progress: Callable[[int, int], None] | None = None,
    ) -> dict[str, ReadingScore]:
        """By each of some readings, the scores of all triples r(x, ?) and r(?, y)."""
        entities, done = len(self.graph.entities), 0
        keys: list[Int64[np.ndarray, " pairs"]] = [np.zeros(0, np.int64)]
        values: dict[str, list[Float64[np.ndarray, " pairs"]]] = {n: [np.zeros(0)] for n in names}
        for relation, rows in _by_relation(triples, self.by_relation):
            rules = self.by_relation[relation]
            own: list[Int64[np.ndarray, " pairs"]] = []
            parts: dict[str, list[np.ndarray]] = {name: [] for name in names}
            for low in range(0, len(rows), BLOCK):
                part = rows[low : low + BLOCK]
                backing = backing_of(self.bodies, rules, part)
                own.append((relation * entities + backing.x) * entities + backing.y)
                for name in names:
                    parts[name].append(READINGS[name](self, relation, backing))
                done += len(part)
                if on_progress is not None:
                    on_progress(done, len(triples))
            numbers, first = np.unique(np.concatenate(own), return_index=True)
            keys.append(numbers)
            for name in names:
                told = np.concatenate(parts[name])[first]
                values[name].append(in_order(told, rules) if told.ndim > 1 else told)
        return {
            name: ReadingScore(np.concatenate(keys), np.concatenate(parts), entities)
            for name, parts in values.items()
        }


@dataclass(frozen=True, eq=False)
class ReadingScore:
    """Scores of triples by their numbers, (relation · entities + head) · entities + tail."""

    numbers: Int64[np.ndarray, " pairs"]  # sorted
    values: Float64[np.ndarray, " pairs"]
    entities: int

    def __call__(self, triples: Int[Tensor, "n 3"]) -> Tensor:
        """The scores of some triples of the lists."""
        head, relation, tail = triples.numpy().T
        asked = (relation * self.entities + head) * self.entities + tail
        at = np.searchsorted(self.numbers, asked)
        found = np.append(self.numbers, -1)[at] == asked
        return torch.from_numpy(np.where(found, np.append(self.values, 0.0)[at], 0.0))


def _by_clusters(
    reader: RuleReader, relation: int, backing: Backing
) -> Float64[np.ndarray, " pairs"]:
    return clustered(backing, reader.clusters.of_relation[relation])


READINGS: Mapping[str, Callable[[RuleReader, int, Backing], np.ndarray]] = {
    "max": lambda reader, relation, backing: surest(backing),
    "noisy-or": lambda reader, relation, backing: noisy_or(backing),
    "clusters": _by_clusters,
}
"""The readings by name: scores of pairs, or columns that put them in order."""


def _by_relation(
    triples: Int64[np.ndarray, "n 3"], rules: Mapping[int, WeighedRules]
) -> list[tuple[int, Int64[np.ndarray, "some 3"]]]:
    """The triples of each relation that has rules."""
    return [(r, rows) for r in rules if len(rows := triples[triples[:, 1] == r])]


def _first_best(gains: Float64[np.ndarray, " thresholds"]) -> int:
    return int(np.argmax(np.round(gains, 9)))
