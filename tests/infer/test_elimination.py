"""The elimination of cycles against Gauss's over fractions: every entry, however small."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from deepprooflog.infer.cycles.component import CycleSteps, close_cycle, rounding_error
from deepprooflog.infer.cycles.elimination import NoLimit, solve_transposed
from deepprooflog.infer.cycles.ordering import order_states
from deepprooflog.infer.cycles.scalar import OutOfRange, eliminate
from deepprooflog.infer.cycles.wide import from_log, to_log
from infer.random_cycles import System, dense_solution, draw_system, log_fraction


def steps_of(system: System) -> tuple[CycleSteps, np.ndarray, np.ndarray, np.ndarray]:
    """A system's steps, the logs of A's entries and of b, and the slack of its rows."""
    steps = sorted(system.steps)
    source = np.asarray([i for i, _, _ in steps])
    target = np.asarray([j for _, j, _ in steps])
    inner = np.asarray([[log_fraction(w)] for *_, w in steps])
    leaving = [i for i, b in enumerate(system.right) if b]
    outer = np.asarray([[log_fraction(system.right[i])] for i in leaving])
    rest = list(map(Fraction, [1] * system.n))
    for i, _, w in steps:
        rest[i] -= w
    slack = np.asarray([float(r - b) for r, b in zip(rest, system.right, strict=True)])
    made = CycleSteps(order_states(system.n, source, target), source, target, np.asarray(leaving))
    return made, inner, outer, slack


def right_of(system: System) -> np.ndarray:
    return np.asarray([[log_fraction(b) if b else -np.inf] for b in system.right])


@pytest.mark.parametrize("seed", range(30))
def test_every_entry_has_nearly_all_its_digits(seed: int) -> None:
    system = draw_system(random.Random(seed), most=18)
    steps, inner, outer, slack = steps_of(system)
    closed = close_cycle(steps, inner, outer, right_of(system), slack)
    exact = [log_fraction(x) for x in dense_solution(system, list(system.right))]
    found = to_log(closed.x)[:, 0]
    # The weights come as logarithms: of 10⁻³⁰⁰ the last digits are gone before anything is solved.
    size = 1 + float(np.abs(inner).max())
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-14 * size * system.n)
    error = rounding_error(steps, closed, np.full(system.n, size))
    assert closed.certain
    assert (np.abs(found - exact) <= error).all()
    assert error.max() < 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_one_state_at_a_time(seed: int) -> None:
    """The reference, on fractions and on floats."""
    system = draw_system(random.Random(seed), most=14)
    exact = dense_solution(system, list(system.right))
    escapes = [Fraction(1)] * system.n
    for i, _, w in system.steps:
        escapes[i] -= w
    found = eliminate(system.steps, list(escapes), list(system.right))
    assert found is not None and found[0] == exact
    floats = [(i, j, float(w)) for i, j, w in system.steps]
    try:
        rounded = eliminate(floats, [float(e) for e in escapes], [float(b) for b in system.right])
    except OutOfRange:
        return
    assert rounded is not None
    for mine, theirs in zip(rounded[0], exact, strict=True):
        assert abs(Fraction(mine) / theirs - 1) <= rounded[1] * 2.0**-53 + 2 * system.n * 2.0**-53


@pytest.mark.parametrize("seed", range(15))
def test_visits_solve_the_transpose(seed: int) -> None:
    system = draw_system(random.Random(seed), most=16)
    steps, inner, outer, slack = steps_of(system)
    closed = close_cycle(steps, inner, outer, right_of(system), slack)
    begin = [Fraction(i == system.n // 2) for i in range(system.n)]
    exact = dense_solution(system, begin, transposed=True)
    logs = np.asarray([[0.0 if b else -np.inf] for b in begin])
    visits = to_log(solve_transposed(closed.factors, from_log(logs)))[:, 0]
    assert (visits > -np.inf).tolist() == [v > 0 for v in exact]
    some = [i for i, v in enumerate(exact) if v]
    size = 1 + float(np.abs(inner).max())
    expected = [log_fraction(exact[i]) for i in some]
    np.testing.assert_allclose(visits[some], expected, rtol=0, atol=1e-14 * size * system.n)


@pytest.mark.parametrize("seed", range(10))
def test_columns_are_solved_as_if_alone(seed: int) -> None:
    """Several weightings at once, some of their steps cut off, against each by itself."""
    rng = random.Random(seed)
    system = draw_system(rng, most=30)
    steps, inner, outer, _ = steps_of(system)
    draw = np.random.default_rng(seed)
    columns = inner - draw.exponential(0.5, (len(inner), 4))
    columns[draw.random(columns.shape) < 0.1] = -np.inf
    right = np.repeat(right_of(system), 4, axis=1)
    leaving = np.repeat(outer, 4, axis=1)
    unknown = np.full(system.n, np.nan)
    together = to_log(close_cycle(steps, columns, leaving, right, unknown).x)
    for b in range(4):
        own, out, end = (c[:, b : b + 1] for c in (columns, leaving, right))
        alone = to_log(close_cycle(steps, own, out, end, unknown).x)
        np.testing.assert_allclose(together[:, b], alone[:, 0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 13, 50])
def test_rows_that_add_up_to_more_than_one(n: int) -> None:
    """A ring with weight 2 into it and ½ⁿ⁻¹·g around: finite exactly below g = ½."""
    source = np.arange(n)
    target = (source + 1) % n
    empty = np.zeros(0, dtype=np.int64)
    steps = CycleSteps(order_states(n, source, target), source, target, empty)
    right = np.zeros((n, 1))
    unknown = np.full(n, np.nan)
    for turn, limit in [(0.9, True), (1.0, False), (1.1, False)]:
        weights = np.zeros(n)
        weights[0] = np.log(turn)
        if n > 1:
            weights[1:], weights[0] = np.log(2), np.log(turn) - (n - 1) * np.log(2)
        if not limit:
            weights[0] += 1e-9 if turn == 1 else 0
            with pytest.raises(NoLimit):
                close_cycle(steps, weights[:, None], np.zeros((0, 1)), right, unknown)
            continue
        closed = close_cycle(steps, weights[:, None], np.zeros((0, 1)), right, unknown)
        # Around once from state 0: w₀, w₀w₁, … and then the same again, `turn` times as much.
        walk = np.exp(np.concatenate([[0.0], np.cumsum(weights[:-1])])).sum()
        expected = np.log(walk / (1 - turn))
        found = to_log(closed.x)[0, 0]
        error = rounding_error(steps, closed, np.full(n, n * 1.0))
        assert found == pytest.approx(expected, abs=1e-10)
        assert abs(found - expected) <= error[0] < 1e-9


@pytest.mark.parametrize("n", [1, 5, 40, 300])
def test_every_state_is_eliminated_once(n: int) -> None:
    rng = random.Random(n)
    source = np.sort(np.asarray([rng.randrange(n) for _ in range(3 * n)]))
    target = np.asarray([rng.randrange(n) for _ in range(3 * n)])
    order = order_states(n, source, target)
    done = [s for r in order.rounds for s in r.pivots.tolist()] + order.rest.tolist()
    assert sorted(done) == list(range(n))
    assert ((order.entry < 0) == (source == target)).all()
