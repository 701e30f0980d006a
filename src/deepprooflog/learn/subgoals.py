"""Learning on a query's own sub-goals: short runs of particles all along its derivations.

    loss = −Σ over windows of  log p̂(window),
    p(window) = mean over the goals G first met d steps from the root of
                the probability that h steps from G lead to goals that True can be reached from

A window of h steps begins at every h-th depth, at an offset drawn anew each time, and one at the
root, which overlaps the next. The sum is a composite likelihood: what one window says about the
next (the goal it ends in) is left out, all else of the query is used, and no run of particles is
longer than h steps. All windows of all queries run side by side, so that a derivation of hundreds
of steps costs what one of h does, and resampling has no long past to lose.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepprooflog.errors import ModelError
from deepprooflog.infer.particles.arena import Arena
from deepprooflog.infer.particles.prepare import ParticleBatch, arenas
from deepprooflog.infer.particles.smc import smc
from deepprooflog.model import Model


def subgoal_log_prob(
    model: Model,
    batch: ParticleBatch,
    particles: int = 32,
    *,
    horizon: int,
    select: Sequence[int] | Tensor | None = None,
    generator: torch.Generator | None = None,
) -> Float[Tensor, "queries"]:
    """Σ log p̂ of each query's windows, with the survivors' gradient; −inf if one has no survivor.

    >>> from deepprooflog.learn.smc import paths
    >>> from deepprooflog.logic.program import Program
    >>> model = Model(Program("t(0.3) :: p(a). t(0.7) :: p(b). q :- p(a), p(b)."))
    >>> value = subgoal_log_prob(model, paths(model, ["q"]), horizon=5)
    >>> round(value.exp().item(), 6)
    0.21

    Here one window covers the query. Only batches that are unfolded have goals by depth.
    """
    if horizon < 1:
        raise ModelError(f"horizon={horizon}: a window has at least one step")
    if batch.flat is None:
        raise ModelError(
            "learning on sub-goals needs queries that can be unfolded",
            hint="smc_loss on whole queries works for any",
        )
    ((_, ground),) = arenas(batch, model.weights, select)
    assert isinstance(ground, Arena)
    queries = len(ground.roots)
    depth = windows(ground, horizon, generator)
    starts = goals_at(ground, depth, particles, generator)
    found = smc(ground, particles, generator=generator, starts=starts, horizon=horizon)
    return found.log_prob().view(queries, -1).sum(1)


def windows(
    arena: Arena, horizon: int, generator: torch.Generator | None = None
) -> Int[Tensor, "queries windows"]:
    """The depths at which the windows of each query begin."""
    assert arena.levels is not None
    deepest = arena.levels.shape[1] - 2
    device = arena.levels.device
    if horizon > deepest:
        return torch.zeros((len(arena.levels), 1), dtype=torch.int64, device=device)
    offset = (_uniform(len(arena.levels), device, generator) * horizon).long()
    begin = torch.arange(-horizon, deepest + 1, horizon, device=device)
    # A shorter query has its last goals in several windows rather than windows with no goal.
    own = (arena.levels.diff(dim=1) > 0).sum(1, keepdim=True) - 1
    return torch.minimum((begin + offset).clamp_min(0), own.clamp_min(0))


def goals_at(
    arena: Arena,
    depth: Int[Tensor, "queries windows"],
    particles: int,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "runs particles"]:
    """Particles shared out evenly among the goals at each depth; −1 where there is none."""
    assert arena.levels is not None
    first = arena.levels.gather(1, depth).reshape(-1, 1)
    count = arena.levels.gather(1, depth + 1).reshape(-1, 1) - first
    turn = torch.arange(particles, device=first.device)
    place = (turn + _uniform(len(first), first.device, generator)) / particles * count
    spread = torch.where(count > 0, first + torch.minimum(place.long(), count - 1), -1)
    # A query that is True at once has no goals to start from, and no step to learn.
    at_once = (arena.roots == 0).repeat_interleave(depth.shape[1])[:, None]
    return torch.where(at_once, 0, spread)


def _uniform(
    rows: int, device: torch.device, generator: torch.Generator | None
) -> Float[Tensor, "rows 1"]:
    where = device if generator is None else generator.device
    return torch.rand((rows, 1), generator=generator, device=where).to(device)
