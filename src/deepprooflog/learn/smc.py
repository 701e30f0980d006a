"""Learning from particles: −log p̂ of a batch, with the gradient of the surviving derivations.

    loss = −(1/Q) Σ over queries of  log p̂(q),      ∇ log p̂ = Σ_k W_k ∇ log p(d_k)

The estimate is unbiased for p, not for log p; its gradient is biased for few particles and right in
the limit of many. `smc_log_prob` gives the estimates themselves, for any loss on log p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from deepprooflog.graph.unfold.way_table import Ints
from deepprooflog.infer.batches.bank import Select
from deepprooflog.infer.particles.arena import LookAhead
from deepprooflog.infer.particles.prepare import Form, ParticleBatch, arenas, prepare
from deepprooflog.infer.particles.smc import Survivors, smc
from deepprooflog.learn.losses import Loss
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.model import GoalsLike, Model


@dataclass(frozen=True)
class Diagnostics:
    """How the particles fared, query by query."""

    effective: Float[Tensor, "queries"]  # effective sample size at the end
    resampled: Int[Tensor, "queries"]  # how often
    steps: int  # of the longest derivation
    reached: Bool[Tensor, "queries"]  # at least one particle reached True
    provable: Bool[Tensor, "queries"]  # has a derivation, as far as the structure shows
    stopped: Bool[Tensor, "queries particles"]  # by max_steps

    @property
    def lost(self) -> int:
        """Queries none of whose particles reached True: they teach nothing."""
        return int((~self.reached).sum())

    @property
    def unprovable(self) -> int:
        """Of these, the ones that have no derivation at all, as the structure shows."""
        return int((~self.provable).sum())

    @property
    def cut_off(self) -> int:
        """Particles stopped by max_steps: the estimate is too low by what they hold."""
        return int(self.stopped.sum())


def paths(
    model: Model, goals: GoalsLike, budget: Budget | None = None, form: Form = "auto"
) -> ParticleBatch:
    """Unfold a batch of goals once, for `smc_loss` and `reinforce_loss` to use many times."""
    queries = model.queries(goals)
    unfolding = model.scorer.weighs_one
    return prepare(model.program, queries, unfolding=unfolding, budget=budget, form=form)


def smc_log_prob(
    model: Model,
    goals: GoalsLike | ParticleBatch,
    particles: int = 32,
    *,
    select: Select | None = None,
    generator: torch.Generator | None = None,
    resample_below: float = 0.5,
    look_ahead: LookAhead | None = None,
    backward: bool = False,
    max_steps: int = 100_000,
) -> tuple[Float[Tensor, "queries"], Diagnostics]:
    """Estimates of log p_success by sequential Monte Carlo, with the survivors' gradient.

    >>> from deepprooflog.logic.program import Program
    >>> model = Model(Program("t(0.3) :: p(a). t(0.7) :: p(b). q :- p(a)."))
    >>> log_p, found = smc_log_prob(model, ["q"])
    >>> round(log_p.exp().item(), 6)
    0.3

    `select` takes only these goals of a prepared batch. An estimate is −inf, with gradient 0, where
    no particle reached True.
    """
    batch = goals if isinstance(goals, ParticleBatch) else paths(model, goals)
    places: list[Ints] = []
    found: list[Survivors] = []
    for where, ground in arenas(batch, model.weights, select):
        found.append(
            smc(ground, particles, generator=generator, resample_below=resample_below,
                look_ahead=look_ahead, backward=backward, max_steps=max_steps)
        )  # fmt: skip
        places.append(where)
    log_p = together(places, [f.log_prob() for f in found])
    return log_p, Diagnostics(
        effective=together(places, [f.effective for f in found]),
        resampled=together(places, [f.resampled for f in found]),
        steps=max(len(f.paths) for f in found),
        reached=log_p.detach() > -torch.inf,
        provable=together(places, [f.arena.roots >= 0 for f in found]),
        stopped=together(places, [f.cut_off for f in found]),
    )


def together(places: Sequence[Ints], parts: Sequence[Tensor]) -> Tensor:
    """Values of parts of a batch in the order of the whole."""
    if len(parts) == 1:
        return parts[0]
    order = torch.as_tensor(np.argsort(np.concatenate(places)), device=parts[0].device)
    return torch.cat(list(parts))[order]


def smc_loss(
    model: Model,
    goals: GoalsLike | ParticleBatch,
    particles: int = 32,
    *,
    select: Select | None = None,
    generator: torch.Generator | None = None,
    resample_below: float = 0.5,
    look_ahead: LookAhead | None = None,
    backward: bool = False,
    max_steps: int = 100_000,
) -> Loss:
    """Mean −log p̂ over the queries that particles proved, the estimates, and how they fared.

    Queries that no particle proved are left out of the mean; `Diagnostics.lost` counts them.

    >>> from deepprooflog.logic.program import Program
    >>> model = Model(Program("t(0.3) :: p(a). t(0.7) :: p(b). q :- p(a)."))
    >>> found = smc_loss(model, ["q"])
    >>> round(found.log_prob.exp().item(), 6), found.diagnostics.lost
    (0.3, 0)
    """
    log_p, found = smc_log_prob(
        model, goals, particles, select=select, generator=generator,
        resample_below=resample_below, look_ahead=look_ahead, backward=backward,
        max_steps=max_steps,
    )  # fmt: skip
    proved = log_p.detach() > -torch.inf
    loss = -torch.where(proved, log_p, 0.0).sum() / max(len(log_p) - found.lost, 1)
    return Loss(loss, log_p, found)
