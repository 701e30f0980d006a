"""One cyclic component: its weights put together, solved, and how far rounding may be off.

    x_i = Σ inner steps i → j of w · x_j  +  b_i,      b_i = Σ leaving steps of w · V(target)

Of the states that no success can be reached from by steps of nonzero weight the value is 0; what
steps into them weigh is lost, and counts as escaping.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepprooflog.infer.cycles.elimination import UNIT, Factors, factor, solve
from deepprooflog.infer.cycles.ordering import EliminationOrder, Ints
from deepprooflog.infer.cycles.wide import (
    NOTHING,
    Floats,
    Wide,
    from_log,
    normal,
    over,
    plus,
    segment_sum,
    times,
    to_float,
    to_log,
)
from deepprooflog.score.fixed import DISTRIBUTION

# Pivots that lose this much to cancellation say nothing about the error.
HOPELESS = 1e12


@dataclass(frozen=True)
class CycleSteps:
    """The steps of a cyclic component's states, as positions among its states."""

    order: EliminationOrder
    inner_source: Ints  # [k] ascending
    inner_target: Ints  # [k]
    outer_source: Ints  # [m] ascending; steps that leave, those into failure included


@dataclass(frozen=True)
class Closed:
    """The solution of a component under B weightings."""

    x: Wide  # [n, B]
    steps: Wide  # [k, B] the inner weights used
    right: Wide  # [n, B] b
    factors: Factors
    certain: bool  # every escape is known without a subtraction


def close_cycle(
    steps: CycleSteps, inner: Floats, outer: Floats, right: Floats, slack: Floats
) -> Closed:
    """Solve a component: log weights of inner [k, B] and leaving [m, B] steps, log b [n, B].

    `slack` [n] is 1 − Σ of all of a state's weights, where that is known apart from the weights;
    nan where it is not, DISTRIBUTION where it is 0 if the weights say so too. Raises `NoLimit`.
    """
    n = steps.order.states
    a, leaving = from_log(inner), from_log(outer)
    escapes, certain = _escapes(steps, a, leaving, slack)
    productive = _productive(steps, inner, right)
    if productive is not None:
        # Steps into states of value 0 lose their weight, and these states are set apart.
        lost = Wide(np.where(productive[steps.inner_target], 0.0, a.m), a.e)
        escapes = _added(escapes, lost, steps.inner_source)
        keep = productive[steps.inner_target] & productive[steps.inner_source]
        a = Wide(np.where(keep, a.m, 0.0), np.where(keep, a.e, NOTHING))
        one = normal(np.ones((n, inner.shape[1])), 0)
        escapes = Wide(
            np.where(productive, escapes.m, one.m), np.where(productive, escapes.e, one.e)
        )
    factors = factor(steps.order, a, escapes)
    b = from_log(right)
    return Closed(solve(factors, b), a, b, factors, certain)


def _escapes(steps: CycleSteps, a: Wide, leaving: Wide, slack: Floats) -> tuple[Wide, bool]:
    """What leaves each state [n, B], and whether all of it is known without a subtraction."""
    n, batch = steps.order.states, a.m.shape[1]
    known = np.isfinite(slack)
    gap = np.repeat(np.where(known, slack, 0.0)[:, None], batch, axis=1)
    certain = bool((gap >= 0).all())
    if not known.all():
        source = np.concatenate([steps.inner_source, steps.outer_source])
        weight = np.concatenate([to_float(a), to_float(leaving)])
        count = np.bincount(source, minlength=n)[:, None]
        sums = np.zeros((n, batch))
        np.add.at(sums, source, weight)
        found = 1.0 - sums
        # Weights that add up to 1 but for rounding are a distribution.
        found[np.abs(found) <= 4 * UNIT * (count + 1)] = 0.0
        gap = np.where(known[:, None], gap, found)
        # Sums of ones are exact; of other weights, a difference to 1 is only as good as floats.
        whole = np.ones(n, dtype=bool)
        np.logical_and.at(whole, source, ((weight == 1) | (weight == 0)).all(axis=1))
        whole |= (slack == DISTRIBUTION) & (found == 0).all(axis=1)
        # Alternatives that weigh 1 each may add up to more: what counts is that those which stay
        # inside do not.
        staying = np.zeros((n, batch))
        np.add.at(staying, steps.inner_source, weight[: len(steps.inner_source)])
        fits = np.where(whole[:, None], staying <= 1, gap >= 0)
        certain = certain and bool(((known | whole)[:, None] & fits).all())
    return _added(normal(gap, 0), leaving, steps.outer_source), certain


def _added(base: Wide, items: Wide, source: Ints) -> Wide:
    """base + Σ items by source."""
    if not len(source):
        return base
    start = np.flatnonzero(np.concatenate([[True], source[1:] != source[:-1]]))
    result = Wide(base.m.copy(), base.e.copy())
    states = source[start]
    result.put(states, plus(result.at(states), segment_sum(items, start)))
    return result


def _productive(steps: CycleSteps, inner: Floats, right: Floats) -> NDArray[np.bool_] | None:
    """[n, B] the states that reach success by steps of nonzero weight; None when all do."""
    found = right > -np.inf
    cut = inner == -np.inf
    if not cut.any() and found.any(axis=0).all():
        return None
    by_target = np.argsort(steps.inner_target, kind="stable")
    first = np.searchsorted(steps.inner_target[by_target], np.arange(len(right) + 1)).tolist()
    sources = steps.inner_source[by_target].tolist()
    for b in range(right.shape[1]):
        passes = (~cut[by_target, b]).tolist()
        done = found[:, b].tolist()
        todo = np.flatnonzero(found[:, b]).tolist()
        while todo:
            j = todo.pop()
            for e in range(first[j], first[j + 1]):
                if passes[e] and not done[sources[e]]:
                    done[sources[e]] = True
                    todo.append(sources[e])
        found[:, b] = done
    return found


def rounding_error(steps: CycleSteps, closed: Closed, given: Floats) -> Floats:
    """[n] bounds on |log x̂ − log x| that hold for the first column; inf where none can be told.

    `given` [n] bounds how far the numbers of each row were off as they came, in units of rounding.
    """
    n = steps.order.states
    factors = closed.factors
    own = np.where(closed.x.m[:, 0] == 0, 0.0, np.abs(to_log(closed.x)[:, 0]) + 1)
    depth = sum(int(len(r.out) > 0) * 4 for r in factors.order.rounds) + 4 * len(factors.order.rest)
    if closed.certain:
        count = factors.roundings + 2 * float(given.sum()) + depth
        certain: Floats = UNIT * (count + own)
        return certain
    if factors.cancelled > HOPELESS or not np.isfinite(given).all():
        return np.full(n, np.inf)
    # |x̂ − x| ≤ (I − A)⁻¹ ρ, where ρ bounds the residual and what rounding hides of it.
    passed = times(closed.steps, closed.x.at(steps.inner_target))
    sums = _added(closed.right, passed, steps.inner_source)
    gap = plus(sums, Wide(-closed.x.m, closed.x.e))
    degree = np.bincount(steps.inner_source, minlength=n)
    hidden = normal(UNIT * (degree + given + 4)[:, None] * np.ones_like(sums.m), 0)
    rho = plus(Wide(np.abs(gap.m), gap.e), times(hidden, plus(sums, closed.x)))
    bound = solve(factors, rho)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = 2 * to_float(over(bound, closed.x))[:, 0]
    return np.where(closed.x.m[:, 0] == 0, 0.0, found) + UNIT * own


def given_error(segment: Ints, logs: Floats, n: int) -> Floats:
    """[n] how far weights exp(logs) are off, in units of rounding, the largest of each segment."""
    given = np.zeros(n)
    sizes = np.where(np.isfinite(logs), np.abs(logs), 0.0)
    np.maximum.at(given, segment, np.where(sizes == 0, 0.0, sizes + 1))
    return given
