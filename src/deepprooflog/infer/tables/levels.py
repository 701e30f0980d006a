"""Tables without cycles, solved level by level for a whole batch of weights at once.

    x_i = Σ over productions p of i:  exp(w_p) · x_f · x_g        f and g of lower levels than i

Queries that differ only in their tensors share their tables; each has a column of weights. Most
grammars and folds have no cycle among their items: then a level is one sum over arrays, in log
space, and its gradient one sweep back. Systems with cycles are solved column by column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from deepprooflog.infer.graphs.exact import refuse_second_derivatives
from deepprooflog.infer.tables.polynomial import Block, System, blocks, gradient
from deepprooflog.infer.tables.precise import solve_closely


def tabled_log_values(
    system: System, weights: Float[Tensor, "productions"]
) -> Float[Tensor, "unknowns"]:
    """log x, the least solution of a polynomial system, differentiable by implicit functions."""
    values: Tensor = _Solve.apply(weights, system, blocks(system))  # type: ignore[no-untyped-call]
    return values


class _Solve(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, system: System, order: list[Block]) -> Tensor:
        w = weights.detach().double().cpu().numpy()
        log = solve_closely(system, w, order).log
        ctx.system, ctx.order, ctx.weights, ctx.log = system, order, w, log
        return torch.as_tensor(log, device=weights.device)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        refuse_second_derivatives()
        flow = np.nan_to_num(grads[0].detach().double().cpu().numpy())
        out = gradient(ctx.system, ctx.order, ctx.weights, ctx.log, flow)
        return torch.as_tensor(out, device=grads[0].device), None, None


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class TableLevel:
    """Productions of one level, grouped by target."""

    productions: Ints  # [P]
    left: Ints  # [P] unknowns; the one past the last is the absent factor, which is 1
    right: Ints  # [P]
    target: Ints  # [P] number into `unknowns`
    starts: Ints  # [T] where a target's productions begin
    unknowns: Ints  # [T]


@dataclass(frozen=True)
class Levels:
    """A system without cycles, in the order of solution."""

    unknowns: int
    levels: tuple[TableLevel, ...]


def levels_of(system: System) -> Levels | None:
    """The levels of a system; None when it has a cycle."""
    level = [0] * system.unknowns
    members: list[list[int]] = []
    productions: list[list[int]] = []
    for block in blocks(system):
        if block.cyclic:
            return None
        (unknown,) = block.unknowns
        if not block.productions:
            continue
        factors = [f for p in block.productions for f in (system.left[p], system.right[p])]
        own = level[unknown] = 1 + max((level[f] for f in factors if f >= 0), default=-1)
        while len(members) <= own:
            members.append([])
            productions.append([])
        members[own].append(unknown)
        productions[own].extend(block.productions)
    # The factor −1, none at all, becomes the unknown past the last.
    left, right = (np.asarray(a) % (system.unknowns + 1) for a in (system.left, system.right))
    target = np.asarray(system.target)
    result = []
    for unknowns, some in zip(members, productions, strict=True):
        # Blocks hand over a target's productions together.
        rows = np.asarray(some, dtype=np.int64)
        starts = np.flatnonzero(np.diff(target[rows], prepend=-1))
        place = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(rows))))
        own_unknowns = np.asarray(unknowns, dtype=np.int64)
        result.append(TableLevel(rows, left[rows], right[rows], place, starts, own_unknowns))
    return Levels(system.unknowns, tuple(result))


def level_log_values(
    levels: Levels, weights: Float[Tensor, "productions batch"]
) -> Float[Tensor, "unknowns batch"]:
    """log x for each column of log-weights, differentiable."""
    values: Tensor = _Sweep.apply(weights, levels)  # type: ignore[no-untyped-call]
    return values


class _Sweep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, levels: Levels) -> Tensor:
        w = weights.detach().double().cpu().numpy()
        x = np.full((levels.unknowns + 1, w.shape[1]), -np.inf)
        x[-1] = 0.0
        for level in levels.levels:
            items = w[level.productions] + x[level.left] + x[level.right]
            top = np.maximum.reduceat(items, level.starts, axis=0)
            top[top == -np.inf] = 0.0
            sums = np.add.reduceat(np.exp(items - top[level.target]), level.starts, axis=0)
            with np.errstate(divide="ignore"):
                x[level.unknowns] = top + np.log(sums)
        ctx.levels, ctx.weights, ctx.x = levels, w, x
        return torch.as_tensor(x[:-1], device=weights.device)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        refuse_second_derivatives()
        w, x = ctx.weights, ctx.x
        flow = np.zeros_like(x)
        flow[:-1] = np.nan_to_num(grads[0].detach().double().cpu().numpy())
        out = np.zeros_like(w)
        for level in reversed(ctx.levels.levels):
            value = x[level.unknowns][level.target]
            value[value == -np.inf] = np.inf
            items = w[level.productions] + x[level.left] + x[level.right]
            share = np.exp(items - value) * flow[level.unknowns][level.target]
            out[level.productions] = share
            np.add.at(flow, level.left, share)
            np.add.at(flow, level.right, share)
        return torch.as_tensor(out, device=grads[0].device), None
