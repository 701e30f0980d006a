"""Tabled inference as a differentiable function of the productions' log-weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
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
