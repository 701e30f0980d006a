"""Linear systems of cycles, x = A x + b with A ≥ 0, solved without a subtraction.

State k has steps A_kj to others, and *escapes* with e_k = 1 − Σ_j A_kj: it succeeds, fails, or
leaves the cycle. Eliminating k takes its pivot from what leaves it (Grassmann, Taksar and Heyman
1985),

    d_k = 1 − A_kk = Σ_{j≠k} A_kj + e_k        A_ij += A_ik A_kj / d_k      e_i += A_ik e_k / d_k

so where the escapes are known, as they are of labels, nothing cancels however close a loop's weight
is to 1. By the matrix-tree theorem a relative change δ of one row changes each x by 2δ at most:
that bounds what the roundings counted on the way can do. Where unlabelled clauses add up to more
than 1 an escape is negative; then pivots do cancel, and the error is found from the residual.

Columns of the arrays are weightings of the same cycle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepprooflog.infer.cycles.ordering import EliminationOrder
from deepprooflog.infer.cycles.wide import (
    NOTHING,
    SUMMED,
    Floats,
    Wide,
    normal,
    over,
    plus,
    segment_sum,
    times,
    to_float,
    total,
    zeros,
)

UNIT = 2.0**-53
# A matrix is eliminated in floats where its exponents are above this, and no product is smaller.
FLOATS = -400
SMALL = 1e-290


class NoLimit(Exception):
    """A pivot is not positive: the weights of the cycle's walks have no finite sum."""

    def __init__(self, state: int) -> None:
        super().__init__(state)
        self.state = state


@dataclass(frozen=True)
class Factors:
    """A cycle eliminated: enough to solve for any right side, and for the transpose."""

    order: EliminationOrder
    entries: Wide  # [entries, B] steps as they were when their source was eliminated
    pivots: Wide  # [states, B] d
    shares: tuple[Wide, ...]  # for each round, [i, B]: A_ik / d_k
    matrix: Wide  # [m, m, B] above the diagonal A_kj, below it A_ik / d_k
    roundings: float  # what rounding may change of x, relative, in units of UNIT
    cancelled: float  # the largest ratio of a pivot's summands to the pivot


def factor(order: EliminationOrder, steps: Wide, escapes: Wide) -> Factors:
    """Eliminate all states; `steps` [steps, B] are A's entries, `escapes` [states, B] are e."""
    batch = steps.m.shape[1]
    entries = zeros(order.entries, batch)
    inner = order.entry >= 0
    sort = np.argsort(order.entry[inner], kind="stable")
    place = order.entry[inner][sort]
    if len(place):
        start = np.flatnonzero(np.concatenate([[True], place[1:] != place[:-1]]))
        given = segment_sum(steps.at(np.flatnonzero(inner)[sort]), start)
        entries.put(place[start], given)
    escapes = Wide(escapes.m.copy(), escapes.e.copy())
    signed = bool((escapes.m < 0).any())
    pivots = zeros(order.states, batch)
    shares = []
    count, cancelled = 0.0, 1.0
    for r in order.rounds:
        escape = escapes.at(r.pivots)
        out = entries.at(r.out)
        d = Wide(escape.m.copy(), escape.e.copy())
        if len(r.out):
            leaving = r.out_pivot[r.out_start]
            d.put(leaving, plus(d.at(leaving), segment_sum(out, r.out_start, closely=True)))
        if not (d.m > 0).all():
            raise NoLimit(int(r.pivots[int(np.argmin((d.m > 0).all(axis=1)))]))
        if signed:
            cancelled = max(cancelled, _ratio(escape, d))
        pivots.put(r.pivots, d)
        share = over(entries.at(r.into), d.at(r.into_pivot))
        shares.append(share)
        added = np.zeros(len(r.into), dtype=bool)
        if len(r.joined):
            products = times(share.at(r.join_left), out.at(r.join_right))
            before = entries.at(r.joined)
            entries.put(r.joined, plus(before, segment_sum(products, r.join_start)))
            sizes = np.diff(r.join_start, append=len(r.join_left))
            grew = (sizes > 1) | (before.m != 0).any(axis=1)
            added[r.join_left[np.repeat(grew, sizes)]] = True
        if len(r.into) and (escape.m != 0).any():
            lost = segment_sum(times(share, escape.at(r.into_pivot)), r.into_start)
            escapes.put(r.sources, plus(escapes.at(r.sources), lost))
            added[:] = True
        # A pivot with one step of weight 2^e passes on what comes without rounding.
        summands = np.bincount(r.out_pivot, (out.m != 0).any(axis=1), len(r.pivots))
        summands += (escape.m != 0).any(axis=1)
        rounded = (summands > 1) | (d.m != 0.5).any(axis=1)
        count += float(added.sum() + ((SUMMED + 2) * rounded[r.into_pivot]).sum())
    matrix, dense, ratio = _factor_matrix(order, entries, escapes, pivots, signed)
    return Factors(
        order, entries, pivots, tuple(shares), matrix, 2 * (count + dense), max(cancelled, ratio)
    )


def _factor_matrix(
    order: EliminationOrder, entries: Wide, escapes: Wide, pivots: Wide, signed: bool
) -> tuple[Wide, float, float]:
    """Eliminate what is left as a matrix: by plain floats where nothing is near their limits."""
    m, batch = len(order.rest), entries.m.shape[1]
    matrix = zeros(m * m, batch)
    matrix.put(order.rest_place, entries.at(order.rest_entry))
    matrix = Wide(matrix.m.reshape(m, m, batch), matrix.e.reshape(m, m, batch))
    escape = escapes.at(order.rest)
    found = _in_floats(order, matrix, escape) or _in_wide(order, matrix, escape)
    matrix, d, cancelled = found
    pivots.put(order.rest, d)
    return matrix, (SUMMED + 3) * m * (m - 1) / 2, cancelled if signed else 1.0


def _in_floats(
    order: EliminationOrder, matrix: Wide, escape: Wide
) -> tuple[Wide, Wide, float] | None:
    m = len(order.rest)
    used = np.concatenate([matrix.e[matrix.m != 0], escape.e[escape.m != 0]])
    if len(used) and (int(used.max()) > -FLOATS or int(used.min()) < FLOATS):
        return None
    a, e = to_float(matrix), to_float(escape)
    d = np.empty_like(e)
    cancelled = 1.0
    for k in range(m):
        row = a[k, k + 1 :]
        d[k] = e[k] + row.sum(axis=0, dtype=np.longdouble)
        if not (d[k] > 0).all():
            raise NoLimit(int(order.rest[k]))
        cancelled = max(cancelled, float(np.max(1 - 2 * np.minimum(e[k] / d[k], 0.0))))
        share = a[k + 1 :, k] / d[k]
        a[k + 1 :, k] = share
        if min(_least(share), 1.0) * min(_least(row), _least(e[k])) < SMALL:
            return None
        below = a[k + 1 :, k + 1 :]
        below += share[:, None] * row
        # A step back to the same state is part of no sum.
        own = np.arange(m - k - 1)
        below[own, own] = 0.0
        e[k + 1 :] += share * e[k]
    return normal(a, 0), normal(d, 0), cancelled


def _least(values: Floats) -> float:
    """The smallest size of those that are not 0."""
    sizes = np.abs(values)
    return float(np.min(sizes, where=sizes > 0, initial=np.inf))


def _in_wide(order: EliminationOrder, matrix: Wide, escape: Wide) -> tuple[Wide, Wide, float]:
    m = len(order.rest)
    d = zeros(*escape.m.shape)
    cancelled = 1.0
    for k in range(m):
        own = Wide(escape.m[k], escape.e[k])
        row = Wide(matrix.m[k, k + 1 :], matrix.e[k, k + 1 :])
        pivot = plus(own, total(row, 0)) if k + 1 < m else own
        if not (pivot.m > 0).all():
            raise NoLimit(int(order.rest[k]))
        cancelled = max(cancelled, _ratio(own, pivot))
        d.m[k], d.e[k] = pivot
        if k + 1 == m:
            break
        share = over(Wide(matrix.m[k + 1 :, k], matrix.e[k + 1 :, k]), pivot)
        matrix.m[k + 1 :, k], matrix.e[k + 1 :, k] = share
        product = Wide(share.m[:, None] * row.m, share.e[:, None] + row.e)
        below = Wide(matrix.m[k + 1 :, k + 1 :], matrix.e[k + 1 :, k + 1 :])
        below.m[:], below.e[:] = plus(below, product)
        same = np.arange(m - k - 1)
        below.m[same, same], below.e[same, same] = 0.0, NOTHING
        rest = Wide(escape.m[k + 1 :], escape.e[k + 1 :])
        rest.m[:], rest.e[:] = plus(rest, times(share, own))
    return matrix, d, cancelled


def _ratio(escape: Wide, d: Wide) -> float:
    """How many times larger than a pivot its summands are, where an escape is negative."""
    with np.errstate(over="ignore"):
        return float(np.max(1 - 2 * np.minimum(to_float(over(escape, d)), 0.0), initial=1.0))


def solve(factors: Factors, right: Wide) -> Wide:
    """x of x = A x + b: b handed on as states are eliminated, x found on the way back."""
    order = factors.order
    x = Wide(right.m.copy(), right.e.copy())
    for r, share in zip(order.rounds, factors.shares, strict=True):
        if len(r.into):
            passed = times(share, x.at(r.pivots).at(r.into_pivot))
            x.put(r.sources, plus(x.at(r.sources), segment_sum(passed, r.into_start)))
    matrix, rest, m = factors.matrix, order.rest, len(order.rest)
    y = x.at(rest)
    for k in range(m - 1):
        below = Wide(y.m[k + 1 :], y.e[k + 1 :])
        share = Wide(matrix.m[k + 1 :, k], matrix.e[k + 1 :, k])
        below.m[:], below.e[:] = plus(below, times(share, Wide(y.m[k], y.e[k])))
    for k in range(m - 1, -1, -1):
        own = Wide(y.m[k], y.e[k])
        if k + 1 < m:
            row = Wide(matrix.m[k, k + 1 :], matrix.e[k, k + 1 :])
            own = plus(own, total(times(row, Wide(y.m[k + 1 :], y.e[k + 1 :])), 0))
        d = factors.pivots.at(rest[k : k + 1])
        y.m[k], y.e[k] = normal(own.m / d.m[0], own.e - d.e[0])
    x.put(rest, y)
    for r in reversed(order.rounds):
        own = x.at(r.pivots)
        if len(r.out):
            leaving = r.out_pivot[r.out_start]
            items = times(factors.entries.at(r.out), x.at(r.out_target))
            own.put(leaving, plus(own.at(leaving), segment_sum(items, r.out_start)))
        found = over(own, factors.pivots.at(r.pivots))
        x.put(r.pivots, normal(found.m, found.e))
    return x


def solve_transposed(factors: Factors, right: Wide) -> Wide:
    """v of v = Aᵀ v + g: how often each state is visited by walks that begin as g says."""
    order = factors.order
    v = Wide(right.m.copy(), right.e.copy())
    for r in order.rounds:
        own = over(v.at(r.pivots), factors.pivots.at(r.pivots))
        v.put(r.pivots, normal(own.m, own.e))
        if len(r.out):
            items = times(factors.entries.at(r.out), v.at(r.pivots).at(r.out_pivot))
            targets = r.out_target[r.by_target][r.target_start]
            v.put(targets, plus(v.at(targets), segment_sum(items.at(r.by_target), r.target_start)))
    matrix, rest, m = factors.matrix, order.rest, len(order.rest)
    y = v.at(rest)
    for k in range(m):
        d = factors.pivots.at(rest[k : k + 1])
        y.m[k], y.e[k] = normal(y.m[k] / d.m[0], y.e[k] - d.e[0])
        if k + 1 < m:
            row = Wide(matrix.m[k, k + 1 :], matrix.e[k, k + 1 :])
            after = Wide(y.m[k + 1 :], y.e[k + 1 :])
            after.m[:], after.e[:] = plus(after, times(row, Wide(y.m[k], y.e[k])))
    for k in range(m - 2, -1, -1):
        share = Wide(matrix.m[k + 1 :, k], matrix.e[k + 1 :, k])
        more = total(times(share, Wide(y.m[k + 1 :], y.e[k + 1 :])), 0)
        y.m[k], y.e[k] = plus(Wide(y.m[k], y.e[k]), more)
    v.put(rest, y)
    for r, share in zip(reversed(order.rounds), reversed(factors.shares), strict=True):
        if len(r.into):
            arriving = r.into_pivot[r.by_pivot][r.pivot_start]
            # `sources` stand once for each run of steps: spread them over the steps again.
            sizes = np.diff(r.into_start, append=len(r.into))
            source = np.repeat(r.sources, sizes)
            items = times(share, v.at(source)).at(r.by_pivot)
            states = r.pivots[arriving]
            v.put(states, plus(v.at(states), segment_sum(items, r.pivot_start)))
    return v
