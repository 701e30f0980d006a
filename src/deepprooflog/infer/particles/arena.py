"""What particles move on: goals as numbers, the live steps out of each, and how to draw one.

    q(e | G) = w(e) / Z(G),     Z(G) = Σ over the live steps e out of G of w(e)

A step is *live* when, as far as the structure shows, True can be reached behind it; a particle
draws among live steps only, and Z(G) is what that is worth. The steps of one goal stand next to
each other, so that any number of particles at any goals draw by one search in one sorted array.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from deepprooflog.score.segments import segment_logsumexp


@dataclass(frozen=True)
class Arena:
    """The goals of some queries and the live steps between them, weighed.

    The steps out of goal n are `begin[n]` … `end[n]` − 1; True has none, nor has a dead end.
    """

    roots: Int[Tensor, "queries"]  # −1 for a query without a derivation
    true: Bool[Tensor, "nodes"]
    begin: Int[Tensor, "nodes"]
    end: Int[Tensor, "nodes"]
    source: Int[Tensor, "edges"]
    target: Int[Tensor, "edges"]
    weights: Float[Tensor, "edges"]  # log-weights, differentiable
    distance: Int[Tensor, "nodes"]  # fewest steps to True; 0 where that is not known
    longest: int | None = None  # no derivation has more steps; None where that is not known
    # Where the goals first met d steps from the root of query q begin; the last columns their end.
    levels: Int[Tensor, "queries depths"] | None = None
    # The first of the steps from the same goal to the same goal; None where that is not known.
    twin: Int[Tensor, "edges"] | None = None

    def at(self, nodes: Int[Tensor, "queries particles"]) -> Arena:
        """The arena when particles stand at these goals: everything is known already."""
        return self


@runtime_checkable
class ArenaSource(Protocol):
    """Where particles can be put: an arena, or one that is found out as they go."""

    @property
    def roots(self) -> Tensor: ...

    def at(self, nodes: Int[Tensor, "queries particles"]) -> Arena: ...


def ways(arena: Arena) -> Float[Tensor, "edges"]:
    """log of the weight of all steps that lead where this one does, from where it does."""
    if arena.twin is None:
        return arena.weights
    return segment_logsumexp(arena.weights, arena.twin, len(arena.weights))[arena.twin]


LookAhead = Callable[[Arena], Tensor]
"""An estimate of log V of every goal of an arena, finite at live goals, for tilting the steps."""


@dataclass(frozen=True)
class StepGroups:
    """Items in groups, each with a weight; from each group an item can be drawn."""

    begin: Int[Tensor, "groups"]
    end: Int[Tensor, "groups"]
    mass: Float[Tensor, "groups"]  # log Z; −inf for a group with nothing to draw
    heights: Float[Tensor, "edges_and_one"]  # 0, then the running sum of normalised weights

    def draw(
        self, group: Int[Tensor, "*shape"], uniform: Float[Tensor, "*shape"]
    ) -> Int[Tensor, "*shape"]:
        """An item of each group, in proportion to weight, from numbers in [0, 1)."""
        low, high = self.heights[self.begin[group]], self.heights[self.end[group]]
        # Strictly below the top, so that rounding never leads to an item of weight 0.
        point = torch.minimum(low + uniform * (high - low), torch.nextafter(high, low))
        item = torch.searchsorted(self.heights[1:], point.contiguous(), right=True)
        return torch.minimum(item, (self.end[group] - 1).clamp_min(0))


def groups(
    weights: Float[Tensor, "edges"],
    group: Int[Tensor, "edges"],
    begin: Int[Tensor, "groups"],
    end: Int[Tensor, "groups"],
) -> StepGroups:
    """Items with log-weights, those of group g at `begin[g]` … `end[g]` − 1.

    >>> two = groups(torch.tensor([0.5, 0.5, 0.2]).log(), torch.tensor([0, 0, 1]),
    ...              torch.tensor([0, 2]), torch.tensor([2, 3]))
    >>> two.draw(torch.tensor([0, 0, 1]), torch.tensor([0.1, 0.9, 0.5])).tolist()
    [0, 1, 2]
    """
    mass = segment_logsumexp(weights, group, len(begin))
    share = torch.where(weights > -torch.inf, weights - mass[group], -torch.inf).double().exp()
    # A parallel running sum may step back by a rounding error; a search needs it sorted.
    heights = torch.cat([share.new_zeros(1), torch.cumsum(share, 0)])
    return StepGroups(begin, end, mass, torch.cummax(heights, 0).values)


def proposals(arena: Arena, ahead: Float[Tensor, "nodes"] | None = None) -> StepGroups:
    """The live steps of each goal, locally normalised; tilted by a look-ahead where one is given.

    q(e | G) ∝ w(e) · h(target of e)
    """
    weights = arena.weights.detach()
    if ahead is not None:
        weights = weights + ahead[arena.target]
    return groups(weights, arena.source, arena.begin, arena.end)


def steps_ahead(depth: int) -> LookAhead:
    """A look-ahead that sums the weights of all ways on for `depth` steps; no value is learned.

    Depth 0 is none; where derivations are shorter than `depth` it is log V itself.
    """

    def ahead(arena: Arena) -> Tensor:
        values = torch.zeros_like(arena.begin, dtype=arena.weights.dtype)
        for _ in range(depth):
            weights = arena.weights.detach() + values[arena.target]
            values = segment_logsumexp(weights, arena.source, len(arena.begin))
            values = torch.where(arena.true, 0.0, values)
        return values

    return ahead


def log_mean(log_weights: Float[Tensor, "queries particles"]) -> Float[Tensor, "queries"]:
    """log of the mean weight; −inf where all are 0."""
    return torch.logsumexp(log_weights, 1) - math.log(log_weights.shape[1])


def normalised(
    log_weights: Float[Tensor, "queries particles"],
) -> Float[Tensor, "queries particles"]:
    """Weights that sum to 1; all 0 where there is no weight."""
    total = torch.logsumexp(log_weights, 1, keepdim=True)
    return torch.where(total > -torch.inf, torch.exp(log_weights - total), 0.0)


def effective_size(
    weights: Float[Tensor, "queries particles"],
) -> Float[Tensor, "queries"]:
    """1 / Σ W², the effective sample size; 0 where there is no weight.

    >>> effective_size(torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])).tolist()
    [2.0, 1.0]
    """
    square = weights.square().sum(1)
    return torch.where(square > 0, 1 / square.clamp_min(1e-300), 0.0)


def systematic(
    weights: Float[Tensor, "queries particles"], uniform: Float[Tensor, "queries"]
) -> Int[Tensor, "queries particles"]:
    """Ancestors by systematic resampling: one random number a query, evenly spaced points.

    >>> systematic(torch.tensor([[0.5, 0.0, 0.5, 0.0]]), torch.tensor([0.5])).tolist()
    [[0, 0, 2, 2]]
    """
    count = weights.shape[1]
    heights = torch.cummax(torch.cumsum(weights, 1), 1).values
    top = heights[:, -1:]
    points = (torch.arange(count, device=weights.device) + uniform[:, None]) / count * top
    points = torch.minimum(points, torch.nextafter(top, torch.zeros_like(top)))
    return torch.searchsorted(heights, points.contiguous(), right=True).clamp_max(count - 1)


def trace(
    edges: Sequence[Int[Tensor, "queries particles"]],
    ancestors: Sequence[Int[Tensor, "queries particles"]],
) -> Int[Tensor, "steps queries particles"]:
    """The steps of each surviving particle's own derivation, followed back through resampling."""
    who = torch.arange(ancestors[-1].shape[1], device=ancestors[-1].device)
    who = who.expand_as(ancestors[-1])
    path = []
    for chosen, parents in zip(reversed(edges), reversed(ancestors), strict=True):
        who = parents.gather(1, who)
        path.append(chosen.gather(1, who))
    return torch.stack(path[::-1])
