"""p_success of many queries at once: one sweep over weighed layers, from the last to the first.

    V(G) = Σ over the steps G → G' of  p(G' | G) · V(G'),     V(True) = 1,   V(open) = 0

Three masses come out of the same sweep: of all derivations that end in True, of those among them
that use no neural fact, and of those that budgets left open. Success is at least the first and at
most the first and the last together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from deepprooflog.relational.layers import Layers
from deepprooflog.relational.sweeps.sweep import MASS, at_roots, sweep


@dataclass(frozen=True)
class Mass:
    """Where the probability of each query goes."""

    success: Float[Tensor, " queries"]
    proof: Float[Tensor, " queries"]  # of it, by clauses alone
    open: Float[Tensor, " queries"]  # undecided within the budget

    @property
    def upper(self) -> Float[Tensor, " queries"]:
        """The most that success can be."""
        return (self.success + self.open).clamp_max(1.0)


def masses(
    layers: Layers,
    log_weights: Sequence[Float[Tensor, " _steps"]],
    neural: Sequence[Bool[Tensor, " _steps"]] | None = None,
) -> Mass:
    """The masses of the layers' queries, differentiable in the weights of their steps.

    `neural` says which steps are neural facts; None where there are none.
    """
    weights = [log.double().exp() for log in log_weights]
    success = at_roots(layers, sweep(layers, MASS, weights))
    proof = success
    if neural is not None:
        by_clause = [w.masked_fill(n, 0.0) for w, n in zip(weights, neural, strict=True)]
        proof = at_roots(layers, sweep(layers, MASS, by_clause))
    open_ = torch.zeros_like(success)
    if layers.cut:
        open_ = at_roots(layers, sweep(layers, MASS, weights, true=False, open=True))
    return Mass(success, proof, open_)
