"""Predictions: the most probable answers of an open query, each with its probability and proof."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from deepprooflog.infer.answers.predict import AnswerWay, Likely
from deepprooflog.logic.answers import answer_text, bindings_text, probability
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.proof.build import Derivation, build_proof
from deepprooflog.proof.tree import Proof
from deepprooflog.syntax.terms import variables


@dataclass(frozen=True)
class Prediction:
    """An answer of an open query: how probable it is, how certain its place, and its best proof.

    `log_prob` sums over all derivations that end in the answer; `proof` is the best one of them.
    `certain` means that no answer is more probable, apart from those listed before it; `log_others`
    bounds every answer that is not listed. `method` says how it was found: "prefixes", "answers" or
    "derivation".
    """

    answer: str
    bindings: Mapping[str, str] = field(hash=False)
    log_prob: float
    certain: bool
    log_others: float
    method: AnswerWay
    proof: Proof = field(repr=False)

    @property
    def probability(self) -> float:
        """p of the answer; 0.0 where it is below the smallest float (see `log_prob`)."""
        return probability(self.log_prob)

    @property
    def others(self) -> float:
        """No answer that is not listed is more probable than this."""
        return math.exp(min(self.log_others, 0.0))


def prediction(program: Program, query: Query, found: Likely) -> Prediction:
    """An answer found by inference, in words."""
    free = variables(*query.atoms)
    for var, value in zip(free, found.answer, strict=True):
        var.ref = value
    try:
        bindings = bindings_text(query, program)
    finally:
        for var in free:
            var.ref = None
    return Prediction(
        answer=answer_text(query, program, found.answer),
        bindings=bindings,
        log_prob=found.log_prob,
        certain=found.certain,
        log_others=found.log_others,
        method=found.method,
        proof=build_proof(program, query, Derivation(found.choices, found.log_weights)),
    )
