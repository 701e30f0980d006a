"""Baselines: what a rollout is expected to return, learned along with the policy.

    V(G) = Σ over steps G → G' of w(step) · V(G')        V(True) = 1

A moving average knows one number; a value network reads features of the goal that any program has.
The network is also a look-ahead for particles: `smc_loss(..., look_ahead=value)`.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from deepprooflog.infer.particles.arena import Arena
from deepprooflog.score.segments import segment_logsumexp

FEATURES = 4


class MovingAverage(nn.Module):
    """The mean return so far, recent ones counting most.

    >>> average = MovingAverage(decay=0.5)
    >>> average.update(torch.tensor([1.0, 0.0]))
    >>> average.update(torch.tensor([1.0, 1.0]))
    >>> average.value().item()
    0.75
    """

    mean: Tensor
    seen: Tensor

    def __init__(self, decay: float = 0.9) -> None:
        super().__init__()
        self.decay = decay
        self.register_buffer("mean", torch.zeros((), dtype=torch.float64))
        self.register_buffer("seen", torch.zeros((), dtype=torch.bool))

    def value(self) -> Float[Tensor, ""]:
        """The expected return; 0 before the first."""
        return self.mean

    def update(self, returns: Float[Tensor, "..."]) -> None:
        """Take a batch of returns into account."""
        new = returns.detach().double().mean()
        mixed = self.decay * self.mean + (1 - self.decay) * new
        self.mean.copy_(torch.where(self.seen, mixed, new))
        self.seen.fill_(True)


class Value(nn.Module):
    """A value network: log V of every goal of an arena, from what can be seen from the goal.

    Its features are the logarithms of the weight of one step and of two steps on, of the number of
    live steps, and of the distance to True. log V is minus a positive cost for each step that is
    left, which is what the network learns.
    """

    def __init__(self, hidden: int = 32) -> None:
        super().__init__()
        self.cost = nn.Sequential(
            nn.Linear(FEATURES, hidden), nn.Tanh(), nn.Linear(hidden, 1), nn.Softplus()
        ).double()

    def forward(self, arena: Arena) -> Float[Tensor, "nodes"]:
        """log V of every goal; 0 for True."""
        left = arena.distance.clamp_min(1).double()
        log_v = -self.cost(features(arena)).squeeze(1) * left
        return torch.where(arena.true, 0.0, log_v)

    def loss(self, arena: Arena, nodes: Int[Tensor, "..."]) -> Float[Tensor, ""]:
        """How far log V of these goals is from one step of Bellman's equation, per step left."""
        log_v: Tensor = self(arena)
        weights = arena.weights.detach() + log_v.detach()[arena.target]
        target = segment_logsumexp(weights, arena.source, len(arena.begin))
        at = nodes.reshape(-1)
        at = at[(target[at] > -torch.inf) & ~arena.true[at]]
        if not len(at):
            return log_v.sum() * 0
        error: Tensor = (log_v[at] - target[at]) / arena.distance[at].clamp_min(1)
        return error.square().mean()


def features(arena: Arena) -> Float[Tensor, "nodes features"]:
    """What a value network reads of each goal, without gradients to the policy."""
    weights = arena.weights.detach()
    nodes = len(arena.begin)
    one = segment_logsumexp(weights, arena.source, nodes)
    one = torch.where(arena.true, 0.0, one)
    two = segment_logsumexp(weights + one[arena.target], arena.source, nodes)
    count = (arena.end - arena.begin).double()
    found = [one, two, torch.log1p(count), torch.log1p(arena.distance.double())]
    # A goal that was not looked at, or is a dead end, has no weights to see.
    return torch.stack([torch.where(f.isfinite(), f, 0.0) for f in found], 1)
