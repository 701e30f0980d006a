"""REINFORCE over derivations: the policy is the transition model, a rollout is a derivation.

    J(λ) = Σ over queries of (2y − 1) · p_success(q)                           the paper's objective

Rollouts are drawn from a behaviour μ. The *masked* policy draws among live steps only, so that
every rollout that the mask allows ends in True, and pays for it by the importance ratio

    μ(e | G) = w(e) / Z(G),      ρ = Π over the steps of Z(G) = π(rollout) / μ(rollout)

On the policy itself a rollout fails with the mass that live steps leave over, 1 − Z(G), and ρ is 1
(where unlabelled alternatives weigh more than 1 together, ρ takes up the excess). Either way
p_success = E[R] with the return R = ρ · [the rollout reached True], and

    ∇ p_success = E[ Σ_t (R − b) ∇ log μ(e_t | G_t) + R ∇ log ρ_t ]

for any baseline b that does not depend on e_t. Actor-critic puts the critic's estimate of what
follows, ρ_{≤t} · V(G_{t+1}), in the place of R.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from deepprooflog.errors import ModelError
from deepprooflog.infer.particles.arena import Arena, ArenaSource, log_mean, proposals
from deepprooflog.infer.particles.prepare import ParticleBatch, arenas
from deepprooflog.infer.particles.smc import PATIENCE
from deepprooflog.learn.baseline import MovingAverage, Value
from deepprooflog.learn.losses import History, Loss, log_complement
from deepprooflog.learn.smc import paths
from deepprooflog.model import GoalsLike, Model
from deepprooflog.score.segments import segment_logsumexp

Baseline = MovingAverage | Value | None

# Above this a ratio of returns is no longer a finite number.
MOST = 300.0


@dataclass(frozen=True)
class Reinforce:
    """The arguments of a run."""

    rollouts: int = 32
    """Derivations drawn for each query and update."""
    masked: bool = True
    """Draw from the masked policy and correct by importance weights; else from the policy."""
    objective: Literal["linear", "log"] = "linear"
    """The paper's (2y − 1) p, or the log-likelihood of the labels, whose gradient divides by p."""
    leave_one_out: bool = False
    """The other rollouts' mean return as baseline, when there is no learned one."""
    critic: bool = False
    """Actor-critic: bootstrap from the value network at every step."""
    value_weight: float = 0.5
    """Weight of the value network's own loss."""
    clip: float | None = None
    """The largest importance ratio let through: less variance, some bias."""
    patience: int = PATIENCE
    """Steps beyond twice the distance to True after which a rollout is drawn from the policy."""
    max_steps: int = 10_000
    """Steps after which a rollout is given up, as a failure."""
    epochs: int = 20
    """Passes over the queries (of `reinforce`)."""
    batch: int = 64
    """Queries in an update (of `reinforce`)."""
    lr: float = 3e-3
    """Adam's learning rate (of `reinforce`)."""
    seed: int = 0
    """Seed of rollouts and of the order of queries (of `reinforce`)."""


@dataclass(frozen=True)
class Rollouts:
    """Derivations drawn from the behaviour: T steps of K rollouts for each of Q queries."""

    arena: Arena
    nodes: Int[Tensor, "steps queries rollouts"]  # where each step was taken from
    edges: Int[Tensor, "steps queries rollouts"]  # which; −1 for none
    failed: Bool[Tensor, "steps queries rollouts"]  # failing was drawn in place of a step
    masked: int  # steps for which the mask was on
    last: Int[Tensor, "queries rollouts"]  # where each ended
    success: Bool[Tensor, "queries rollouts"]
    cut_off: Bool[Tensor, "queries rollouts"]  # by max_steps


@dataclass(frozen=True)
class ReinforceReport:
    """How the rollouts of an update fared."""

    returns: Float[Tensor, "queries"]  # mean R: an unbiased estimate of p_success
    succeeded: float  # share of rollouts that reached True
    lost: int  # queries none of whose rollouts did
    cut_off: int  # rollouts given up at max_steps
    value_loss: float


# -- 1. rollouts -----------------------------------------------------------------------------------


@torch.no_grad()
def rollouts(
    ground: ArenaSource, settings: Reinforce, generator: torch.Generator | None = None
) -> Rollouts:
    """Draw derivations from the masked policy or from the policy itself."""
    roots = ground.roots
    shape = (len(roots), settings.rollouts)
    at = roots.clamp_min(0)[:, None].expand(shape).contiguous()
    over = (roots < 0)[:, None].expand(shape)
    nodes, edges, fails = [], [], []
    arena = ground.at(at)
    table = proposals(arena)
    masked = settings.patience + 2 * int(arena.distance.max()) if settings.masked else 0
    for step in range(settings.max_steps):
        over = over | arena.true[at]
        if bool(over.all()):
            break
        mass = table.mass[at]
        fails_now = ~over & (mass == -torch.inf)
        if step >= masked:
            fails_now = fails_now | (~over & (_uniform(at, generator) >= mass.exp()))
        moves = ~over & ~fails_now
        drawn = table.draw(at, _uniform(at, generator))
        nodes.append(at)
        edges.append(torch.where(moves, drawn, -1))
        fails.append(fails_now)
        over = over | fails_now
        if len(arena.target):
            at = torch.where(moves, arena.target[torch.where(moves, drawn, 0)], at)
        known, arena = arena, ground.at(at)
        table = table if arena is known else proposals(arena)
    success = arena.true[at] & (roots >= 0)[:, None]
    none = at.new_zeros((0, *shape))
    return Rollouts(
        arena=arena,
        nodes=torch.stack(nodes) if nodes else none,
        edges=torch.stack(edges) if nodes else none,
        failed=torch.stack(fails) if nodes else none.bool(),
        masked=masked,
        last=at,
        success=success,
        cut_off=~over & ~success,
    )


def _uniform(like: Tensor, generator: torch.Generator | None) -> Tensor:
    where = like.device if generator is None else generator.device
    drawn = torch.rand(like.shape, generator=generator, device=where, dtype=torch.float64)
    return drawn.to(like.device)


# -- 2. the behaviour's log-probabilities and the importance ratio, step by step -------------------


@dataclass(frozen=True)
class RolloutSteps:
    """What an update needs of each step; 0 where a rollout is over."""

    log_mu: Float[Tensor, "steps queries rollouts"]  # log μ(e_t | G_t), differentiable
    log_rho: Float[Tensor, "steps queries rollouts"]  # log ρ_t, differentiable


def behaviour(drawn: Rollouts) -> RolloutSteps:
    """log μ and log ρ of each step drawn."""
    arena = drawn.arena
    mass = segment_logsumexp(arena.weights, arena.source, len(arena.begin))
    moved = drawn.edges >= 0
    log_z = torch.where(moved | drawn.failed, mass[drawn.nodes], 0.0)
    own = torch.cat([arena.weights, arena.weights.new_zeros(1)])[drawn.edges]
    masked = torch.arange(len(log_z), device=log_z.device)[:, None, None] < drawn.masked
    log_rho = torch.where(moved, torch.where(masked, log_z, log_z.clamp_min(0.0)), 0.0)
    log_mu = torch.where(moved, own - log_rho, 0.0)
    # A dead end fails for certain: log 1, and no gradient.
    chance = drawn.failed & (log_z > -torch.inf)
    left = log_complement(torch.where(chance, log_z, -1.0).clamp_max(0.0).reshape(-1))
    log_mu = torch.where(chance, left.reshape(log_z.shape), log_mu)
    return RolloutSteps(log_mu, log_rho)


# -- 3. returns, baselines and the surrogate whose gradient is the policy's ------------------------


def surrogate(
    drawn: Rollouts, steps: RolloutSteps, settings: Reinforce, baseline: Baseline
) -> tuple[Float[Tensor, "queries"], Float[Tensor, "queries"]]:
    """A value whose gradient estimates ∇p (or ∇ log p), and log of the mean return, by query."""
    log_rho = steps.log_rho.detach()
    before = torch.cumsum(log_rho, 0) - log_rho  # of the steps before each
    log_r = log_rho.sum(0).masked_fill(~drawn.success, -torch.inf)
    if settings.clip is not None:
        log_r = log_r.clamp_max(math.log(settings.clip))
    log_p = log_mean(log_r)
    # The log-likelihood's gradient is that of p divided by p: all returns in units of p̂.
    relative = settings.objective == "log"
    unit = torch.where((log_p > -torch.inf) & relative, log_p, 0.0)[None, :, None]
    # No return is more than K times the mean, so neither need a baseline or a critic be.
    most = math.log(settings.rollouts) if relative else MOST

    def scaled(log: Tensor) -> Tensor:
        return torch.exp((log - unit).clamp_max(most))

    gain = scaled(log_r[None]).expand_as(before)
    expected = torch.zeros_like(gain)
    if isinstance(baseline, Value):
        with torch.no_grad():
            log_v = baseline(drawn.arena)
        expected = scaled(before + log_v[drawn.nodes])
        if settings.critic:
            log_v = torch.where(_dead_ends(drawn.arena), -torch.inf, log_v)
            gain = scaled(before + log_rho + log_v[_next(drawn)]) * (drawn.edges >= 0)
    elif isinstance(baseline, MovingAverage):
        expected = scaled(baseline.value().log().expand_as(gain))
    elif settings.leave_one_out and settings.rollouts > 1:
        total = gain.sum(2, keepdim=True)
        expected = (total - gain) / (settings.rollouts - 1)
    loss = (gain - expected) * steps.log_mu + gain * steps.log_rho
    return loss.sum(0).mean(1), log_p


def _dead_ends(arena: Arena) -> Tensor:
    return ~arena.true & (arena.begin == arena.end)


def _next(drawn: Rollouts) -> Tensor:
    """The goal that follows each step."""
    return torch.cat([drawn.nodes[1:], drawn.last[None]]) if len(drawn.nodes) else drawn.nodes


# -- 4. the loss of a batch ------------------------------------------------------------------------


def reinforce_loss(
    model: Model,
    goals: GoalsLike | ParticleBatch,
    settings: Reinforce | None = None,
    *,
    baseline: Baseline = None,
    y: Sequence[float] | Tensor | None = None,
    select: Sequence[int] | Tensor | None = None,
    generator: torch.Generator | None = None,
) -> Loss:
    """A loss to minimise, the estimates of log p_success, and how the rollouts fared.

    `y` are the labels of the (selected) queries, 1 by default. Only the loss's gradient means
    something; what it estimates is in the report. A `Value` baseline is trained by the same loss.

    >>> from deepprooflog.logic.program import Program
    >>> model = Model(Program("t(0.3) :: p(a). t(0.7) :: p(b). q :- p(a)."))
    >>> found = reinforce_loss(model, ["q"])
    >>> round(found.log_prob.exp().item(), 6), found.diagnostics.succeeded
    (0.3, 1.0)
    """
    settings = settings or Reinforce()
    if settings.critic and not isinstance(baseline, Value):
        raise ModelError("actor-critic needs a critic", hint="baseline=Value()")
    batch = goals if isinstance(goals, ParticleBatch) else paths(model, goals)
    values, logs, drawn_all, places = [], [], [], []
    value_loss = model.labels.logits.new_zeros(())
    for where, ground in arenas(batch, model.weights, select):
        drawn = rollouts(ground, settings, generator)
        steps = behaviour(drawn)
        value, log_p = surrogate(drawn, steps, settings, baseline)
        if isinstance(baseline, Value):
            value_loss = value_loss + baseline.loss(drawn.arena, drawn.nodes)
        values.append(value)
        logs.append(log_p)
        drawn_all.append(drawn)
        places.append(torch.as_tensor(where, device=log_p.device))
    order = torch.argsort(torch.cat(places))
    value, log_p = torch.cat(values)[order], torch.cat(logs)[order].detach()
    returns = log_p.exp()
    if isinstance(baseline, MovingAverage):
        baseline.update(returns)
    loss = -(_signs(y, log_p, settings) * value).mean() + settings.value_weight * value_loss
    tries = sum(d.success.numel() for d in drawn_all)
    report = ReinforceReport(
        returns=returns,
        succeeded=sum(int(d.success.sum()) for d in drawn_all) / tries,
        lost=int((log_p == -torch.inf).sum()),
        cut_off=sum(int(d.cut_off.sum()) for d in drawn_all),
        value_loss=float(value_loss.detach()),
    )
    return Loss(loss, log_p, report)


def _signs(y: Sequence[float] | Tensor | None, log_p: Tensor, settings: Reinforce) -> Tensor:
    """2y − 1; under the log-likelihood a negative query's gradient divides by 1 − p, not by p."""
    if y is None:
        return torch.ones_like(log_p)
    labels = torch.as_tensor(y, device=log_p.device).to(log_p)
    if settings.objective == "linear":
        return 2 * labels - 1
    p = log_p.exp().clamp_max(1 - 1e-6)
    return torch.where(labels == 1, 1.0, -p / (1 - p))


# -- 5. a run --------------------------------------------------------------------------------------


def reinforce(
    model: Model,
    goals: GoalsLike | ParticleBatch,
    settings: Reinforce | None = None,
    *,
    baseline: Baseline = None,
    y: Sequence[float] | Tensor | None = None,
    callback: Callable[[int, float], object] | None = None,
) -> History:
    """Train a model by REINFORCE; the history's losses are minus the mean return of each epoch.

    After each epoch `callback` gets its number and its mean return, and may end the run by True.

    >>> from deepprooflog.logic.program import Program
    >>> model = Model(Program("t(0.5) :: p(a). t(0.5) :: p(b). q :- p(a)."))
    >>> history = reinforce(model, ["q"], Reinforce(epochs=200, lr=0.1))
    >>> model.prob("q") > 0.95
    True
    """
    began, settings = time.perf_counter(), settings or Reinforce()
    batch = goals if isinstance(goals, ParticleBatch) else paths(model, goals)
    labels = None if y is None else torch.as_tensor(y)
    own = [] if baseline is None else list(baseline.parameters())
    optimizer = torch.optim.Adam([*model.parameters(), *own], lr=settings.lr)
    generator = torch.Generator().manual_seed(settings.seed)
    returns: list[float] = []
    for epoch in range(settings.epochs):
        total = 0.0
        order = torch.randperm(len(batch), generator=generator)
        for begin in range(0, len(batch), settings.batch):
            which = order[begin : begin + settings.batch]
            found = reinforce_loss(
                model, batch, settings, baseline=baseline, select=which, generator=generator,
                y=None if labels is None else labels[which],
            )  # fmt: skip
            optimizer.zero_grad()
            found.loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            total += float(found.diagnostics.returns.sum())
        returns.append(total / len(batch))
        if callback is not None and callback(epoch, returns[-1]) is True:
            break
    losses = tuple(-value for value in returns)
    return History(losses, False, 0, time.perf_counter() - began)
