"""Monotone polynomial systems and their least solutions.

    x_i = Σ over productions p of i:  exp(w_p) · x_f · x_g         (none, one or two factors)

Components of the dependency graph are solved in order: a single unknown without a loop in log
space; a component in which each production has at most one factor of its own by elimination;
any other by Newton's method from 0 (`newton`). With each value comes a bound on its rounding error.

Least solutions below the range of floats, by a change of variables.

    x_u = exp(b_u) · y_u,     w'_p = w_p + b_f + b_g − b_u     for the production u ← p · f · g

b_u is the log weight of the best derivation of u (Knuth 1977), so that y_u is at least 1 and the
system in y, which has the same form, neither vanishes nor loses digits.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deepprooflog.errors import ProgramError
from deepprooflog.graph.schedule import strong_components
from deepprooflog.infer.cycles.elimination import UNIT, NoLimit, factor, solve_transposed
from deepprooflog.infer.cycles.ordering import order_states
from deepprooflog.infer.cycles.wide import normal, to_float
from deepprooflog.infer.tables.newton import Local, NoSolution, solve_linear, solve_newton
from deepprooflog.logic.choice import Choice

Floats = NDArray[np.float64]


@dataclass
class System:
    """Productions by target; a factor of −1 is none."""

    target: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    unknowns: int = 0

    def unknown(self) -> int:
        """A new unknown."""
        self.unknowns += 1
        return self.unknowns - 1

    def add(self, target: int, choice: Choice, left: int = -1, right: int = -1) -> None:
        """Add the production target ← choice · left · right."""
        self.target.append(target)
        self.choices.append(choice)
        self.left.append(left)
        self.right.append(right)


@dataclass(frozen=True)
class Block:
    """One component: its unknowns and their productions."""

    unknowns: list[int]
    productions: list[int]
    cyclic: bool


def blocks(system: System) -> list[Block]:
    """The components of a system, in an order in which they can be solved."""
    n = system.unknowns
    by_target: list[list[int]] = [[] for _ in range(n)]
    needs: list[list[int]] = [[] for _ in range(n)]
    for p, t in enumerate(system.target):
        by_target[t].append(p)
        for f in (system.left[p], system.right[p]):
            if f >= 0:
                needs[t].append(f)
    result = []
    for members in strong_components(needs):
        cyclic = len(members) > 1 or members[0] in needs[members[0]]
        result.append(Block(members, [p for m in members for p in by_target[m]], cyclic))
    return result


@dataclass(frozen=True)
class Solution:
    """The logarithms of a least solution, and bounds on what rounding changed of them."""

    log: Floats  # [unknowns]
    error: Floats  # [unknowns]


def solve(system: System, weights: Floats, order: list[Block] | None = None) -> Floats:
    """The log of the least solution; `weights` are the productions' log weights."""
    return solve_bounded(system, weights, order).log


def solve_bounded(system: System, weights: Floats, order: list[Block] | None = None) -> Solution:
    """The log of the least solution, with its rounding error."""
    solution = _solve_in_order(system, weights, order)
    again = rescaled(system, weights, solution.log)
    if again is None:
        return solution
    scaled, shift = again
    moved = _solve_in_order(system, scaled, order)
    # The shifts round every weight once more, by a share of their own size.
    size = 1 + float(np.abs(shift).max())
    return Solution(moved.log + shift, size * (moved.error + 8 * UNIT))


def _solve_in_order(system: System, weights: Floats, order: list[Block] | None) -> Solution:
    log = np.full(system.unknowns + 1, -math.inf)  # the last entry is the absent factor
    log[-1] = 0.0
    error = np.zeros(system.unknowns + 1)
    w, left, right = weights.tolist(), system.left, system.right
    for block in order if order is not None else blocks(system):
        if not block.cyclic:
            _sum_up(block, w, left, right, log, error)
            continue
        local = _localise(system, block, w, log, error)
        if local is None:
            continue
        try:
            found = (solve_linear if local.is_linear else solve_newton)(local)
        except NoSolution:
            raise _divergent(system, block) from None
        log[block.unknowns], error[block.unknowns] = found
    return Solution(log[:-1], error[:-1])


def _sum_up(
    block: Block, w: list[float], left: list[int], right: list[int], log: Floats, error: Floats
) -> None:
    items = [w[p] + log[left[p]] + log[right[p]] for p in block.productions]
    top = max(items, default=-math.inf)
    if top == -math.inf:
        return
    u = block.unknowns[0]
    log[u] = top + math.log(math.fsum(math.exp(i - top) for i in items))
    off = size = 0.0
    for p, item in zip(block.productions, items, strict=True):
        if item > -math.inf:
            off = max(off, error[left[p]] + error[right[p]])
            size = max(size, abs(w[p]) + abs(item))
    error[u] = off + (UNIT * (6 + size) if size or len(items) > 1 else 0.0)


def _localise(
    system: System, block: Block, w: list[float], log: Floats, error: Floats
) -> Local | None:
    """A component's polynomials over its own unknowns, everything else folded into constants."""
    position = {u: i for i, u in enumerate(block.unknowns)}
    rows: list[tuple[int, int, int, float]] = []
    given = [0.0] * len(position)
    for p in block.productions:
        i = position[system.target[p]]
        own: list[int] = []
        rest, off = w[p], abs(w[p]) + 1 if w[p] else 0.0
        for f in (system.left[p], system.right[p]):
            if f < 0:
                continue
            if f in position:
                own.append(position[f])
            else:
                rest += float(log[f])
                off += float(error[f]) / UNIT + abs(float(log[f]))
        if rest == -math.inf:
            continue
        given[i] = max(given[i], off)
        j, k, *_ = [*own, -1, -1]
        rows.append((i, j, k, rest))
    return Local.of(len(position), rows, np.asarray(given))


def gradient(
    system: System, order: list[Block], weights: Floats, log: Floats, flow: Floats
) -> Floats:
    """d(Σ flow · log x)/dw: one sweep against the order of solution; `flow` is used up."""
    full = np.append(log, 0.0)
    flow = np.append(flow, 0.0)
    out = np.zeros(len(weights))
    w, left, right = weights.tolist(), system.left, system.right
    for block in reversed(order):
        here = flow[block.unknowns]
        if not here.any():
            continue
        if not block.cyclic:
            u = block.unknowns[0]
            if full[u] == -math.inf:
                continue
            for p in block.productions:
                share = here[0] * math.exp(w[p] + full[left[p]] + full[right[p]] - full[u])
                out[p] = share
                flow[left[p]] += share
                flow[right[p]] += share
            continue
        _flow_through_block(system, block, w, full, flow, out)
    return out


def _flow_through_block(
    system: System, block: Block, w: list[float], full: Floats, flow: Floats, out: Floats
) -> None:
    position = {u: i for i, u in enumerate(block.unknowns)}
    log = full[block.unknowns]
    n = len(block.unknowns)
    # In log coordinates: d log x_i = Σ share_p (dw_p + Σ factors d log x_f), share_p = term/x_i.
    source: list[int] = []
    target: list[int] = []
    weight: list[float] = []
    shares = []
    for p in block.productions:
        i = position[system.target[p]]
        share = 0.0
        if log[i] > -math.inf:
            share = math.exp(w[p] + full[system.left[p]] + full[system.right[p]] - log[i])
        shares.append(share)
        for f in (system.left[p], system.right[p]):
            if f in position:
                source.append(i)
                target.append(position[f])
                weight.append(share)
    begin, end = np.asarray(source, dtype=np.int64), np.asarray(target, dtype=np.int64)
    inner = np.asarray(weight)
    escapes = np.asarray(1.0 - np.bincount(begin, inner, n), dtype=np.float64)
    try:
        factors = factor(
            order_states(n, begin, end), normal(inner[:, None], 0), normal(escapes[:, None], 0)
        )
    except NoLimit:
        raise ProgramError(
            "a recursion is critical (its derivations lose no weight on average), where its "
            "probability has no gradient",
            hint="start from other initial labels",
        ) from None
    visits = to_float(solve_transposed(factors, normal(flow[block.unknowns][:, None], 0)))[:, 0]
    for p, share in zip(block.productions, shares, strict=True):
        amount = visits[position[system.target[p]]] * share
        out[p] = amount
        for f in (system.left[p], system.right[p]):
            if f not in position:
                flow[f] += amount


def _divergent(system: System, block: Block) -> ProgramError:
    lines = {
        c.place.line
        for p in block.productions
        if (c := system.choices[p].clause) is not None and c.place is not None
    }
    where = f" (clauses at lines {', '.join(map(str, sorted(lines)))})" if lines else ""
    return ProgramError(
        f"the derivations go round a recursion without losing weight, so their sum has no "
        f"limit{where}",
        hint="label the recursive clauses, so that each turn has a probability below 1",
    )


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
