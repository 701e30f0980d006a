"""Least solutions below the range of floats, by a change of variables.

    x_u = exp(b_u) · y_u,     w'_p = w_p + b_f + b_g − b_u     for the production u ← p · f · g

b_u is the log weight of the best derivation of u (Knuth 1977), so that y_u is at least 1 and the
system in y, which has the same form, neither vanishes nor loses digits.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from deepprooflog.infer.tables.polynomial import System

Floats = NDArray[np.float64]

# Below this, numbers of a solution may have lost digits, or all of them: e⁻⁶⁹⁰ is 10⁻³⁰⁰.
LEAST = -690.0


def rescaled(system: System, weights: Floats, log: Floats) -> tuple[Floats, Floats] | None:
    """The weights w' and the shifts b where a solution is too small for floats; None elsewhere."""
    if not (log < LEAST).any():
        return None
    best = best_logs(system, weights.tolist())
    if not any(LEAST > b > -math.inf for b in best):
        return None
    full = [*best, 0.0]
    moved = [
        w + full[left] + full[right] - full[target]
        if min(w, full[target], full[left], full[right]) > -math.inf
        else -math.inf
        for w, target, left, right in zip(
            weights.tolist(), system.target, system.left, system.right, strict=True
        )
    ]
    return np.asarray(moved), np.asarray([b if b > -math.inf else 0.0 for b in best])


def best_logs(system: System, weights: Sequence[float]) -> list[float]:
    """The log weight of the best derivation of each unknown; −inf for one that has none.

    Weights are at most 1, so the best of what is left is final: Dijkstra's argument.
    """
    n = system.unknowns
    uses: list[list[int]] = [[] for _ in range(n)]
    waits = [0] * len(weights)
    value = list(weights)
    heap: list[tuple[float, int]] = []
    for p, w in enumerate(weights):
        for f in (system.left[p], system.right[p]):
            if f >= 0:
                uses[f].append(p)
                waits[p] += 1
        if not waits[p] and w > -math.inf:
            heap.append((-w, system.target[p]))
    heapq.heapify(heap)
    best = [-math.inf] * n
    while heap:
        cost, u = heapq.heappop(heap)
        if best[u] > -math.inf:
            continue
        best[u] = -cost
        for p in uses[u]:
            waits[p] -= 1
            value[p] -= cost
            target = system.target[p]
            if not waits[p] and value[p] > -math.inf and best[target] == -math.inf:
                heapq.heappush(heap, (-value[p], target))
    return best
