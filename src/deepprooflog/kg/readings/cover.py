"""Few rules that say most of what many say: for a policy, which weighs every rule of a goal.

Of each relation those rules are chosen, one after another, that add most to

    Σ over facts of the largest weight among the chosen rules that predict the fact.

A rule that predicts only what surer ones do adds nothing and is never chosen.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float64

from deepprooflog.kg.data.rules import Rule
from deepprooflog.kg.readings.backing import WeighedRules
from deepprooflog.kg.readings.pairs import BodyReader

FACTS = 500  # of a relation, that are to be predicted
LEAST = 0.001  # of a fact that a rule has to add


def covering(reader: BodyReader, rules: WeighedRules, most: int, seed: int = 0) -> list[Rule]:
    """At most so many rules of a relation, in the order they were chosen; of equals the shorter."""
    order = np.argsort([len(rule.clause.body) for rule in rules.rules], kind="stable")
    chosen = cover(rules.weight[order], predicted(reader, rules, seed)[order], most)
    return [rules.rules[order[number]] for number in chosen]


def predicted(
    reader: BodyReader, rules: WeighedRules, seed: int = 0
) -> Bool[np.ndarray, "rules facts"]:
    """Which of a relation's facts, or of as many as FACTS, each rule predicts."""
    facts = reader.graph.train[reader.graph.train[:, 1] == rules.relation]
    draw = np.random.default_rng([seed, rules.relation])
    facts = facts[np.sort(draw.permutation(len(facts))[:FACTS])]
    entities = reader.edges.entities
    keys = facts[:, 0] * entities + facts[:, 2]
    found = np.zeros((len(rules), len(keys)), bool)
    for number, (x, y) in enumerate(reader.pairs(rules.bodies, "head", facts[:, 0])):
        found[number] = np.isin(keys, x * entities + y)
    return found


def cover(
    weight: Float64[np.ndarray, " rules"], predicts: Bool[np.ndarray, "rules facts"], most: int
) -> list[int]:
    """The numbers of the chosen rules.

    >>> predicts = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1]], dtype=bool)
    >>> cover(np.array([0.9, 0.8, 0.3]), predicts, 3)
    [0, 2]
    """
    value = weight[:, None] * predicts
    best = np.zeros(predicts.shape[1])
    chosen: list[int] = []
    while len(chosen) < most:
        gains = np.maximum(value - best, 0).sum(1)
        rule = int(gains.argmax()) if len(gains) else 0
        if not len(gains) or gains[rule] < LEAST:
            break
        chosen.append(rule)
        best = np.maximum(best, value[rule])
    return chosen
