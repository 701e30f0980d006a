"""DeepProofLog: neurosymbolic learning with stochastic logic programs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from deepprooflog.api import (
    answers,
    bounds,
    exact_fraction,
    log_answers,
    log_prob,
    measure,
    predict,
    prob,
    provable,
    solve,
    success,
)
from deepprooflog.errors import (
    BudgetExceeded,
    DataError,
    Inexact,
    ModelError,
    Notice,
    ProgramError,
    PrologError,
    ProofLogError,
    SyntaxProblem,
)
from deepprooflog.infer.particles.sample import Sample
from deepprooflog.infer.success import Success
from deepprooflog.logic.goal_batch import GoalBatch, goals
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query, goal
from deepprooflog.proof.build import Prediction
from deepprooflog.proof.tree import Proof

if TYPE_CHECKING:
    from deepprooflog import kg
    from deepprooflog.infer.batches.batch import Compiled
    from deepprooflog.insight.failure import WhyNot
    from deepprooflog.insight.goal_view import GoalGraphView, goal_graph
    from deepprooflog.insight.steps import StepView, steps
    from deepprooflog.insight.why_not import why_not
    from deepprooflog.learn import History, Loss, fit, losses
    from deepprooflog.learn.ppo import Ppo, ppo
    from deepprooflog.learn.reinforce import Reinforce, reinforce, reinforce_loss
    from deepprooflog.learn.smc import smc_loss
    from deepprooflog.model import Model
    from deepprooflog.recipes.tasks import load
    from deepprooflog.score.clause_weights import ClauseWeights
    from deepprooflog.score.embedding.embedding import Embedding
    from deepprooflog.score.embedding.leftmost import Leftmost
    from deepprooflog.score.network import Network
    from deepprooflog.score.scorer import Scorer, Unit

__version__ = "0.1.0"

__all__ = [
    "Budget",
    "BudgetExceeded",
    "ClauseWeights",
    "Compiled",
    "DataError",
    "Embedding",
    "GoalBatch",
    "GoalGraphView",
    "History",
    "Inexact",
    "Leftmost",
    "Loss",
    "Model",
    "ModelError",
    "Network",
    "Notice",
    "Ppo",
    "Prediction",
    "Program",
    "ProgramError",
    "PrologError",
    "Proof",
    "ProofLogError",
    "Query",
    "Reinforce",
    "Sample",
    "Scorer",
    "StepView",
    "Success",
    "SyntaxProblem",
    "Unit",
    "WhyNot",
    "answers",
    "bounds",
    "exact_fraction",
    "fit",
    "goal",
    "goal_graph",
    "goals",
    "kg",
    "load",
    "log_answers",
    "log_prob",
    "losses",
    "measure",
    "ppo",
    "predict",
    "prob",
    "provable",
    "reinforce",
    "reinforce_loss",
    "smc_loss",
    "solve",
    "steps",
    "success",
    "why_not",
]

# What needs torch is loaded when it is first asked for: labels alone do without.
_LAZY = {
    "Compiled": "deepprooflog.infer.batches.batch",
    "History": "deepprooflog.learn",
    "Loss": "deepprooflog.learn",
    "fit": "deepprooflog.learn",
    "losses": "deepprooflog.learn",
    "Ppo": "deepprooflog.learn.ppo",
    "ppo": "deepprooflog.learn.ppo",
    "Reinforce": "deepprooflog.learn.reinforce",
    "reinforce": "deepprooflog.learn.reinforce",
    "reinforce_loss": "deepprooflog.learn.reinforce",
    "smc_loss": "deepprooflog.learn.smc",
    "ClauseWeights": "deepprooflog.score.clause_weights",
    "Embedding": "deepprooflog.score.embedding.embedding",
    "Leftmost": "deepprooflog.score.embedding.leftmost",
    "Model": "deepprooflog.model",
    "Network": "deepprooflog.score.network",
    "Scorer": "deepprooflog.score.scorer",
    "Unit": "deepprooflog.score.scorer",
    "load": "deepprooflog.recipes.tasks",
    "GoalGraphView": "deepprooflog.insight.goal_view",
    "goal_graph": "deepprooflog.insight.goal_view",
    "StepView": "deepprooflog.insight.steps",
    "steps": "deepprooflog.insight.steps",
    "WhyNot": "deepprooflog.insight.failure",
    "why_not": "deepprooflog.insight.why_not",
}
_PACKAGES = ("kg",)


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
