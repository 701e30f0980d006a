"""Generalised advantage estimation (Schulman et al. 2016) over episodes laid side by side.

    δ_t = r_t + γ V(G_{t+1}) − V(G_t)
    A_t = δ_t + γλ δ_{t+1} + (γλ)² δ_{t+2} + …          up to the end of the episode

λ = 1 gives the return less the baseline, λ = 0 the critic's own one-step estimate.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def gae(
    reward: Float[Tensor, "steps episodes"],
    value: Float[Tensor, "steps episodes"],
    next_value: Float[Tensor, "steps episodes"],
    over: Bool[Tensor, "steps episodes"],
    *,
    gamma: float = 1.0,
    lam: float = 0.95,
) -> Float[Tensor, "steps episodes"]:
    """A_t of each step.

    `next_value` is V(G_{t+1}) where the step led to, 0 where it ended in True or False; `over` says
    where an episode ended, so that nothing of the next one in the same row is counted in.

    >>> one = torch.ones(1, 1)
    >>> gae(one, 0.25 * one, 0 * one, one.bool()).item()
    0.75
    """
    delta = reward + gamma * next_value - value
    keep = gamma * lam * (~over).to(delta.dtype)
    found = torch.zeros_like(delta)
    later = torch.zeros_like(delta[0]) if len(delta) else delta.new_zeros(delta.shape[1:])
    for t in range(len(delta) - 1, -1, -1):
        later = delta[t] + keep[t] * later
        found[t] = later
    return found
