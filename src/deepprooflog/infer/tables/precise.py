"""Polynomial systems in sixty decimal digits, for recursions whose derivations hardly lose weight.

Where a branching process is nearly critical a rounding in the sixteenth digit of its labels moves
the solution in the eighth. There the system is solved once more, from the labels as they are
written: as fractions; learned ones as the softmax they come from, which adds up to 1 exactly. The
method is the same, Newton's from 0, and so is the bound on its error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext

import numpy as np

from deepprooflog.errors import ProgramError
from deepprooflog.infer.cycles.scalar import eliminate
from deepprooflog.infer.cycles.wide import Floats
from deepprooflog.infer.tables.newton import productive
from deepprooflog.infer.tables.polynomial import Block, Solution, System, blocks, solve_bounded
from deepprooflog.logic.choice import Choice, WeightSource
from deepprooflog.logic.clause import Constant

# Digits, and how many more labels with long denominators may ask for.
DIGITS = 60
MOST_DIGITS = 1000
# The error from which on a solution in floats is not good enough.
ENOUGH = 1e-10
# Systems of more unknowns, and with larger components, are left as floats have them.
MOST = 20_000
LARGEST = 200
# Newton's steps that end it, relative to x: what is left is about as much, at a double root too.
LAST = Decimal("1e-24")
ROUNDS = 200

PreciseRow = tuple[int, int, int, Decimal]


def solve_closely(system: System, weights: Floats, order: list[Block] | None = None) -> Solution:
    """The least solution in floats, or in sixty digits where floats are not enough for it."""
    order = order if order is not None else blocks(system)
    try:
        found = solve_bounded(system, weights, order)
    except ProgramError:
        # Without limit in floats may be close to it in truth.
        close = _in_digits(system, weights, order)
        if close is None:
            raise
        return close
    if not (found.error > ENOUGH).any():
        return found
    return _in_digits(system, weights, order) or found


def _in_digits(system: System, weights: Floats, order: list[Block]) -> Solution | None:
    largest = max((len(b.unknowns) for b in order if b.cyclic), default=0)
    if system.unknowns > MOST or largest > LARGEST:
        return None
    labels = [c.clause.label for c in system.choices if c.clause is not None]
    longest = max(
        (v.value.denominator.bit_length() for v in labels if isinstance(v, Constant)), default=0
    )
    digits = min(DIGITS + longest // 2, MOST_DIGITS)
    with localcontext(Context(prec=digits)):
        return _solve(system, order, written_weights(system.choices, weights), digits)


def written_weights(choices: Sequence[Choice], logs: Floats) -> list[Decimal]:
    """The weights of choices as they are meant, in the digits of the current context."""
    result = []
    members: dict[object, dict[object, Decimal]] = {}
    keys: list[tuple[object, object] | None] = []
    for choice, log in zip(choices, logs.tolist(), strict=True):
        label = None if choice.clause is None else choice.clause.label
        if isinstance(label, Constant):
            weight = Decimal(label.value.numerator) / Decimal(label.value.denominator)
            key = None
        else:
            weight = Decimal(log).exp() if log > -math.inf else Decimal(0)
            key = _distribution(choice)
        if key is not None:
            members.setdefault(key[0], {})[key[1]] = weight
        keys.append(key)
        result.append(weight)
    sums = {group: sum(own.values(), Decimal(0)) for group, own in members.items()}
    for n, key in enumerate(keys):
        # Weights that add up to 1 but for the roundings of floats are all of a softmax.
        if key is not None and abs(sums[key[0]] - 1) < Decimal("1e-13"):
            result[n] /= sums[key[0]]
    return result


def _distribution(choice: Choice) -> tuple[object, object] | None:
    """The softmax that weighs a choice, and which of its entries this is."""
    if choice.clause is None:
        return None
    if choice.weigher is WeightSource.TRAINABLE:
        return choice.clause.functor, id(choice.clause)
    if choice.weigher is WeightSource.NEURAL:
        return (id(choice.clause), choice.inputs), choice.number
    return None


def _solve(
    system: System, order: list[Block], weights: list[Decimal], digits: int
) -> Solution | None:
    # What rounding hides, relative to a sum of some hundred products.
    hidden = Decimal(10) ** (4 - digits)
    x = [Decimal(0)] * system.unknowns + [Decimal(1)]
    error = [0.0] * (system.unknowns + 1)
    left, right = system.left, system.right
    for block in order:
        before = max(
            (error[f] for p in block.productions for f in (left[p], right[p])), default=0.0
        )
        if not block.cyclic:
            u = block.unknowns[0]
            items = (weights[p] * x[left[p]] * x[right[p]] for p in block.productions)
            x[u] = sum(items, Decimal(0))
            error[u] = 2 * before
            continue
        found = _component(system, block, weights, x, Decimal(4 * before) + hidden)
        if found is None:
            return None
        for u, value, off in zip(block.unknowns, *found, strict=True):
            x[u], error[u] = value, off
    log = np.asarray([_log(value) for value in x[:-1]])
    rounded = np.where(np.isfinite(log), np.abs(log) + 1, 0.0) * 2.0**-53
    return Solution(log, np.asarray(error[:-1]) + rounded)


def _component(
    system: System, block: Block, weights: list[Decimal], x: list[Decimal], hidden: Decimal
) -> tuple[list[Decimal], list[float]] | None:
    """x and its relative error on a cyclic component; None where the method does not end."""
    position = {u: i for i, u in enumerate(block.unknowns)}
    rows: list[PreciseRow] = []
    for p in block.productions:
        own: list[int] = []
        rest = weights[p]
        for f in (system.left[p], system.right[p]):
            if f in position:
                own.append(position[f])
            elif f >= 0:
                rest *= x[f]
        if rest:
            j, k, *_ = [*own, -1, -1]
            rows.append((position[system.target[p]], j, k, rest))
    n = len(position)
    rows = productive(n, rows)
    y = [Decimal(0)] * n
    if not rows:
        return y, [0.0] * n
    step = y
    for _ in range(ROUNDS):
        found = _newton(n, rows, y, [v - own for v, own in zip(_value(n, rows, y), y, strict=True)])
        if found is None:
            return None
        step = [max(s, Decimal(0)) for s in found]
        y = [own + s for own, s in zip(y, step, strict=True)]
        if all(s <= LAST * own for s, own in zip(step, y, strict=True)):
            break
    else:
        return None
    # Newton halves its distance at a double root, and does better elsewhere; what came with the
    # coefficients and what rounding hides is handed on by (I − J)⁻¹.
    spread = _newton(n, rows, y, [hidden * v for v in _value(n, rows, y)])
    if spread is None:
        return None
    error = [
        float(2 * (abs(q) + 2 * s) / own) if own else 0.0
        for own, s, q in zip(y, step, spread, strict=True)
    ]
    return y, error


def _value(n: int, rows: list[PreciseRow], x: list[Decimal]) -> list[Decimal]:
    result = [Decimal(0)] * n
    for i, j, k, c in rows:
        result[i] += c if j < 0 else c * x[j] if k < 0 else c * x[j] * x[k]
    return result


def _newton(
    n: int, rows: list[PreciseRow], x: list[Decimal], right: list[Decimal]
) -> list[Decimal] | None:
    """(I − J(x))⁻¹ right."""
    steps: list[tuple[int, int, Decimal]] = []
    for i, j, k, c in rows:
        if k >= 0:
            steps += [(i, j, c * x[k]), (i, k, c * x[j])]
        elif j >= 0:
            steps.append((i, j, c))
    escapes = [Decimal(1)] * n
    for i, _, w in steps:
        escapes[i] -= w
    found = eliminate(steps, escapes, right)
    return None if found is None else found[0]


def _log(value: Decimal) -> float:
    if not value:
        return -math.inf
    number = float(value)
    return math.log(number) if 1e-300 < number < 1e300 else float(value.ln())
