"""Σᵢ |xᵢ − yᵢ| over complex vectors, for every pair of a question and an entity.

The differences of all pairs are far larger than vectors and result. On a CPU they are made block by
block, small enough for the cache, and made again for the gradient; elsewhere plain operations are
left to the compiler to fuse.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

# Squared moduli below this count as 0 for the gradient, which has no limit there.
TINY = 1e-24
# Real numbers in a block of differences.
BLOCK = 1 << 17


def modulus_distance(
    x: Float[Tensor, "group rows width"], y: Float[Tensor, "group n width"]
) -> Float[Tensor, "group rows n"]:
    """Sums of complex moduli of the differences; vectors are real parts, then imaginary ones.

    >>> modulus_distance(torch.tensor([[[3.0, 4.0]]]), torch.zeros(1, 1, 2)).item()
    5.0
    """
    if x.device.type != "cpu":
        return plain_distance(x, y)
    result: Tensor = _Blocked.apply(x, y)  # type: ignore[no-untyped-call]
    return result


def plain_distance(
    x: Float[Tensor, "group rows width"], y: Float[Tensor, "group n width"]
) -> Float[Tensor, "group rows n"]:
    """The definition, with all differences at once."""
    (a, b), (c, d) = x[:, :, None].chunk(2, -1), y[:, None].chunk(2, -1)
    squared = (a - c).square() + (b - d).square()
    return squared.clamp_min(TINY).sqrt().sum(-1)


class _Blocked(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        ctx.save_for_backward(x, y)
        out = x.new_empty(x.shape[0], x.shape[1], y.shape[1])
        for g, r in _blocks(x, y):
            real, imaginary = _differences(x[g, r], y[g])
            out[g, r] = _moduli(real, imaginary).sum(-1)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        x, y = ctx.saved_tensors
        half = x.shape[-1] // 2
        to_x, to_y = torch.empty_like(x), torch.zeros_like(y)
        for g, r in _blocks(x, y):
            real, imaginary = _differences(x[g, r], y[g])
            scale = grad[g, r, :, None] / _moduli(real, imaginary)
            for part, own in ((real, slice(0, half)), (imaginary, slice(half, None))):
                part *= scale
                to_x[g, r, own] = part.sum(2)
                to_y[g, :, own] -= part.sum(1) if part.shape[1] > 1 else part[:, 0]
        return to_x, to_y


def _blocks(x: Tensor, y: Tensor) -> Iterator[tuple[slice, slice]]:
    """Ranges of groups and of rows whose differences fill about one block."""
    groups, count, width = x.shape
    row = max(1, y.shape[1] * width // 2)
    many = max(1, BLOCK // (row * max(1, count)))
    few = max(1, BLOCK // row) if many == 1 else max(1, count)
    for g in range(0, groups, many):
        for r in range(0, count, few):
            yield slice(g, g + many), slice(r, r + few)


def _differences(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    (a, b), (c, d) = x[:, :, None].chunk(2, -1), y[:, None].chunk(2, -1)
    return a - c, b - d


def _moduli(real: Tensor, imaginary: Tensor) -> Tensor:
    return torch.addcmul(real * real, imaginary, imaginary).clamp_min_(TINY).sqrt_()
