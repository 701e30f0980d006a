"""Monotone polynomial systems and their least solutions.

    x_i = Σ over productions p of i:  exp(w_p) · x_f · x_g         (none, one or two factors)

Components of the dependency graph are solved in order: a single unknown without a loop in log
space; a component in which each production has at most one factor of its own by a linear solve;
any other by Newton's method from 0, which converges to the least solution from below (Etessami and
Yannakakis 2009), linearly where the solution is a double root.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deepprooflog.errors import ProgramError
from deepprooflog.graph.components import strong_components
from deepprooflog.logic.choice import Choice

Floats = NDArray[np.float64]

# Newton halves the error at a double root: enough rounds to reach the square root of float64's
# precision, which is all that a double root holds.
ROUNDS = 200
STEP = 1e-15


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


def solve(system: System, weights: Floats, order: list[Block] | None = None) -> Floats:
    """The log of the least solution; `weights` are the productions' log weights."""
    log = np.full(system.unknowns + 1, -math.inf)  # the last entry is the absent factor
    log[-1] = 0.0
    w, left, right = weights.tolist(), system.left, system.right
    for block in order if order is not None else blocks(system):
        if not block.cyclic:
            items = [w[p] + log[left[p]] + log[right[p]] for p in block.productions]
            top = max(items, default=-math.inf)
            if top > -math.inf:
                total = math.fsum(math.exp(i - top) for i in items)
                log[block.unknowns[0]] = top + math.log(total)
        else:
            _solve_block(system, block, w, log)
    return log[:-1]


def _solve_block(system: System, block: Block, w: list[float], log: Floats) -> None:
    polynomial = _Local(system, block, w, log)
    if polynomial.top == -math.inf:
        return
    n = len(block.unknowns)
    x = np.zeros(n)
    linear = polynomial.linear
    for _ in range(1 if linear else ROUNDS):
        jacobian = polynomial.jacobian(x)
        residual = polynomial.value(x) - x
        try:
            step = np.linalg.solve(np.eye(n) - jacobian, np.stack([residual, np.ones(n)], axis=1))
        except np.linalg.LinAlgError:
            if linear:
                raise _divergent(system, block) from None
            break
        if linear and not (np.isfinite(step).all() and (step[:, 1] > 0).all()):
            raise _divergent(system, block)
        if not np.isfinite(step).all() or (step[:, 0] < -1e-9).any():
            break
        x = np.maximum(x + step[:, 0], x)
        if np.max(np.abs(step[:, 0]) / np.maximum(x, 1e-300), initial=0.0) < STEP:
            break
    if not linear and (np.abs(polynomial.value(x) - x) > 1e-6 * x).any():
        raise _divergent(system, block)
    with np.errstate(divide="ignore"):
        log[block.unknowns] = np.log(x) + (polynomial.top if linear else 0.0)


class _Local:
    """A component's polynomials over its own unknowns, everything else folded into constants."""

    def __init__(self, system: System, block: Block, w: list[float], log: Floats) -> None:
        position = {u: i for i, u in enumerate(block.unknowns)}
        self.n = len(block.unknowns)
        constants: list[tuple[int, float]] = []
        self.singles: list[tuple[int, int, float]] = []
        self.doubles: list[tuple[int, int, int, float]] = []
        for p in block.productions:
            i = position[system.target[p]]
            own = [position[f] for f in (system.left[p], system.right[p]) if f in position]
            rest = w[p] + sum(
                float(log[f])
                for f in (system.left[p], system.right[p])
                if f >= 0 and f not in position
            )
            if rest == -math.inf:
                continue
            if not own:
                constants.append((i, rest))
            elif len(own) == 1:
                self.singles.append((i, own[0], math.exp(rest)))
            else:
                self.doubles.append((i, own[0], own[1], math.exp(rest)))
        self._keep_productive({i for i, _ in constants})
        self.linear = not self.doubles
        self.top = max((c for _, c in constants), default=-math.inf)
        # A linear system may be scaled, so that probabilities below the range of floats survive.
        scale = self.top if self.linear else 0.0
        self.constant = np.zeros(self.n)
        for i, c in constants:
            self.constant[i] += math.exp(c - scale)

    def _keep_productive(self, found: set[int]) -> None:
        """Drop what no derivation ends in: it is 0, but would make the matrix singular."""
        grew = True
        while grew:
            more = {i for i, j, _ in self.singles if j in found}
            more |= {i for i, j, k, _ in self.doubles if j in found and k in found}
            grew = not more <= found
            found |= more
        self.singles = [s for s in self.singles if s[1] in found]
        self.doubles = [d for d in self.doubles if d[1] in found and d[2] in found]

    def value(self, x: Floats) -> Floats:
        result = self.constant.copy()
        for i, j, c in self.singles:
            result[i] += c * x[j]
        for i, j, k, c in self.doubles:
            result[i] += c * x[j] * x[k]
        return result

    def jacobian(self, x: Floats) -> Floats:
        result = np.zeros((self.n, self.n))
        for i, j, c in self.singles:
            result[i, j] += c
        for i, j, k, c in self.doubles:
            result[i, j] += c * x[k]
            result[i, k] += c * x[j]
        return result


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
    matrix = np.eye(n)
    shares = []
    for p in block.productions:
        i = position[system.target[p]]
        share = 0.0
        if log[i] > -math.inf:
            share = math.exp(w[p] + full[system.left[p]] + full[system.right[p]] - log[i])
        shares.append(share)
        for f in (system.left[p], system.right[p]):
            if f in position:
                matrix[i, position[f]] -= share
    try:
        visits = np.linalg.solve(matrix.T, flow[block.unknowns])
    except np.linalg.LinAlgError:
        raise ProgramError(
            "a recursion is critical (its derivations lose no weight on average), where its "
            "probability has no gradient",
            hint="start from other initial labels",
        ) from None
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
