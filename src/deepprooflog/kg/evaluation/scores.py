"""Scores that triples are ranked by: p_success, belief alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
from jaxtyping import Int
from torch import Tensor

from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.evaluation.fusion import Recorded
from deepprooflog.kg.prove.prover import Prover

Score: TypeAlias = "Callable[[Int[Tensor, 'triples 3']], Tensor]"


def success_score(prover: Prover) -> Score:
    """p_success as a ranking score."""

    def score(triples: Int[Tensor, "triples 3"]) -> Tensor:
        with torch.no_grad():
            success: Tensor = prover(triples.to(prover.device)).success
            return success

    return score


def belief_score(belief: Belief) -> Score:
    """The prior alone as a ranking score."""
    return belief.of_triples


class CountedScore(Recorded):
    """Scores by p_success that count the goals, and are kept for late fusion where asked for."""

    def __init__(self, prover: Prover, keep: bool) -> None:
        super().__init__(prover)
        self.keep = keep
        self.goals = 0
        self.cut = 0

    def __call__(self, triples: Int[Tensor, "triples 3"]) -> Tensor:
        with torch.no_grad():
            here = triples.to(self.prover.device)
            layers = self.prover.explore(self.prover.goals(here))
            self.goals += layers.size
            self.cut += layers.cut.depth + layers.cut.atoms + layers.cut.goals
            mass = self.prover.weigh(layers)
            if self.keep and self.prover.belief is not None:
                head, relation, tail = here.unbind(1)
                prior = self.prover.belief.log_probability(relation, head, tail)
                self.calls.append((prior.cpu(), mass.proof.cpu()))
            return mass.success
