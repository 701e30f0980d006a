"""The table of rules: counts by hand, learned weights from the prover's own first steps."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from deepprooflog.kg.data.rules import parse_rules
from deepprooflog.kg.data.triples import graph_of
from deepprooflog.kg.prove.build import prover
from deepprooflog.kg.readings.cover import cover
from deepprooflog.kg.readings.table import redundant_rules, rule_rows

ROWS = [("a", "q", "b"), ("a", "p", "b"), ("c", "q", "d"), ("e", "q", "f"), ("e", "s", "f")]


def test_a_row_for_each_rule() -> None:
    graph = graph_of(ROWS, valid=[("c", "p", "d")], test=[("e", "p", "b")])
    rules = parse_rules(
        "p(X,Y) :- q(X,Y).\np(X,Y) :- q(X,Y), s(X,Y).\np(X,Y) :- q(X,Y), X @< Y.", "r.pl"
    )
    first, second, third = rule_rows(graph, rules.rules)
    assert (first.support, first.predictions, first.confidence) == (1, 3, 1 / 3)
    assert (first.right, first.wrong, first.example) == (1, 0, "p(a,b)")
    assert (first.place, first.redundant) == ("r.pl:1", None)
    assert (second.support, second.predictions, second.redundant) == (0, 1, first.id)
    assert (third.support, third.right, third.redundant) == (None, None, None)
    assert {row.weight for row in (first, second, third)} == {None}


def test_learned_weights_are_the_first_steps_of_the_prover() -> None:
    graph = graph_of(ROWS, valid=[("c", "p", "d")])
    rules = parse_rules("p(X,Y) :- q(X,Y).  p(X,Y) :- s(Y,X).  q(X,Y) :- s(X,Y).")
    proves = prover(graph, rules)
    rows = rule_rows(graph, rules.rules, proves)
    layers = proves.explore(proves.goals(torch.from_numpy(graph.valid)))
    chance = proves.log_weights(layers)[0][0].exp()
    assert rows[0].weight is not None and rows[1].weight is not None
    assert rows[0].weight + rows[1].weight == pytest.approx(1.0)
    assert sorted([rows[0].weight, rows[1].weight]) == pytest.approx(sorted(chance.tolist()))
    assert rows[2].weight is None  # no validation triple is about q


def test_redundant_rules_point_to_one_that_is_kept() -> None:
    sets = [np.array(s) for s in ([1, 2, 3, 4], [2, 3], [3], [5], [5])]
    assert redundant_rules(sets).tolist() == [-1, 0, 0, -1, 3]
    assert redundant_rules([]).tolist() == []


def test_cover_takes_what_adds_most() -> None:
    """Two rules of .6 for two facts each before one of .9 for a fact that they have."""
    predicts = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 0, 0]], dtype=bool)
    weight = np.array([0.9, 0.6, 0.6, 0.5])
    assert cover(weight, predicts, 2) == [1, 2]
    assert cover(weight, predicts, 9) == [1, 2, 0]
    assert cover(weight[:0], predicts[:0], 3) == []
