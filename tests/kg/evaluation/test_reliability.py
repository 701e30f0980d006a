"""Reliability: bins by hand and by another way of counting; the summary of a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import deepprooflog as dpl
from deepprooflog.kg.evaluation.reliability import reliability, reliability_of
from deepprooflog.kg.evaluation.scores import success_score
from deepprooflog.kg.model import GraphModel


def test_bins_by_hand() -> None:
    found = reliability(np.array([0.0, 0.05, 0.5, 0.95, 1.0]), np.array([0, 1, 1, 1, 1], bool), 10)
    assert [one.count for one in found.bins] == [2, 0, 0, 0, 0, 1, 0, 0, 0, 2]
    assert found.bins[0].share == 0.5
    assert found.bins[0].mean == pytest.approx(0.025)
    assert found.bins[1].mean is None
    # 2/5 |0.5 − 0.025| + 1/5 |1 − 0.5| + 2/5 |1 − 0.975|
    assert found.error == pytest.approx(0.4 * 0.475 + 0.2 * 0.5 + 0.4 * 0.025)
    assert found.brier == pytest.approx((0 + 0.95**2 + 0.25 + 0.05**2 + 0) / 5)
    assert (found.triples, found.truths) == (5, 4)


def test_what_is_drawn_with_its_own_probability_is_reliable() -> None:
    draw = np.random.default_rng(0)
    chance = draw.random(200_000)
    found = reliability(chance, draw.random(200_000) < chance)
    assert found.error < 0.01
    assert found.brier == pytest.approx(1 / 6, abs=0.005)  # ∫ p (1 − p) dp
    counts, _ = np.histogram(chance, bins=10, range=(0, 1))
    assert [one.count for one in found.bins] == counts.tolist()


@pytest.fixture(scope="module")
def model() -> GraphModel:
    facts = [(f"p{i}", "parent", f"p{2 * i + k}") for i in range(1, 8) for k in (0, 1)]
    grans = [(f"p{i}", "gran", f"p{4 * i + k}") for i in range(1, 4) for k in range(4)]
    graph = dpl.kg.load([*facts, *grans[:6]], valid=grans[6:9], test=grans[9:])
    options: dict[str, object] = {
        "exact": {"steps": 3, "batch": 8, "negatives": 2}, "policy": {"dimension": 8},
        "threads": 1, "search": {"nesting": 1},
    }  # fmt: skip
    prior = {"kind": "complex", "dimension": 4, "steps": 20, "batch": 16}
    rules = "gran(X, Z) :- parent(X, Y), parent(Y, Z)."
    return dpl.kg.train(graph, rules, prior, seed=0, **options)  # type: ignore[arg-type]


def test_a_model_is_asked_about_truths_and_corruptions(model: GraphModel) -> None:
    graph = model.graph
    found = reliability_of(graph, success_score(model.prover), graph.valid, negatives=2, bins=1)
    assert found is not None
    assert (found.truths, found.triples) == (3, 3 + 2 * 2 * 3)
    truths = [model.explain(graph.text(row)).probability for row in graph.valid]
    only = reliability_of(graph, success_score(model.prover), graph.valid, negatives=0, bins=1)
    assert only is not None
    assert only.bins[0].mean == pytest.approx(np.mean(truths))
    assert reliability_of(graph, success_score(model.prover), graph.valid[:0]) is None


def test_the_summary_of_a_run(model: GraphModel, tmp_path: Path) -> None:
    model.save(tmp_path / "run")
    rows = '{"step": 1, "loss": 2.0}\n{"step": 2, "loss": 1.5, "validation": 0.5}\n{"step": 3, "lo'
    (tmp_path / "run" / "metrics.jsonl").write_text(rows)
    found = model.run_summary(tmp_path / "run")
    assert found.curves == {"loss": ((1.0, 2.0), (2.0, 1.5)), "validation": ((2.0, 0.5),)}
    assert found.reliability is not None
    assert found.reliability.truths == len(model.graph.valid)
    assert [rule.rule for rule in found.rules] == ["gran(A,B) :- parent(A,C), parent(C,B)."]
    assert found.to_dict()["reliability"]["triples"] == found.reliability.triples
    assert model.run_summary().curves == {}


def test_rules_stand_by_weight_and_figures_by_relation() -> None:
    graph = dpl.kg.load(
        [("a", "q", "b"), ("c", "q", "d"), ("b", "s", "a"), ("a", "p", "b")],
        valid=[("c", "p", "d"), ("e", "p", "d")],
    )
    rules = "p(X,Y) :- q(X,Y). p(X,Y) :- s(Y,X). p(X,Y) :- p(Y,X)."
    model = dpl.kg.train(graph, rules, {"kind": "complex", "steps": 5}, "none", seed=0)
    weights = [row.weight or 0.0 for row in model.run_summary().rules]
    assert len(weights) == 3
    assert weights == sorted(weights, reverse=True)
