"""Monotone polynomial systems against closed forms and against iteration from 0."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deepprooflog as dpl
from deepprooflog.infer.tables.polynomial import System, blocks, gradient, solve
from deepprooflog.logic.choice import Choice, WeightSource

ANY = Choice(WeightSource.ONE)


@pytest.mark.parametrize("percent", [*range(0, 50, 7), *range(51, 100, 7), 100])
def test_a_branching_process_dies_out(percent: int) -> None:
    """p ← p, p (π) or nothing (1 − π): min(1, (1 − π)/π)."""
    pi = percent / 100
    program = dpl.Program(f"{pi} :: p :- p, p. {1 - pi:.2f} :: p.")
    expected = min(1.0, (1 - pi) / pi) if pi else 1.0
    assert dpl.prob(program, "p") == pytest.approx(expected, rel=1e-9)
    assert dpl.success(program, "p").method == "tabled"
    log = dpl.Model(program).log_prob(["p", "p, p"]).exp().tolist()
    assert log == pytest.approx([expected, expected**2], rel=1e-9)


def test_a_double_root_is_found_to_six_digits() -> None:
    program = dpl.Program("0.5 :: p :- p, p. 0.5 :: p.")
    assert dpl.prob(program, "p") == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8, 12])
def test_spans_of_an_ambiguous_grammar(n: int) -> None:
    """S → S S (.4) | a (.6) over aⁿ: Catalan(n − 1) trees of weight .4ⁿ⁻¹ .6ⁿ."""
    program = dpl.Program("0.4 :: s --> s, s. 0.6 :: s --> [a].")
    trees = math.comb(2 * n - 2, n - 1) // n
    expected = trees * 0.4 ** (n - 1) * 0.6**n
    sentence = ", ".join("a" * n)
    assert dpl.prob(program, f"s([{sentence}], [])") == pytest.approx(expected, rel=1e-12)


def test_a_triple_branching() -> None:
    """x = ⅓ + ⅔x³ has the least root (√3 − 1)/2."""
    program = dpl.Program("2/3 :: p :- p, p, p. 1/3 :: p.")
    assert dpl.prob(program, "p") == pytest.approx((math.sqrt(3) - 1) / 2, rel=1e-12)


Case = tuple[int, list[tuple[int, int, int, float]]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Up to five unknowns, each with productions whose weights add up to 0.95."""
    n = draw(st.integers(1, 5))
    productions = []
    for target in range(n):
        parts = draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
        for part in parts:
            left = draw(st.integers(-1, n - 1))
            right = draw(st.integers(-1, n - 1)) if left >= 0 else -1
            productions.append((target, left, right, 0.95 * part / sum(parts)))
    return n, productions


def build(case: Case) -> tuple[System, np.ndarray]:
    """The system of a case, and its log-weights."""
    n, productions = case
    system = System()
    for _ in range(n):
        system.unknown()
    for target, left, right, _ in productions:
        system.add(target, ANY, left, right)
    return system, np.log([weight for *_, weight in productions])


def iterate(system: System, weights: np.ndarray, rounds: int = 3000) -> np.ndarray:
    """x ← F(x) from 0, which climbs to the least solution."""
    x = np.zeros(system.unknowns)
    target = np.asarray(system.target)
    for _ in range(rounds):
        factors = np.append(x, 1.0)
        terms = np.exp(weights) * factors[system.left] * factors[system.right]
        x = np.bincount(target, terms, system.unknowns).astype(np.float64)
    return x


@given(cases())
def test_the_least_solution_is_the_limit_of_iteration(case: Case) -> None:
    system, weights = build(case)
    np.testing.assert_allclose(
        np.exp(solve(system, weights)), iterate(system, weights), rtol=1e-7, atol=1e-9
    )


@given(cases(), st.integers(0, 10))
def test_gradients_by_central_differences(case: Case, pick: int) -> None:
    system, weights = build(case)
    goal = pick % system.unknowns
    order = blocks(system)
    log = solve(system, weights)
    if log[goal] == -math.inf:
        return
    flow = np.zeros(system.unknowns)
    flow[goal] = 1.0
    found = gradient(system, order, weights, log, flow)
    step = 1e-6
    for p in range(len(weights)):
        nudge = np.zeros(len(weights))
        nudge[p] = step
        rise = solve(system, weights + nudge)[goal] - solve(system, weights - nudge)[goal]
        assert found[p] == pytest.approx(rise / (2 * step), rel=1e-4, abs=1e-6)


def test_mutual_recursion_through_calls() -> None:
    """x = ¼ + ½xy, y = ⅓ + ⅓x + ⅓y²: against iteration."""
    program = dpl.Program(
        """
        1/4 :: even.  1/2 :: even :- even, odd.
        1/3 :: odd.   1/3 :: odd :- even.   1/3 :: odd :- odd, odd.
        """
    )
    x = y = 0.0
    for _ in range(2000):
        x, y = 1 / 4 + x * y / 2, 1 / 3 + x / 3 + y * y / 3
    assert dpl.prob(program, "even") == pytest.approx(x, rel=1e-10)
    assert dpl.prob(program, "odd") == pytest.approx(y, rel=1e-10)


def test_a_recursion_without_solution_is_refused() -> None:
    with pytest.raises(dpl.ProgramError, match="no limit"):
        dpl.prob(dpl.Program("p :- p, p. p."), "p")


def test_a_recursion_without_base_fails() -> None:
    assert dpl.prob(dpl.Program("0.5 :: p :- p, p. 0.5 :: p :- q, p. 0.1 :: q."), "p") == 0.0
