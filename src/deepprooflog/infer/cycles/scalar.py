"""The elimination of a cycle's states one by one: the reference, and quickest for small cycles.

    d_k = Σ_{j≠k} A_kj + e_k        A_ij += A_ik A_kj / d_k      e_i += A_ik e_k / d_k

It runs on fractions, where it is exact, on decimals and on floats. `elimination` does the same in
rounds, for many weightings and beyond the range of floats, and is tested against it.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from heapq import heapify, heappop, heappush
from typing import TypeVar

N = TypeVar("N", float, Fraction, Decimal)

# Products that come below this may have lost digits to the end of the floats' range.
SMALL = 1e-290


class OutOfRange(Exception):
    """A product left the range of floats."""


def eliminate(
    steps: Iterable[tuple[int, int, N]], escapes: list[N], right: list[N]
) -> tuple[list[N], int] | None:
    """The least x of x = A x + b, and how many roundings went into it; None where it has no limit.

    `steps` are (i, j, A_ij); `escapes` are 1 − Σ_j A_ij, and like b in `right` are overwritten.

    >>> eliminate([(0, 1, 0.5), (1, 0, 0.5)], [0.5, 0.5], [0.5, 0.0])[0]
    [0.6666666666666666, 0.3333333333333333]
    """
    n = len(right)
    zero = right[0] * 0
    rows: list[dict[int, N]] = [{} for _ in range(n)]
    into: list[set[int]] = [set() for _ in range(n)]
    for i, j, w in steps:
        # A step back to the same state is what the escape leaves of 1.
        if i != j and w:
            rows[i][j] = rows[i].get(j, zero) + w
            into[j].add(i)
    heap = [(len(rows[k]) * len(into[k]), k) for k in range(n)]
    heapify(heap)
    done = [False] * n
    order: list[int] = []
    pivots: list[N] = [zero] * n
    roundings = 0
    while heap:
        joins, k = heappop(heap)
        row, arriving = rows[k], into[k]
        if done[k]:
            continue
        if joins != len(row) * len(arriving):
            heappush(heap, (len(row) * len(arriving), k))
            continue
        done[k] = True
        order.append(k)
        lost = escapes[k]
        pivot = sum(row.values(), lost)
        if pivot <= 0:
            return None
        pivots[k] = pivot
        reward = right[k]
        for i in arriving:
            own = rows[i]
            share = own.pop(k) / pivot
            if lost:
                _check(share * lost)
                escapes[i] += share * lost
            if reward:
                _check(share * reward)
                right[i] += share * reward
            for j, a in row.items():
                if j != i:
                    product = share * a
                    _check(product)
                    own[j] = own.get(j, zero) + product
                    into[j].add(i)
        for j in row:
            into[j].discard(k)
        roundings += len(arriving) * (len(row) + 4)
    for k in reversed(order):
        right[k] = sum((a * right[j] for j, a in rows[k].items()), right[k]) / pivots[k]
    return right, 2 * roundings + sum(len(row) + 3 for row in rows)


def _check(product: float | Fraction | Decimal) -> None:
    if type(product) is float and -SMALL < product < SMALL:
        raise OutOfRange
