"""The scores of every entity of a list r(h, ?) or r(?, t), by the rules that back it there.

A triple's score is log(NONE + c), c = −Σ log(1 − w) over the surest rule of each cluster, as the
reading `clusters` has it: about the log of what the rules together hold probable. Where no rule
backs it, it is log NONE.

What was counted of the rules and how they are clustered is kept with a run, so that they need not
be counted again when it is opened; each relation's rules are read when it is first asked about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from deepprooflog.kg.data.rules import Rule
from deepprooflog.kg.data.triple_set import Side, column
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.readings.backing import Backing, WeighedRules, backing_from
from deepprooflog.kg.readings.formulas import summed
from deepprooflog.kg.readings.pairs import BodyReader
from deepprooflog.kg.readings.scores import RuleReader
from deepprooflog.syntax.terms import Term, Var, args_of

NONE = 1e-3
"""What stands for the odds of a triple that no rule backs: less than those of any rule kept."""
UNREAD = -1
"""In place of the cluster of a rule that readings leave out."""

ClusteredRules = tuple[WeighedRules, Int64[np.ndarray, " rules"]]
"""Rules of one relation, the surest first, and the cluster of each."""


@dataclass(frozen=True, eq=False)
class RuleTally:
    """What was counted of rules, in their order, and the cluster of each within its relation."""

    support: Int64[np.ndarray, " rules"]
    predictions: Int64[np.ndarray, " rules"]
    cluster: Int64[np.ndarray, " rules"]  # UNREAD where readings leave it out

    @classmethod
    def of(cls, reader: RuleReader) -> RuleTally:
        """Counted and clustered over a graph; thresholds are chosen by its validation triples."""
        found = np.zeros((3, len(reader.rules)), np.int64)
        found[2] = UNREAD
        number = {id(rule): at for at, rule in enumerate(reader.rules)}
        for relation, rules in reader.by_relation.items():
            at = [number[id(rule)] for rule in rules.rules]
            cluster = reader.clusters.of_relation[relation]
            found[:, at] = rules.support, rules.predictions, cluster
        return cls(*found)

    def __len__(self) -> int:
        return len(self.cluster)


@dataclass(frozen=True, eq=False)
class RuleLists:
    """Rules as scores of lists over the training triples of a graph.

    >>> from deepprooflog.kg.data.rules import parse_rules
    >>> from deepprooflog.kg.data.triples import graph_of
    >>> rows = [("ann", "mother", "bob"), ("bob", "father", "cy"), ("dee", "father", "eve")]
    >>> graph = graph_of([*rows, ("ann", "gran", "cy")], valid=[("ann", "gran", "eve")])
    >>> rules = parse_rules("gran(X, Y) :- mother(X, Z), father(Z, Y).")
    >>> lists = RuleLists.of(RuleReader(graph, rules.rules))
    >>> score = lists(graph.valid, "tail")[0]
    >>> [graph.entity_text(int(e)) for e in (score > score.min()).nonzero()[:, 0]]
    ['cy']
    """

    graph: Graph
    rules: Sequence[Rule]
    tally: RuleTally
    _read: dict[int, ClusteredRules] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, reader: RuleReader) -> RuleLists:
        """Rules that are counted and clustered over a graph."""
        return cls(reader.graph, reader.rules, RuleTally.of(reader))

    def about(self, graph: Graph) -> RuleLists:
        """The same rules, as they were counted, over other facts."""
        return replace(self, graph=graph)

    @property
    def read(self) -> list[Rule]:
        """The rules that are not left out of readings."""
        return [self.rules[at] for at in np.flatnonzero(self.tally.cluster != UNREAD).tolist()]

    def strangers(self) -> list[Rule]:
        """Those of them that name an entity that the graph does not have."""
        known = self.graph.entity_ids
        return [
            rule for rule in self.read
            if any(type(term) is not Var and term not in known for term in _terms(rule))
        ]  # fmt: skip

    @cached_property
    def bodies(self) -> BodyReader:
        """What the rules' bodies connect."""
        return BodyReader(self.graph)

    @cached_property
    def by_relation(self) -> Mapping[int, list[int]]:
        """The numbers of the rules for each relation of the graph."""
        found: dict[int, list[int]] = {}
        ids = self.graph.relation_ids
        for at in np.flatnonzero(self.tally.cluster != UNREAD).tolist():
            relation = ids.get(self.rules[at].clause.functor.name)
            if relation is not None:
                found.setdefault(relation, []).append(at)
        return found

    def of_relation(self, relation: int) -> ClusteredRules:
        """A relation's rules, without those about names that the graph does not have."""
        if relation not in self._read:
            numbers, bodies = [], []
            for at in self.by_relation.get(relation, ()):
                body = self.bodies.body(self.rules[at])
                if body is not None:
                    numbers.append(at)
                    bodies.append(body)
            of = np.array(numbers, np.int64)
            tally = self.tally
            rules = WeighedRules(
                relation, tuple(self.rules[at] for at in numbers), tuple(bodies),
                tally.support[of], tally.predictions[of],
            )  # fmt: skip
            order = rules.surest_first
            self._read[relation] = rules.taken(order), tally.cluster[of[order]]
        return self._read[relation]

    def __call__(
        self, triples: Int64[np.ndarray, "lists 3"], side: Side
    ) -> Float[Tensor, "lists entities"]:
        """The scores of every entity in one place of some triples."""
        found = np.zeros((len(triples), len(self.graph.entities)), np.float32)
        ends = triples[:, 2 - column(side)]
        for relation in np.unique(triples[:, 1]).tolist():
            rules, cluster = self.of_relation(relation)
            if not len(rules):
                continue
            at = np.flatnonzero(triples[:, 1] == relation)
            own, row = np.unique(ends[at], return_inverse=True)
            found[at] = self._backed(rules, cluster, side, own)[row]
        return torch.from_numpy(found).add_(NONE).log_()

    def _backed(
        self,
        rules: WeighedRules,
        cluster: Int64[np.ndarray, " rules"],
        side: Side,
        ends: Int64[np.ndarray, " ends"],
    ) -> Float64[np.ndarray, "ends entities"]:
        """What the rules of a relation come to in the lists of some ends."""
        entities = len(self.graph.entities)
        pairs = self.bodies.pairs(rules.bodies, "head" if side == "tail" else "tail", ends)
        begin = np.zeros(entities, np.int64)
        begin[ends] = np.arange(len(ends)) * entities

        def backed(rule: int) -> Int64[np.ndarray, " _backed"]:
            x, y = pairs[rule]
            own, other = (x, y) if side == "tail" else (y, x)
            return np.asarray(begin[own] + other)

        size = len(ends) * entities
        return summed(rules, cluster, backed, size).reshape(len(ends), entities)

    def backing(self, triple: Int64[np.ndarray, " 3"]) -> list[tuple[Rule, float]]:
        """The rules that back a triple with their weights, the surest first."""
        rules, _ = self.of_relation(int(triple[1]))
        if not len(rules):
            return []
        found: Backing = backing_from(self.bodies, rules, "tail", triple[:1])
        pair = np.flatnonzero(found.y == triple[2])
        numbers = found.rule[np.isin(found.pair, pair)].tolist()
        return [(rules.rules[at], float(rules.weight[at])) for at in numbers]


def _terms(rule: Rule) -> Iterator[Term]:
    """What the atoms of a rule are about."""
    for atom in (rule.clause.head, *rule.clause.body):
        yield from args_of(atom)
