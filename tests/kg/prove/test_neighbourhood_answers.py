"""A graph asked within a budget of goals: bounds, against the whole and plain resolution."""

from __future__ import annotations

from heapq import heappop, heappush

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deepprooflog as dpl
from deepprooflog.errors import DataError
from deepprooflog.insight.steps import StepView
from deepprooflog.kg.model import GraphModel


@pytest.fixture(scope="module")
def village() -> GraphModel:
    return dpl.kg.train(
        "village", prior={"kind": "distmult", "dimension": 8, "steps": 20}, learner="exact",
        exact={"steps": 2, "batch": 8, "negatives": 1}, policy={"dimension": 8},
        evaluation={"validation_size": 4}, threads=1,
    )  # fmt: skip


def plain(first: StepView, expand: int) -> tuple[float, float]:
    """Bounds by a best-first walk over the choices that plain resolution offers, nothing merged."""
    lower, met = 0.0, 0
    waiting: list[tuple[float, int, StepView]] = [(-1.0, 0, first)]
    while waiting and expand:
        mass, _, view = heappop(waiting)
        if view.is_true:
            lower -= mass
            continue
        expand -= 1
        for choice in view.choices:
            if choice.kind != "false" and choice.probability:
                met += 1
                heappush(waiting, (mass * choice.probability, met, view.take(choice.number)))
    done = [-mass for mass, _, view in waiting if view.is_true]
    left = [-mass for mass, _, view in waiting if not view.is_true]
    return lower + sum(done), lower + sum(done) + sum(left)


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 643), st.lists(st.integers(1, 400), min_size=3, max_size=3))
def test_bounds_of_village(village: GraphModel, number: int, budgets: list[int]) -> None:
    text = village.graph.text(village.graph.test[number])
    exact = village.explain(text, 0).probability
    lower, upper = 0.0, 1.0
    for most in sorted(budgets):
        found = village.bounds(text, most)
        assert lower - 1e-7 <= found[0] <= exact + 1e-6
        assert exact - 1e-6 <= found[1] <= upper + 1e-7
        lower, upper = found
    assert village.bounds(text, 1_000_000) == pytest.approx((exact, exact), abs=1e-6)


@pytest.mark.parametrize("number", [0, 3, 400])
def test_plain_resolution_bounds_the_same(village: GraphModel, number: int) -> None:
    text = village.graph.text(village.graph.test[number])
    first = village.steps(text)
    for expand, most in ((3, 10), (10, 40)):
        low, high = plain(first, expand)
        lower, upper = village.bounds(text, most)
        assert low <= upper + 1e-6 and lower <= high + 1e-6
    low, high = plain(first, 10**6)
    assert low == high == pytest.approx(village.bounds(text, 100_000)[0], abs=1e-6)


def test_answers_within_a_budget(village: GraphModel) -> None:
    """What is found is found with its proof, and what was cut is said."""
    text = "ancestor(X, max_ashgrove)"
    exact = {one.triple: one.probability for one in village.query(text, 100, proofs=0)}
    cut = village.query(text, 5, max_goals=8)
    assert cut.remarks and len(cut)
    for one in cut:
        assert one.probability <= exact[one.triple] + 1e-6 <= one.upper + 2e-6
    whole = village.query(text, 5, max_goals=100_000)
    assert not whole.remarks
    assert [one.triple for one in whole] == list(exact)[:5]
    assert whole[0].proof is not None and whole[0].proof == village.query(text, 1)[0].proof
    both = "ancestor(X, max_ashgrove), lives_in(X, Y)"
    assert [one.triple for one in village.query(both, 2, max_goals=100_000)] == [
        one.triple for one in village.query(both, 2)
    ]


def test_what_cannot_be_bounded_is_refused(village: GraphModel) -> None:
    with pytest.raises(DataError, match="positive"):
        village.query("uncle(X, max_ashgrove)", max_goals=0)
    with pytest.raises(DataError, match="open"):
        village.bounds("uncle(X, max_ashgrove)", 5)
