"""Conjunctions of truth values in [0, 1], by name: t-norms over the last axis."""

from __future__ import annotations

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor


def product_norm(values: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch"]:
    """Πᵢ vᵢ."""
    return values.prod(-1)


def minimum_norm(values: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch"]:
    """minᵢ vᵢ, Gödel's.

    >>> import torch
    >>> minimum_norm(torch.tensor([0.5, 0.25])).item()
    0.25
    """
    return values.amin(-1)


def lukasiewicz_norm(values: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch"]:
    """max(0, 1 − Σᵢ (1 − vᵢ))."""
    return (1.0 - (1.0 - values).sum(-1)).clamp_min(0.0)


TNORMS: dict[str, Callable[[Tensor], Tensor]] = {
    "product": product_norm,
    "minimum": minimum_norm,
    "lukasiewicz": lukasiewicz_norm,
}
