"""One cyclic component of a polynomial system, solved in float64, with a bound on its error.

    x = c + A x + Q(x, x)

A linear component is eliminated. Any other is solved by Newton's method from 0, which converges to
the least solution from below (Etessami and Yannakakis 2009), linearly where it is a double root.
With ρ a bound on the residual and on what rounding hides of it, and q = (I − J)⁻¹ ρ, the
solution is within 2q of what was found when Q(2q, 2q) ≤ ρ: then F(x + 2q) ≤ x + 2q.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from deepprooflog.infer.cycles.component import CycleSteps, close_cycle, rounding_error
from deepprooflog.infer.cycles.elimination import UNIT, NoLimit, factor, solve
from deepprooflog.infer.cycles.ordering import EliminationOrder, order_states
from deepprooflog.infer.cycles.wide import Floats, normal, to_float, to_log

Ints = NDArray[np.int64]
W = TypeVar("W")

# Newton halves the error at a double root: enough rounds to reach the square root of float64's
# precision, which is all that a double root holds.
ROUNDS = 200
STEP = 1e-15
# Components of up to so many unknowns are solved as dense matrices.
DENSE = 100


class NoSolution(Exception):
    """The weights of a component's derivations have no finite sum."""


@dataclass(frozen=True)
class Local:
    """A component's polynomials: rows i, log coefficients, and one or two factors of its own."""

    n: int
    constant: tuple[Ints, Floats]  # [c] i, log c
    single: tuple[Ints, Ints, Floats]  # [s] i, j, log A_ij
    double: tuple[Ints, Ints, Ints, Floats]  # [d] i, j, k, log Q_ijk
    given: Floats  # [n] how far the coefficients are off as they came, in units of rounding

    @staticmethod
    def of(n: int, rows: list[tuple[int, int, int, float]], given: Floats) -> Local | None:
        """From rows (i, j, k, log coefficient), −1 for no factor; None when nothing ends in one.

        What no derivation ends in is left out: it is 0, but would make the system singular.
        """
        kept = productive(n, rows)
        constants = [r for r in kept if r[1] < 0]
        if not constants:
            return None
        singles = [r for r in kept if r[1] >= 0 and r[2] < 0]
        doubles = [r for r in kept if r[2] >= 0]
        return Local(
            n,
            (_ints(constants, 0), _logs(constants)),
            (_ints(singles, 0), _ints(singles, 1), _logs(singles)),
            (_ints(doubles, 0), _ints(doubles, 1), _ints(doubles, 2), _logs(doubles)),
            given,
        )

    @property
    def is_linear(self) -> bool:
        return not len(self.double[0])


def productive(n: int, rows: list[tuple[int, int, int, W]]) -> list[tuple[int, int, int, W]]:
    """The rows (i, j, k, coefficient) all of whose factors have a derivation."""
    waits = [len({f for f in r[1:3] if f >= 0}) for r in rows]
    users: list[list[int]] = [[] for _ in range(n)]
    for number, r in enumerate(rows):
        for f in {f for f in r[1:3] if f >= 0}:
            users[f].append(number)
    found = [False] * n
    todo = [number for number, count in enumerate(waits) if not count]
    while todo:
        i = rows[todo.pop()][0]
        if found[i]:
            continue
        found[i] = True
        for number in users[i]:
            waits[number] -= 1
            if not waits[number]:
                todo.append(number)
    return [r for r, count in zip(rows, waits, strict=True) if not count]


def solve_linear(local: Local) -> tuple[Floats, Floats]:
    """log x and its error; the numbers may lie far below the range of floats."""
    n = local.n
    i, j, log = local.single
    sort = np.argsort(i, kind="stable")
    i, j, log = i[sort], j[sort], log[sort]
    right = np.full(n, -np.inf)
    np.logaddexp.at(right, *local.constant)
    escapes = np.asarray(1.0 - np.bincount(i, np.exp(log), n), dtype=np.float64)
    steps = CycleSteps(order_states(n, i, j), i, j, np.zeros(0, dtype=np.int64))
    try:
        closed = close_cycle(steps, log[:, None], np.zeros((0, 1)), right[:, None], escapes)
    except NoLimit:
        raise NoSolution from None
    # A difference from 1 is only as good as floats: the error is found from the residual.
    closed = replace(closed, certain=False)
    lost = float(np.max(1 / np.maximum(to_float(closed.factors.pivots), 1e-300)))
    error = rounding_error(steps, closed, local.given)
    return to_log(closed.x)[:, 0], error if lost < 1e12 else np.full(n, np.inf)


def solve_newton(local: Local) -> tuple[Floats, Floats]:
    """log x and its error."""
    system = _Floats(local)
    x = np.zeros(local.n)
    for _ in range(ROUNDS):
        step = system.solve(x, system.value(x) - x)
        if step is None or (step < -1e-9).any():
            break
        x = np.maximum(x + step, x)
        if np.max(np.abs(step) / np.maximum(x, 1e-300), initial=0.0) < STEP:
            break
    if (np.abs(system.value(x) - x) > 1e-6 * x).any():
        raise NoSolution
    with np.errstate(divide="ignore"):
        return np.log(x), _newton_error(local, system, x)


def _newton_error(local: Local, system: _Floats, x: Floats) -> Floats:
    value = system.value(x)
    some = x > 0
    if not np.isfinite(local.given).all():
        return np.where(some, np.inf, 0.0)
    hidden = UNIT * (local.given + system.degree + 4)
    rho = np.abs(value - x) + hidden * (value + x)
    q = system.solve(x, rho)
    if q is None or (q < 0).any() or not np.isfinite(q).all():
        return np.where(some, np.inf, 0.0)
    i, j, k, _ = local.double
    square = np.bincount(i, system.double * (2 * q)[j] * (2 * q)[k], local.n)
    if (square > rho).any():
        return np.where(some, np.inf, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(some, 2 * q / x, 0.0)


class _Floats:
    """F and (I − J)⁻¹ of a component in float64."""

    def __init__(self, local: Local) -> None:
        self.local = local
        n = local.n
        rows, logs = local.constant
        self.constant = np.asarray(np.bincount(rows, np.exp(logs), n), dtype=np.float64)
        self.single = np.exp(local.single[2])
        self.double = np.exp(local.double[3])
        # J has an entry for each factor of each row.
        self.source = np.concatenate([local.single[0], local.double[0], local.double[0]])
        self.target = np.concatenate([local.single[1], local.double[1], local.double[2]])
        self.degree = np.bincount(self.source, minlength=n)
        self._order: EliminationOrder | None = None

    def value(self, x: Floats) -> Floats:
        """F(x)."""
        n = self.local.n
        si, sj, _ = self.local.single
        di, dj, dk, _ = self.local.double
        found: Floats = (
            self.constant
            + np.bincount(si, self.single * x[sj], n)
            + np.bincount(di, self.double * x[dj] * x[dk], n)
        )
        return found

    def solve(self, x: Floats, right: Floats) -> Floats | None:
        """(I − J(x))⁻¹ right; None where that does not exist."""
        n = self.local.n
        _, dj, dk, _ = self.local.double
        j = np.concatenate([self.single, self.double * x[dk], self.double * x[dj]])
        if n <= DENSE:
            matrix = np.eye(n)
            np.subtract.at(matrix, (self.source, self.target), j)
            try:
                found = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
            except np.linalg.LinAlgError:
                return None
            return found if np.isfinite(found).all() else None
        if self._order is None:
            self._order = order_states(n, self.source, self.target)
        escapes = np.asarray(1.0 - np.bincount(self.source, j, n), dtype=np.float64)
        try:
            factors = factor(self._order, normal(j[:, None], 0), normal(escapes[:, None], 0))
        except NoLimit:
            return None
        return to_float(solve(factors, normal(right[:, None], 0)))[:, 0]


def _ints(rows: list[tuple[int, int, int, float]], place: int) -> Ints:
    return np.asarray([r[place] for r in rows], dtype=np.int64)


def _logs(rows: list[tuple[int, int, int, float]]) -> Floats:
    return np.asarray([r[3] for r in rows], dtype=np.float64)
