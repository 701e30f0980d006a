"""The rules of a model in a table: what was learned of each, what is counted, which are redundant.

A rule is redundant where another of the same relation, at least as sure, connects every pair that
it connects over the facts: without it the maximum over the rules is what it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int64

from deepprooflog.kg.data.rules import Rule
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.kg.readings.backing import WeighedRules, backing_of
from deepprooflog.kg.readings.scores import RuleReader
from deepprooflog.logic.clause import Clause

ASKED = 300  # validation triples at which the policy's weights are looked at
MOST_PAIRS = 20_000_000  # of a relation's rules, up to which redundant ones are looked for
LOOKED_AT = 4096  # pairs that tell which rules may be redundant


@dataclass(frozen=True)
class RuleRow:
    """One rule: None stands for what is not known of it."""

    id: str
    relation: str
    rule: str
    place: str
    weight: float | None  # the policy's mean probability of it as first step, where it applies
    support: int | None
    predictions: int | None
    confidence: float | None
    right: int | None  # validation triples that it backs
    wrong: int | None  # candidates beside them that it backs, and that no split has
    example: str | None
    redundant: str | None  # the id of a rule that says all it says

    def to_dict(self) -> dict[str, Any]:
        """Plain Python."""
        return asdict(self)


def rule_rows(graph: Graph, rules: Sequence[Rule], prover: Prover | None = None) -> list[RuleRow]:
    """A row for each rule, in the order of the rules.

    >>> from deepprooflog.kg.data.rules import parse_rules
    >>> from deepprooflog.kg.data.triples import graph_of
    >>> rows = [("a", "q", "b"), ("a", "p", "b"), ("c", "q", "d")]
    >>> graph = graph_of(rows, valid=[("c", "p", "d")])
    >>> (row,) = rule_rows(graph, parse_rules("p(X,Y) :- q(X,Y).").rules)
    >>> row.support, row.predictions, row.right, row.wrong, row.example
    (1, 2, 1, 0, 'p(a,b)')
    """
    learned = {} if prover is None else learned_weights(prover, graph, rules)
    reader = RuleReader(graph, tuple(rules))
    counted: dict[int, RuleRow] = {}
    number = {id(rule): at for at, rule in enumerate(rules)}
    for weighed in reader.by_relation.values():
        for rule, row in zip(weighed.rules, _rows(reader, weighed), strict=True):
            counted[number[id(rule)]] = row
    return [
        replace(counted.get(at) or _row(rule), weight=learned.get(at))
        for at, rule in enumerate(rules)
    ]


def learned_weights(prover: Prover, graph: Graph, rules: Sequence[Rule]) -> Mapping[int, float]:
    """The mean probability of each rule as the first step at validation triples it applies to."""
    asked = graph.valid[np.random.default_rng(0).permutation(len(graph.valid))[:ASKED]]
    if not len(asked):
        return {}
    with torch.no_grad():
        layers = prover.explore(prover.goals(torch.from_numpy(asked)))
        weights, _ = prover.log_weights(layers)
    clause = layers.steps[0].clause.cpu().numpy()
    chance = weights[0].exp().cpu().numpy()
    database = prover.database
    names = {_key(rule.clause): at for at, rule in enumerate(rules)}
    found: dict[int, float] = {}
    for step in np.unique(clause[clause < len(database.rules)]).tolist():
        at = names.get(_key(database.clause(step)))
        if at is not None:
            found[at] = float(chance[clause == step].mean())
    return found


def _key(clause: Clause) -> tuple[Any, ...]:
    """What tells clauses apart, whichever way their bodies are ordered."""
    return clause.place, clause.head, frozenset(clause.body)


def _row(rule: Rule) -> RuleRow:
    return RuleRow(
        rule.id, rule.clause.functor.name, str(rule), rule.place, None, None, None, None, None,
        None, None, None,
    )  # fmt: skip


def _rows(reader: RuleReader, rules: WeighedRules) -> list[RuleRow]:
    """The rows of one relation's rules."""
    graph, relation = reader.graph, rules.relation
    valid = graph.valid[graph.valid[:, 1] == relation]
    backing = backing_of(reader.bodies, rules, valid)
    pairs = np.stack([backing.x, np.full(len(backing), relation), backing.y], 1)
    known, true = graph.holds(pairs), graph.holds(pairs, ("valid",))
    redundant, examples = _over_facts(reader, rules)
    rows = []
    for at, rule in enumerate(rules.rules):
        backed = backing.of(at)
        support, predictions = int(rules.support[at]), int(rules.predictions[at])
        other = redundant[at]
        row = replace(
            _row(rule), support=support, predictions=predictions,
            confidence=support / predictions if predictions else 0.0,
            right=int(true[backed].sum()), wrong=int((~known[backed]).sum()),
            example=examples[at], redundant=None if other < 0 else rules.rules[other].id,
        )  # fmt: skip
        rows.append(row)
    return rows


def _over_facts(
    reader: RuleReader, rules: WeighedRules
) -> tuple[Int64[np.ndarray, " rules"], list[str | None]]:
    """For each rule one that says all it says, −1 without, and a fact that it predicts."""
    graph, entities = reader.graph, len(reader.graph.entities)
    examples = [rule.counts.example if rule.counts else None for rule in rules.rules]
    none = np.full(len(rules), -1)
    if rules.predictions.sum() > MOST_PAIRS:
        return none, examples
    pairs = reader.bodies.pairs(rules.bodies, "head", np.arange(entities))
    facts = graph.train[graph.train[:, 1] == rules.relation]
    true = np.sort(facts[:, 0] * entities + facts[:, 2])
    keys = [np.sort(x * entities + y) for x, y in pairs]
    for at, own in enumerate(keys):
        hits = own[np.isin(own, true)]
        if len(hits):
            x, y = divmod(int(hits[0]), entities)
            examples[at] = graph.text((x, rules.relation, y))
    return redundant_rules(keys), examples


def redundant_rules(keys: Sequence[Int64[np.ndarray, " _pairs"]]) -> Int64[np.ndarray, " rules"]:
    """For sets of sorted numbers, the surest first: the first that holds all of each, else −1.

    >>> redundant_rules([np.array([1, 2, 3]), np.array([2, 4]), np.array([1, 3])]).tolist()
    [-1, -1, 0]
    """
    every = np.unique(np.concatenate([np.zeros(0, np.int64), *keys]))
    draw = np.random.default_rng(0)
    some = np.sort(draw.choice(every, min(len(every), LOOKED_AT), replace=False))
    has = np.stack([np.isin(some, own) for own in keys]) if keys else np.zeros((0, 0), bool)
    found = np.full(len(keys), -1)
    for at, own in enumerate(keys):
        for other in _may_hold(has, at).tolist():
            if len(own) and found[other] < 0 and np.isin(own, keys[other]).all():
                found[at] = other
                break
    return found


def _may_hold(has: Bool[np.ndarray, "rules some"], at: int) -> Int64[np.ndarray, " others"]:
    """The surer rules that hold all of the pairs looked at that a rule holds."""
    return np.flatnonzero(~(has[at] & ~has[:at]).any(1))
