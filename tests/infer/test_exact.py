"""Exact inference on goal graphs: every engine against values computed from the program's data."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import deepprooflog as dpl
from deepprooflog.graph.explore import explore
from deepprooflog.graph.goalgraph import GoalGraph
from deepprooflog.graph.schedule import schedule
from deepprooflog.infer.graphs.exact import layered as layers_of
from deepprooflog.infer.graphs.exact import log_values
from deepprooflog.infer.graphs.semiring import LogSemiring, evaluate
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.resolve import start
from programs.labelled import Labelled, chain_values, chains, derivations, layered, reaching


def graph_of(program: dpl.Program, *queries: str) -> GoalGraph:
    interner = Interner()
    goals = [start(program.query(q).atoms, interner) for q in queries]
    return explore(program, goals, interner)


@given(chains())
def test_a_markov_chain_is_a_linear_system(case: Labelled) -> None:
    """Graph, tables, tensors and fractions against one dense solve in numpy."""
    program = dpl.Program(case.text)
    expected = chain_values(case)
    goals = [f"p{i}" for i in range(case.n)]
    batch = dpl.Model(program).log_prob(goals).exp().numpy()
    np.testing.assert_allclose(batch, expected, rtol=1e-9, atol=1e-300)
    for goal, value in zip(goals, expected.tolist(), strict=True):
        assert dpl.prob(program, goal, method="graph") == pytest.approx(value, rel=1e-9)
        assert dpl.prob(program, goal, method="tabled") == pytest.approx(value, rel=1e-9)
        assert float(dpl.exact_fraction(program, goal)) == pytest.approx(value, rel=1e-9)


@given(chains())
def test_provable_is_reachable(case: Labelled) -> None:
    program = dpl.Program(case.text)
    found = [dpl.provable(program, f"p{i}") for i in range(case.n)]
    assert found == reaching(case).tolist()


@given(layered())
def test_the_sum_over_derivations(case: Labelled) -> None:
    program = dpl.Program(case.text)
    expected = math.fsum(derivations(case, 0))
    assert dpl.prob(program, "p0") == pytest.approx(expected, rel=1e-12)
    assert dpl.prob(program, "p0", method="tabled") == pytest.approx(expected, rel=1e-12)


@given(chains(), st.integers(0, 2**32 - 1))
def test_a_batch_of_weightings(case: Labelled, seed: int) -> None:
    """Each column of weights is solved as the reference does, steps of weight 0 included."""
    program = dpl.Program(case.text)
    graph = graph_of(program, *(f"p{i}" for i in range(case.n)))
    plan = schedule(graph)
    random = np.random.default_rng(seed)
    labels = np.asarray([_label(c) for c in graph.choices])
    columns = np.log(labels)[:, None] - random.exponential(0.5, (graph.edges, 4))
    columns[random.random(columns.shape) < 0.15] = -np.inf
    values = log_values(layers_of(plan), torch.as_tensor(columns)).numpy()
    for b in range(4):
        reference = evaluate(plan, columns[:, b].tolist(), LogSemiring())
        np.testing.assert_allclose(values[:, b], reference, rtol=1e-9, atol=1e-12)


def _label(choice: object) -> float:
    label = getattr(getattr(choice, "clause", None), "label", None)
    return 1.0 if label is None else label.number


@given(chains(), st.integers(1, 12))
def test_bounds_hold_the_exact_value(case: Labelled, most: int) -> None:
    program = dpl.Program(case.text)
    value = chain_values(case)[0]
    result = dpl.success(program, "p0", budget=dpl.Budget(max_goals=most), method="graph")
    assert result.lower <= value + 1e-12
    assert result.upper is not None
    assert result.upper >= value - 1e-12
    assert result.exact == (result.stopped is None)


@pytest.mark.parametrize("most", [1, 3, 10, 30, 100])
def test_bounds_close_in_on_an_infinite_graph(most: int) -> None:
    """Counting up for ever, stopping with ½ each time: the lower bound is 1 − 2⁻ᵏ."""
    program = dpl.Program("0.5 :: c(X). 0.5 :: c(X) :- c(s(X)).")
    lower, upper = dpl.bounds(program, "c(z)", dpl.Budget(max_goals=most))
    assert upper == 1
    assert 1 - 0.5 ** (most - 1) <= lower <= 1


def test_bounds_of_a_quadratic_recursion_over_growing_terms() -> None:
    """x = ½ + ⅕x² + ⅕x, whatever the argument: neither graph nor tables end."""
    program = dpl.Program("0.5 :: c(X). 0.2 :: c(X) :- c(s(X)), c(X). 0.2 :: c(X) :- c(X).")
    value = (0.8 - math.sqrt(0.8**2 - 4 * 0.2 * 0.5)) / 0.4
    for most in (5, 20, 100):
        lower, upper = dpl.bounds(program, "c(z)", dpl.Budget(max_goals=most))
        assert upper is not None
        assert lower - 1e-9 <= value <= upper + 1e-9
        assert upper - lower < 0.01


CYCLE = "0.5 :: a :- b. 0.5 :: a. 0.5 :: b :- a. 0.5 :: b :- fail."


def test_two_goals_that_lead_to_each_other() -> None:
    program = dpl.Program(CYCLE)
    assert dpl.exact_fraction(program, "a") == Fraction(2, 3)
    assert dpl.exact_fraction(program, "b") == Fraction(1, 3)
    log = dpl.Model(program).log_prob(["a", "b", "a, b"])
    assert log.exp().tolist() == pytest.approx([2 / 3, 1 / 3, 2 / 9], rel=1e-12)


def test_values_below_the_range_of_floats() -> None:
    """A thousand steps of a thousandth each, and around a cycle at the end."""
    program = dpl.Program(CYCLE + " 0.001 :: c(N) :- N > 0, M is N - 1, c(M). 0.999 :: c(0) :- a.")
    expected = 1000 * math.log(0.001) + math.log(0.999) + math.log(2 / 3)
    assert dpl.Model(program).log_prob(["c(1000)"]).item() == pytest.approx(expected, rel=1e-12)
    assert dpl.success(program, "c(1000)").log_lower == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("method", ["graph", "tabled"])
@pytest.mark.parametrize("text", ["p :- p. p.", "p :- r, p. p. 0.25 :: r. 0.75 :: r."])
def test_a_cycle_that_loses_no_weight_is_refused(text: str, method: str) -> None:
    program = dpl.Program(text)
    with pytest.raises(dpl.ProgramError, match="without losing weight"):
        dpl.prob(program, "p", method=method)  # type: ignore[arg-type]
    with pytest.raises(dpl.ProgramError, match="without losing weight"):
        dpl.Model(program).log_prob(["p"])


@pytest.mark.parametrize("method", ["graph", "tabled"])
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a :- b. b :- a. b :- c. 0 :: c.", 0.0),
        ("a :- x, b. x :- x. x :- z. 0 :: z. b. a :- h. 0.5 :: h.", 0.5),
        ("b :- a. a :- a. a :- z, b. 0 :: z. b :- h. 0.5 :: h.", 0.5),
    ],
)
def test_a_cycle_cut_off_by_a_weight_of_zero_counts_nothing(
    text: str, value: float, method: str
) -> None:
    program = dpl.Program(text)
    query = text[0]
    assert dpl.prob(program, query, method=method) == value  # type: ignore[arg-type]
    assert dpl.Model(program).log_prob([query]).exp().item() == value
    assert dpl.exact_fraction(program, query) == Fraction(value)


def test_a_weight_above_one_is_no_probability() -> None:
    program = dpl.Program("p. p :- q. q.")
    with pytest.raises(dpl.ProgramError, match="p has weight 2"):
        dpl.prob(program, "p")
    with pytest.raises(dpl.ProgramError, match="p has weight 2"):
        dpl.Model(program).log_prob(["q", "p"])
