"""Which rules of a relation back which triples: columns of incidences, the surest rule first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

from deepprooflog.kg.data.rules import Rule
from deepprooflog.kg.data.triple_set import Side
from deepprooflog.kg.readings.pairs import BodyReader, RuleBody

CAUTION = 5  # predictions that might have failed, so that 500 of 500 are surer than 3 of 3
AT_ONCE = 64  # rules whose pairs over the whole graph are held at once


@dataclass(frozen=True, eq=False)
class WeighedRules:
    """Rules of one relation, the surest first, with what is counted of each."""

    relation: int
    rules: tuple[Rule, ...]
    bodies: tuple[RuleBody, ...]  # of these rules, as they are read
    support: Int64[np.ndarray, " rules"]
    predictions: Int64[np.ndarray, " rules"]

    def __len__(self) -> int:
        return len(self.rules)

    @property
    def weight(self) -> Float64[np.ndarray, " rules"]:
        """The confidence, had a few more predictions failed."""
        return np.asarray(self.support / (self.predictions + CAUTION))

    @property
    def surest_first(self) -> Int64[np.ndarray, " rules"]:
        """The rules by weight; equals stay in their order."""
        return np.argsort(-self.weight, kind="stable")

    def taken(self, order: Int64[np.ndarray, " some"]) -> WeighedRules:
        """Some of the rules, in an order."""
        rules, bodies = (tuple(of[at] for at in order.tolist()) for of in (self.rules, self.bodies))
        return WeighedRules(
            self.relation, rules, bodies, self.support[order], self.predictions[order]
        )


def weighed_rules(
    reader: BodyReader, relation: int, rules: Sequence[Rule], bodies: Sequence[RuleBody]
) -> WeighedRules:
    """The rules of a relation by weight; those without counts are counted over the facts."""
    counts = np.zeros((2, len(rules)), np.int64)
    told = [at for at, rule in enumerate(rules) if rule.counts is not None]
    for at in told:
        counted = rules[at].counts
        assert counted is not None
        counts[:, at] = counted.support, counted.predictions
    untold = [at for at, rule in enumerate(rules) if rule.counts is None]
    everyone = np.arange(reader.edges.entities)
    for low in range(0, len(untold), AT_ONCE):
        some = untold[low : low + AT_ONCE]
        found = reader.pairs([bodies[at] for at in some], "head", everyone)
        for at, (x, y) in zip(some, found, strict=True):
            rows = np.stack([x, np.full(len(x), relation), y], 1)
            counts[:, at] = reader.graph.holds(rows, ("train",)).sum(), len(x)
    weighed = WeighedRules(relation, tuple(rules), tuple(bodies), counts[0], counts[1])
    return weighed.taken(weighed.surest_first)


@dataclass(frozen=True, eq=False)
class Backing:
    """For each rule the pairs (x, y) that it backs, among those of some lists r(x, ?), r(?, y)."""

    rules: WeighedRules
    x: Int64[np.ndarray, " pairs"]  # sorted by x, then y
    y: Int64[np.ndarray, " pairs"]
    begin: Int64[np.ndarray, " rules_and_end"]
    pair: Int64[np.ndarray, " incidences"]

    def __len__(self) -> int:
        return len(self.x)

    def of(self, rule: int) -> Int64[np.ndarray, " backed"]:
        """The pairs that a rule backs."""
        return self.pair[self.begin[rule] : self.begin[rule + 1]]

    @property
    def rule(self) -> Int64[np.ndarray, " incidences"]:
        """The rule of each incidence."""
        return np.repeat(np.arange(len(self.rules)), np.diff(self.begin))


def backing_of(
    reader: BodyReader, rules: WeighedRules, lists: Int64[np.ndarray, "lists 3"]
) -> Backing:
    """What rules back in the lists r(x, ?) and r(?, y) of some triples r(x, y)."""
    heads, tails = np.unique(lists[:, 0]), np.unique(lists[:, 2])
    entities = reader.edges.entities
    asked = np.zeros(entities, bool)
    asked[heads] = True
    from_heads = reader.pairs(rules.bodies, "head", heads)
    to_tails = reader.pairs(rules.bodies, "tail", tails)
    return _backing(rules, entities, [
        np.concatenate([x * entities + y, (u * entities + v)[~asked[u]]])
        for (x, y), (u, v) in zip(from_heads, to_tails, strict=True)
    ])  # fmt: skip


def backing_from(
    reader: BodyReader, rules: WeighedRules, side: Side, ends: Int64[np.ndarray, " lists"]
) -> Backing:
    """What rules back in the lists r(x, ?) of some x, or where heads are asked for r(?, y)."""
    known: Side = "head" if side == "tail" else "tail"
    entities = reader.edges.entities
    pairs = reader.pairs(rules.bodies, known, np.unique(ends))
    return _backing(rules, entities, [x * entities + y for x, y in pairs])


def _backing(
    rules: WeighedRules, entities: int, keys: Sequence[Int64[np.ndarray, " _pairs"]]
) -> Backing:
    """From the pairs of each rule, x · entities + y."""
    begin = np.cumsum([0, *map(len, keys)])
    pairs, at = np.unique(np.concatenate([np.zeros(0, np.int64), *keys]), return_inverse=True)
    return Backing(rules, pairs // entities, pairs % entities, begin, at)
