"""The transition models of graph runs by name: what the weight of a step depends on.

    goal      the whole goal, by embeddings: DeepProofLog
    term      the leftmost atom, by a network on it: DeepStochLog
    clause    the clause alone, a number for each: stochastic logic programs

A new one is a file and a line in `POLICIES`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from deepprooflog.kg.prove.theory import Theory
from deepprooflog.score.clause_weights import ClauseWeights
from deepprooflog.score.embedding.embedding import Embedding
from deepprooflog.score.embedding.leftmost import Leftmost
from deepprooflog.score.embedding.vocabulary import ConstantRows
from deepprooflog.score.scorer import Scorer

if TYPE_CHECKING:
    from deepprooflog.kg.learn.options import PolicyOptions

MakePolicy = Callable[["PolicyOptions", Theory, int], Scorer]
"""An untrained policy from its options, the theory whose goals it weighs, and a seed."""


def _goal(own: PolicyOptions, theory: Theory, seed: int) -> Scorer:
    return Embedding(
        theory.symbols(own.constants), own.dimension, own.f_atom, own.f_agg, seed=seed,
        constants=cast("ConstantRows", own.constants), numbers="symbols",
        false_action=own.false_action,
    )  # fmt: skip


def _term(own: PolicyOptions, theory: Theory, seed: int) -> Scorer:
    return Leftmost(
        theory.program, own.dimension, own.f_atom, seed=seed,
        constants=cast("ConstantRows", own.constants), numbers="symbols",
    )  # fmt: skip


def _clause(own: PolicyOptions, theory: Theory, seed: int) -> Scorer:
    return ClauseWeights(theory.program, facts="shared")


POLICIES: dict[str, MakePolicy] = {"goal": _goal, "term": _term, "clause": _clause}
