"""Backward sampling: derivations drawn from the end through all particles that were kept.

    P(G_t = particle k | G_{t+1}) ∝ w_t^k · w(G_t^k → G_{t+1})

Resampling leaves few distinct beginnings among the survivors. The particles stored on the way have
many, and any of them with a step to the goal that follows may have come before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepprooflog.infer.particles.arena import Arena, StepGroups, groups


@dataclass(frozen=True)
class Moment:
    """All particles at one time, before their next step: where they stand, and their weights."""

    nodes: Int[Tensor, "queries particles"]
    log_w: Float[Tensor, "queries particles"]


@dataclass(frozen=True)
class Joined:
    """The steps between each two goals, so that w(G → G') is one look-up."""

    pairs: Int[Tensor, "pairs"]  # source · nodes + target, ascending
    nodes: int
    edges: Int[Tensor, "edges"]  # the arena's steps, by pair
    steps: StepGroups

    def find(
        self, source: Int[Tensor, "*shape"], target: Int[Tensor, "*shape"]
    ) -> tuple[Int[Tensor, "*shape"], Float[Tensor, "*shape"]]:
        """The pair of two goals and its log-weight: −inf where no step leads across."""
        wanted = (source * self.nodes + target).contiguous()
        place = torch.searchsorted(self.pairs, wanted).clamp_max(len(self.pairs) - 1)
        found = self.pairs[place] == wanted
        return place, torch.where(found, self.steps.mass[place], -torch.inf)


def joined(arena: Arena) -> Joined:
    """Sort an arena's steps by the two goals they join."""
    nodes = len(arena.begin)
    keys, order = torch.sort(arena.source * nodes + arena.target, stable=True)
    pairs, inverse, counts = torch.unique_consecutive(keys, return_inverse=True, return_counts=True)
    end = torch.cumsum(counts, 0)
    steps = groups(arena.weights.detach()[order], inverse, end - counts, end)
    return Joined(pairs, nodes, order, steps)


def sample_backward(
    arena: Arena, moments: Sequence[Moment], uniform: Callable[..., Tensor]
) -> Int[Tensor, "steps queries particles"]:
    """As many derivations as there are particles, drawn from the last moment to the first."""
    last = moments[-1]
    shape = last.nodes.shape
    paths: list[Tensor] = []
    now = last.nodes.gather(1, _pick(last.log_w[:, None, :], uniform(*shape)))
    if not len(arena.target):
        return now.new_full((len(moments) - 1, *shape), -1)
    between = joined(arena)
    for moment in reversed(moments[:-1]):
        before = moment.nodes[:, None, :].expand(*shape, -1)
        after = now[:, :, None].expand_as(before)
        pair, weight = between.find(before, after)
        # A derivation that is over stays at True.
        waits = arena.true[before] & (before == after)
        weight = torch.where(waits, 0.0, weight) + moment.log_w[:, None, :]
        chosen = _pick(weight, uniform(*shape))
        now = moment.nodes.gather(1, chosen)
        pair = pair.gather(2, chosen[:, :, None])[..., 0]
        edge = between.edges[between.steps.draw(pair, uniform(*shape))]
        paths.append(torch.where(arena.true[now], -1, edge))
    return torch.stack(paths[::-1])


def _pick(
    log_w: Float[Tensor, "queries some particles"], uniform: Float[Tensor, "queries paths"]
) -> Int[Tensor, "queries paths"]:
    """A particle for each path, in proportion to weight; any where all weigh nothing."""
    top = log_w.amax(2, keepdim=True)
    heights = torch.cumsum(torch.exp(log_w - torch.where(top > -torch.inf, top, 0.0)), 2)
    heights = torch.cummax(heights, 2).values
    heights = heights.expand(-1, uniform.shape[1], -1)
    high = heights[..., -1]
    point = torch.minimum(uniform * high, torch.nextafter(high, torch.zeros_like(high)))
    chosen = torch.searchsorted(heights.contiguous(), point[..., None].contiguous(), right=True)
    return chosen[..., 0].clamp_max(log_w.shape[2] - 1)
