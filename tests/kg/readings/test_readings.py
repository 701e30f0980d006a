"""Readings against their definitions, candidate by candidate, over what the solver proves."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from deepprooflog.errors import DataError
from deepprooflog.kg.data.rules import parse_rules
from deepprooflog.kg.data.triples import graph_of
from deepprooflog.kg.evaluation.evaluate import Ranker
from deepprooflog.kg.evaluation.figures import mrr
from deepprooflog.kg.evaluation.metrics import means
from deepprooflog.kg.readings.backing import Backing, WeighedRules, backing_of
from deepprooflog.kg.readings.clusters import clusters, overlaps
from deepprooflog.kg.readings.evaluate import evaluate_readings
from deepprooflog.kg.readings.formulas import clustered, maximum, noisy_or
from deepprooflog.kg.readings.lists import backed_lists
from deepprooflog.kg.readings.scores import RuleReader
from kg.mining.random_graphs import Triples, triples
from kg.readings.test_pairs import proved

RULES = (
    "r0(X,Y) :- r1(X,Y).", "r0(X,Y) :- r1(Y,X).", "r0(X,Y) :- r1(X,Z), r1(Z,Y).",
    "r0(X,Y) :- r0(Y,X).", "r0(X,e0) :- r1(X,Z).", "r1(X,Y) :- r0(X,Z), r0(Z,Y).",
)  # fmt: skip


@given(triples(most=14), st.integers(0, 1))
@settings(max_examples=15)
def test_scores_are_those_of_their_definitions(rows: Triples, relation: int) -> None:
    graph = graph_of([*dict.fromkeys([("e0", "r0", "e1"), ("e1", "r1", "e2"), *rows])])
    reader = RuleReader(graph, tuple(parse_rules("\n".join(RULES))))
    facts = {(h, t) for h, r, t in graph.train.tolist() if r == relation}
    weights: dict[str, tuple[float, set[tuple[int, int]]]] = {}
    for text in RULES:
        if text.startswith(f"r{relation}"):
            pairs = proved(graph, text)
            weights[text] = len(pairs & facts) / (len(pairs) + 5), pairs
    asked = np.array([[0, relation, 1]])
    lists = [(0, y) for y in range(len(graph.entities))]
    lists += [(x, 1) for x in range(1, len(graph.entities))]
    triple = torch.tensor([[x, relation, y] for x, y in lists])
    scores = reader.scores(asked, ["max", "noisy-or"])
    for (x, y), best, either in zip(
        lists, scores["max"](triple).tolist(), scores["noisy-or"](triple).tolist(), strict=True
    ):
        backing = [w for w, pairs in weights.values() if (x, y) in pairs]
        assert best == pytest.approx(max(backing, default=0.0), abs=2e-6)
        assert -np.expm1(-either) == pytest.approx(1 - np.prod([1 - w for w in backing]))


@given(triples(most=14), st.sampled_from((0.0, 0.3, 0.6, 1.1)))
@settings(max_examples=15)
def test_clusters_lie_between_maximum_and_noisy_or(rows: Triples, threshold: float) -> None:
    graph = graph_of([*dict.fromkeys([("e0", "r0", "e1"), ("e1", "r1", "e2"), *rows])])
    reader = RuleReader(graph, tuple(parse_rules("\n".join(RULES))))
    rules = reader.by_relation[0]
    backing = backing_of(reader.bodies, rules, graph.train[graph.train[:, 1] == 0])
    each, number = -np.log1p(-rules.weight), clusters(overlaps(backing), threshold, len(rules))
    found = clustered(backing, number)
    for pair in range(len(backing)):
        own = [r for r in range(len(rules)) if pair in backing.of(r)]
        best = {number[r]: max(each[q] for q in own if number[q] == number[r]) for r in own}
        assert found[pair] == pytest.approx(sum(best.values()))
    largest = -np.log1p(-maximum(backing))
    assert (found >= largest - 1e-5).all() and (found <= noisy_or(backing) + 1e-12).all()


def test_the_second_rule_decides_between_equals() -> None:
    """a(X,Y) backs both p(e,f) and p(e,g); b(X,Y), which is less sure, only p(e,g)."""
    rows = [(f"h{n}", r, f"t{n}") for n in range(8) for r in ("p", "a")]
    rows += [(f"h{n}", "b", f"t{n}") for n in range(4)] + [("e", "b", "h0")]
    rows += [("e", "a", "f"), ("e", "a", "g"), ("e", "b", "g")]
    graph = graph_of(rows, test=[("e", "p", "g")])
    reader = RuleReader(graph, tuple(parse_rules("p(X,Y) :- a(X,Y).  p(X,Y) :- b(X,Y).")))
    ranker = Ranker(graph, protocol="full")
    found = evaluate_readings(reader, ranker, graph.test, ["max"])["max"]
    assert found["tail"]["mrr"] == 1.0


@given(st.lists(st.sets(st.integers(0, 39), max_size=25), min_size=1, max_size=30))
@settings(max_examples=20)
def test_ties_are_decided_by_rules_however_deep(backed: list[set[int]]) -> None:
    """Pairs stand in the order of the lists of their rules' weights, the surest first."""
    support = np.repeat(np.arange(40, 20, -1), 2)  # each weight twice
    nobody = parse_rules("p(X,Y) :- q(X,Y).").rules[0]
    rules = WeighedRules(0, (nobody,) * 40, (nobody.clause,) * 40, support, np.full(40, 45))
    weights = [[float(rules.weight[r]) for r in sorted(own)] for own in backed]
    by_rule = [[n for n, own in enumerate(backed) if r in own] for r in range(40)]
    begin = np.cumsum([0, *map(len, by_rule)])
    numbers = np.arange(len(backed))
    pair = np.array([n for own in by_rule for n in own], np.int64)
    scores = maximum(Backing(rules, numbers, numbers, begin, pair))
    for a, one in enumerate(weights):
        assert scores[a] == pytest.approx(max(one, default=0.0), abs=2e-6)
        for b, other in enumerate(weights):
            assert (scores[a] > scores[b]) == (one > other)


def test_parts_of_a_relation_are_compared() -> None:
    """The lists of r0(e0,·) and r0(·,e1) in one part or in two: the same scores."""
    draw = np.random.default_rng(3)
    rows: Triples = [
        (f"e{a}", f"r{b}", f"e{c}") for a, b, c in draw.integers([9, 2, 9], size=(60, 3)).tolist()
    ]
    graph = graph_of(list(dict.fromkeys(rows)))
    reader = RuleReader(graph, tuple(parse_rules("\n".join(RULES))))
    asked = np.array([[x, 0, y] for x, y in ((0, 1), (2, 3), (4, 5), (0, 3))])
    together = reader.scores(asked, ["max", "noisy-or"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deepprooflog.kg.readings.scores.BLOCK", 1)
        apart = reader.scores(asked, ["max", "noisy-or"])
    for name, whole in together.items():
        assert np.array_equal(whole.numbers, apart[name].numbers)
        assert np.array_equal(whole.values, apart[name].values)


def test_ranks_of_lists_are_those_of_full_ranking() -> None:
    draw = np.random.default_rng(1)
    rows: Triples = [
        (f"e{a}", f"r{b}", f"e{c}") for a, b, c in draw.integers([9, 2, 9], size=(50, 3)).tolist()
    ]
    rows = list(dict.fromkeys(rows))
    graph = graph_of(rows[8:], rows[:4], rows[4:8])
    reader = RuleReader(graph, tuple(parse_rules("\n".join(RULES))))
    queries = graph.test[graph.test[:, 1] == 0]
    backing = backing_of(reader.bodies, reader.by_relation[0], queries)
    ranks = backed_lists(graph, backing, queries).ranks(noisy_or(backing))
    score = reader.scores(queries, ["noisy-or"])["noisy-or"]
    assert means(ranks)["mrr"] == pytest.approx(
        mrr(Ranker(graph, protocol="full").rank(score, queries))
    )


def test_rules_that_are_left_out_are_counted() -> None:
    graph = graph_of([("a", "p", "b")], test=[("b", "p", "a")])
    reader = RuleReader(graph, tuple(parse_rules("p(X,Y) :- p(Y,X).  p(X,Y) :- p(Y,X), X < Y.")))
    assert [(n.count, n.message[:6]) for n in reader.notices] == [(1, "1 rule")]
    empty = RuleReader(graph, ())
    with pytest.raises(DataError, match="no rules to read"):
        evaluate_readings(empty, Ranker(graph), graph.test, ["max"])


def test_belief_orders_only_what_no_rule_backs() -> None:
    rows = [(f"h{n}", r, f"t{n}") for n in range(4) for r in ("p", "a")]
    graph = graph_of([*rows, ("e", "a", "f")], test=[("e", "p", "f"), ("h0", "p", "t1")])
    reader = RuleReader(graph, tuple(parse_rules("p(X,Y) :- a(X,Y).")))
    own = torch.tensor(graph.test[1])
    ranker = Ranker(graph, protocol="full")

    def believed(triples: torch.Tensor) -> torch.Tensor:
        return (triples == own).all(1).double()

    found = evaluate_readings(reader, ranker, graph.test, ["max"], believed=believed)["max"]
    assert found["mrr"] < found["with_belief"]["mrr"] == 1.0
