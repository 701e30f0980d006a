"""Sequential Monte Carlo over derivations: an unbiased estimate of p_success, and its gradient.

    w ← w · Z(G),   e ~ q(· | G)        each particle takes a locally normalised live step
    p ← p · mean(w),   w ← 1            where the effective sample size is below half: resample

At the end E[p] = p_success, whatever the number of particles, and for any function f of derivations

    E[ p · Σ_k W_k f(d_k) ] = Σ over successful derivations d of p(d) f(d)

with W the normalised weights of the surviving derivations d_k. So Σ_k W_k ∇ log p(d_k) estimates
∇ log p_success: the survivors are pseudo-labels. A look-ahead h tilts steps and resampling towards
goals of high h(G); the weights correct for it exactly.

A derivation may go on for ever with a weight that only falls. So that runs end, particles that have
taken many steps more than their distance to True die with probability 1 − Z(G) at each further
step, in place of losing weight: which leaves every expectation as it is.

Backward sampling: derivations drawn from the end through all particles that were kept.

    P(G_t = particle k | G_{t+1}) ∝ w_t^k · w(G_t^k → G_{t+1})

Resampling leaves few distinct beginnings among the survivors. The particles stored on the way have
many, and any of them with a step to the goal that follows may have come before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from deepprooflog.infer.particles.arena import (
    Arena,
    ArenaSource,
    LookAhead,
    StepGroups,
    effective_size,
    groups,
    log_mean,
    normalised,
    proposals,
    systematic,
    trace,
    ways,
)


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


# Steps beyond twice the distance to True after which particles die rather than lose weight.
PATIENCE = 100

# On a device that works ahead of the program, asking whether all is done costs a wait.
LOOK = 16


@dataclass(frozen=True)
class Survivors:
    """What the particles of a batch of queries found."""

    arena: Arena
    log_p: Float[Tensor, "queries"]  # the estimate; −inf where no particle reached True
    paths: Int[Tensor, "steps queries particles"]  # steps of each derivation; −1 when it is over
    weights: Float[Tensor, "queries particles"]  # W, normalised; all 0 where log_p is −inf
    effective: Float[Tensor, "queries"]  # effective sample size at the end
    resampled: Int[Tensor, "queries"]  # how often
    cut_off: Bool[Tensor, "queries particles"]  # stopped by max_steps, counted as weight 0

    def log_prob(self) -> Float[Tensor, "queries"]:
        """The estimate of log p_success, with the survivors' gradient.

        Its value is `log_p`, its gradient Σ_k W_k ∇ log p(d_k); both are −inf and 0 where no
        particle survived.
        """
        likely = self.pseudo_likelihood()
        return self.log_p.detach() + (likely - likely.detach())

    def pseudo_likelihood(self) -> Float[Tensor, "queries"]:
        """Σ_k W_k log p(d_k), differentiable.

        Where steps lead from one goal to one goal by several ways, d_k stands for all of them: what
        comes after cannot tell them apart, and their sum has the expected gradient of the draw.
        """
        own = ways(self.arena)
        own = torch.cat([own, own.new_zeros(1)])
        return (own[self.paths].sum(0) * self.weights).sum(1)


def smc(
    ground: ArenaSource,
    particles: int = 32,
    *,
    generator: torch.Generator | None = None,
    resample_below: float = 0.5,
    look_ahead: LookAhead | None = None,
    backward: bool = False,
    patience: int = PATIENCE,
    max_steps: int = 100_000,
    starts: Int[Tensor, "queries particles"] | None = None,
    horizon: int | None = None,
) -> Survivors:
    """Run K particles for each query until all have reached True or died.

    `resample_below` is the share of K the effective sample size may fall to: 0 never resamples
    (importance sampling), anything above 1 does at every step. `backward` draws the derivations
    anew from the end through all stored particles, which repairs what resampling merged.

    `starts` puts the particles at goals of your choice (−1: nowhere) in place of the roots; with
    a `horizon` of h steps all that are alive after h steps count as if they had reached True.
    """
    if starts is None:
        starts = ground.roots[:, None].expand(-1, particles)
    with torch.no_grad():
        run = _Run(ground, starts, generator, resample_below, look_ahead)
        return run.run(patience, max_steps, backward, horizon)


class _Run:
    """The particles of all queries: where they stand, their weights, and the way they came."""

    def __init__(
        self,
        ground: ArenaSource,
        starts: Int[Tensor, "queries particles"],
        generator: torch.Generator | None,
        resample_below: float,
        look_ahead: LookAhead | None,
    ) -> None:
        queries, particles = starts.shape
        self.ground = ground
        self.generator = generator
        self.look_ahead = look_ahead
        self.least = resample_below * particles
        self.device = starts.device
        self.nodes = starts.clamp_min(0).contiguous()
        self.same = torch.arange(particles, device=self.device).expand(starts.shape)
        self.log_w = torch.zeros(starts.shape, dtype=torch.float64, device=self.device)
        self.log_w = self.log_w.masked_fill(starts < 0, -torch.inf)
        self.height = torch.zeros_like(self.log_w)  # log h where each particle stands
        self.log_p = torch.zeros(queries, dtype=torch.float64, device=self.device)
        self.resampled = torch.zeros(queries, dtype=torch.int64, device=self.device)
        self.edges: list[Tensor] = []
        self.ancestors: list[Tensor] = []
        self.moments: list[Moment] = []
        self._arena: Arena | None = None

    def run(self, patience: int, max_steps: int, backward: bool, horizon: int | None) -> Survivors:
        arena, table, ahead = self._look()
        # Where all derivations end, none need die, and how many steps to take is known.
        masked, steps, asks = max_steps, max_steps, self.device.type == "cpu"
        if arena.longest is not None:
            steps = min(steps, arena.longest)
        else:
            masked, asks = patience + 2 * int(arena.distance.max()), True
        steps = steps if horizon is None else min(steps, horizon)
        if ahead is not None:
            self.height = ahead[self.nodes]
            self.log_w = self.log_w + self.height
        self._keep(backward)
        for step in range(steps):
            if asks and (self.device.type == "cpu" or step % LOOK == 0) and self._over(arena):
                break
            self._move(arena, table, ahead, mortal=step >= masked)
            self._keep(backward)
            self._resample(arena)
            arena, table, ahead = self._look()
        return self._end(arena, backward, horizon is not None)

    def _look(self) -> tuple[Arena, StepGroups, Tensor | None]:
        """What can be done from where the particles stand."""
        arena = self.ground.at(self.nodes)
        if arena is not self._arena:
            self._arena = arena
            self._ahead = None if self.look_ahead is None else self._tilt(arena)
            self._table = proposals(arena, self._ahead)
        return arena, self._table, self._ahead

    def _tilt(self, arena: Arena) -> Tensor:
        assert self.look_ahead is not None
        values = self.look_ahead(arena).detach().to(arena.weights.dtype)
        # −inf or NaN would bar live steps: no opinion is log 1.
        return torch.where(arena.true | ~values.isfinite(), 0.0, values)

    def _keep(self, backward: bool) -> None:
        if backward:
            self.moments.append(Moment(self.nodes, self.log_w - self.height))

    def _over(self, arena: Arena) -> bool:
        return bool((arena.true[self.nodes] | (self.log_w == -torch.inf)).all())

    def _uniform(self, *shape: int) -> Tensor:
        where = self.device if self.generator is None else self.generator.device
        drawn = torch.rand(shape, generator=self.generator, device=where, dtype=torch.float64)
        return drawn.to(self.device)

    def _move(self, arena: Arena, table: StepGroups, ahead: Tensor | None, *, mortal: bool) -> None:
        done = arena.true[self.nodes]
        # `mass` has h of the goals stepped to in it: log_w is at all times a weight times h(G).
        gain = torch.where(done, 0.0, table.mass[self.nodes] - self.height)
        if mortal:
            dies = self._uniform(*gain.shape) >= gain.exp()
            gain = torch.where(dies, -torch.inf, gain.clamp_min(0.0))
        self.log_w = self.log_w + gain
        moves = ~done & (self.log_w > -torch.inf)
        drawn = table.draw(self.nodes, self._uniform(*self.nodes.shape))
        self.edges.append(torch.where(moves, drawn, -1))
        if len(arena.target):
            target = arena.target[torch.where(moves, drawn, 0)]
            self.nodes = torch.where(moves, target, self.nodes)
        if ahead is not None:
            self.height = torch.where(moves, ahead[self.nodes], self.height)

    def _resample(self, arena: Arena) -> None:
        weights = normalised(self.log_w)
        over = arena.true[self.nodes] | (self.log_w == -torch.inf)
        # Where all have arrived the weights are final, and resampling would only add noise.
        low = (effective_size(weights) < self.least) & ~over.all(1)
        drawn = systematic(weights, self._uniform(len(weights)))
        parents = torch.where(low[:, None], drawn, self.same)
        self.ancestors.append(parents)
        self.log_p = self.log_p + torch.where(low, log_mean(self.log_w), 0.0)
        self.log_w = torch.where(low[:, None], 0.0, self.log_w)
        self.nodes = self.nodes.gather(1, parents)
        self.height = self.height.gather(1, parents)
        self.resampled = self.resampled + low

    def _end(self, arena: Arena, backward: bool, alive_is_enough: bool) -> Survivors:
        alive = self.log_w > -torch.inf
        done = alive if alive_is_enough else arena.true[self.nodes] & alive
        cut_off = alive & ~done
        log_w = self.log_w.masked_fill(~done, -torch.inf)
        log_p = self.log_p + log_mean(log_w)
        weights = normalised(log_w)
        effective = effective_size(weights)
        if not self.edges:
            paths = self.nodes.new_full((0, *self.nodes.shape), -1)
        elif backward:
            last = self.moments.pop()
            short = ~arena.true[last.nodes] & (not alive_is_enough)
            ended = last.log_w.masked_fill(short, -torch.inf)
            paths = sample_backward(
                arena, [*self.moments, Moment(last.nodes, ended)], self._uniform
            )
            found = (log_p > -torch.inf)[:, None]
            weights = torch.where(found, 1 / weights.shape[1], torch.zeros_like(weights))
        else:
            paths = trace(self.edges, self.ancestors)
        # What carries no weight must not carry an infinite log-weight either.
        paths = torch.where(weights > 0, paths, -1)
        return Survivors(arena, log_p, paths, weights, effective, self.resampled, cut_off)
