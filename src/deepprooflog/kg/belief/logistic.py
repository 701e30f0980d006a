"""Logistic regression of weighted examples in groups, by Newton's method.

    Σᵢ wᵢ · cross-entropy(yᵢ, σ(θ_g · xᵢ)) + ½ (θ_g − θ₀)ᵀ P (θ_g − θ₀)        for each group g

All groups are fitted at once; steps are halved until no group's loss rises.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float64, Int
from torch import Tensor
from torch.nn.functional import softplus

ITERATIONS = 100
AT_REST = 1e-10
# Rows whose outer products are held at once.
HELD = 1 << 16


def newton(
    x: Float64[Tensor, "n k"],
    target: Float64[Tensor, " n"],
    weight: Float64[Tensor, " n"],
    group: Int[Tensor, " n"],
    start: Float64[Tensor, "groups k"],
    prior: Float64[Tensor, "k k"],
) -> Float64[Tensor, "groups k"]:
    """The weights of all groups, from θ₀ on."""
    groups, width = start.shape
    theta = start.clone()

    def summed(values: Tensor) -> Tensor:
        return values.new_zeros(groups, *values.shape[1:]).index_add(0, group, values)

    def loss(lines: Tensor) -> Tensor:
        z = (x * lines[group]).sum(1)
        away = lines - start
        return summed(weight * (softplus(z) - target * z)) + (away @ prior * away).sum(1) / 2

    # A group without examples, or a constant column, leaves a direction open.
    ridge = 1e-9 * torch.eye(width, dtype=x.dtype, device=x.device)
    value = loss(theta)
    for _ in range(ITERATIONS):
        p = torch.sigmoid((x * theta[group]).sum(1))
        gradient = summed((weight * (p - target))[:, None] * x) + (theta - start) @ prior
        hessian = curvature(x, weight * p * (1 - p), group, groups) + prior + ridge
        step = torch.linalg.solve(hessian, gradient)
        length, value = halved(loss, theta, step, value)
        theta = theta - length[:, None] * step
        if float((length[:, None] * step).abs().max()) < AT_REST:
            break
    return theta


def halved(
    loss: Callable[[Tensor], Tensor],
    theta: Float64[Tensor, "groups k"],
    step: Float64[Tensor, "groups k"],
    value: Float64[Tensor, " groups"],
) -> tuple[Float64[Tensor, " groups"], Float64[Tensor, " groups"]]:
    """The lengths at which a step raises no group's loss, and the losses there."""
    length = torch.ones_like(value)
    for _ in range(40):
        found = loss(theta - length[:, None] * step)
        worse = found > value
        if not bool(worse.any()):
            return length, found
        length = torch.where(worse, length / 2, length)
    length = torch.where(worse, 0.0, length)
    return length, loss(theta - length[:, None] * step)


def curvature(
    x: Float64[Tensor, "n k"],
    weight: Float64[Tensor, " n"],
    group: Int[Tensor, " n"],
    groups: int,
) -> Float64[Tensor, "groups k k"]:
    """Σᵢ wᵢ xᵢ xᵢᵀ of each group."""
    width = x.shape[1]
    result = x.new_zeros(groups, width, width)
    parts = zip(x.split(HELD), weight.split(HELD), group.split(HELD), strict=True)  # type: ignore[no-untyped-call]
    for rows, own, which in parts:
        result.index_add_(0, which, (own[:, None] * rows)[:, :, None] * rows[:, None, :])
    return result


def mean_hessian(
    x: Float64[Tensor, "n k"], weight: Float64[Tensor, " n"], line: Float64[Tensor, "1 k"]
) -> Float64[Tensor, "k k"]:
    """The Hessian of one example's cross-entropy at some weights, on average."""
    p = torch.sigmoid((x * line).sum(1))
    share = weight * p * (1 - p) / weight.sum()
    return (share[:, None] * x).T @ x


def example_weights(
    true: Bool[Tensor, " n"], group: Int[Tensor, " n"], groups: int, base_rate: float
) -> Float64[Tensor, " n"]:
    """1 for a true example; what false ones weigh so that π of a group's weight is true."""
    empty = torch.zeros(groups, dtype=torch.float64, device=true.device)
    positive = empty.index_add(0, group, true.double())
    negative = empty.index_add(0, group, (~true).double())
    each = (1 - base_rate) / base_rate * positive / negative.clamp_min(1)
    return torch.where(true, torch.ones_like(each[group]), each[group])
