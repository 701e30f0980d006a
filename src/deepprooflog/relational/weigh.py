"""p_λ(G' | G) of steps between relational goals, by any scorer; each goal is looked at once."""

from __future__ import annotations

from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor

from deepprooflog.relational.as_terms import AsTerms
from deepprooflog.relational.database import Database
from deepprooflog.relational.goals import Goals
from deepprooflog.relational.layers import Layers
from deepprooflog.score.scorer import Scorer
from deepprooflog.score.transitions import LogPolicy, Transitions, log_policy, log_steps


def transitions_of(scorer: Scorer, database: Database) -> Transitions[Any]:
    """A scorer on a database's goals: its own form for them, or one by terms."""
    found = scorer.transitions(database)
    return AsTerms(scorer, database) if found is None else found


def log_weights(model: Transitions[Any], layers: Layers) -> list[Float[Tensor, " _steps"]]:
    """log p_λ of the steps between each layer and the next."""
    found = []
    here = model.view(layers.goals[0].atoms)
    for goals, steps in zip(layers.goals[1:], layers.steps, strict=True):
        after = model.view(goals.atoms)
        found.append(log_steps(model, here, after, steps.source, steps.target, steps.clause))
        here = after
    return found


def log_choices(
    model: Transitions[Any],
    goals: Goals,
    successors: Goals,
    parent: Int[Tensor, " successors"],
    clause: Int[Tensor, " successors"],
    *,
    open: Bool[Tensor, " successors"],
    false: Bool[Tensor, " goals"],
) -> LogPolicy:
    """log π of the open successors of some goals, and of False where it is offered."""
    both = model.view(Goals.cat([goals, successors]).atoms)
    here, after = both[: len(goals)], both[len(goals) :]
    return log_policy(model, here, after, parent, clause, open=open, false=false)
