"""DeepProofLog: neurosymbolic learning with stochastic logic programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepprooflog.api import (
    answers,
    bounds,
    exact_fraction,
    log_answers,
    log_prob,
    measure,
    prob,
    provable,
    solve,
)
from deepprooflog.errors import (
    DataError,
    Inexact,
    ModelError,
    ProgramError,
    PrologError,
    ProofLogError,
    SyntaxProblem,
)
from deepprooflog.logic.budget import Budget, BudgetExceeded
from deepprooflog.logic.goals import GoalBatch, goals
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query, goal
from deepprooflog.proof.tree import Proof

if TYPE_CHECKING:
    from deepprooflog import kg
    from deepprooflog.learn import History, fit, losses
    from deepprooflog.model import Model
    from deepprooflog.proof.prediction import Prediction
    from deepprooflog.recipes.tasks import load
    from deepprooflog.score.clause_weights import ClauseWeights
    from deepprooflog.score.embedding import Embedding
    from deepprooflog.score.leftmost import Leftmost
    from deepprooflog.score.network import Network

__version__ = "0.1.0.dev0"

__all__ = [
    "Budget",
    "BudgetExceeded",
    "ClauseWeights",
    "DataError",
    "Embedding",
    "GoalBatch",
    "History",
    "Inexact",
    "Leftmost",
    "Model",
    "ModelError",
    "Network",
    "Prediction",
    "Program",
    "ProgramError",
    "PrologError",
    "Proof",
    "ProofLogError",
    "Query",
    "SyntaxProblem",
    "answers",
    "bounds",
    "exact_fraction",
    "fit",
    "goal",
    "goals",
    "kg",
    "load",
    "log_answers",
    "log_prob",
    "losses",
    "measure",
    "prob",
    "provable",
    "solve",
]

# What needs torch is loaded when it is first asked for: labels alone do without.
_LAZY = {
    "History": "deepprooflog.learn",
    "fit": "deepprooflog.learn",
    "losses": "deepprooflog.learn",
    "ClauseWeights": "deepprooflog.score.clause_weights",
    "Embedding": "deepprooflog.score.embedding",
    "Leftmost": "deepprooflog.score.leftmost",
    "Model": "deepprooflog.model",
    "Network": "deepprooflog.score.network",
    "Prediction": "deepprooflog.proof.prediction",
    "load": "deepprooflog.recipes.tasks",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "kg":
        return import_module("deepprooflog.kg")
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


