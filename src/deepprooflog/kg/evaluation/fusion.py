"""Late fusion, as the paper does it: the prior's and the proofs' scores added at the end.

    score = a · log p_prior + log(p_proof + ε)

Kept for comparison with the prior inside the semantics (`kg.belief.believe`). The weight a and the
floor ε, which is what a triple without a proof counts as, are fitted on validation triples: those
of a grid with the highest mean reciprocal rank, the first of equals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from deepprooflog.kg.data.domains import ANYONE, Candidates
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.evaluation.metrics import means, ranks
from deepprooflog.kg.evaluation.ranking import Protocol, Ranked, rank
from deepprooflog.kg.prove.prover import Prover

WEIGHTS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
FLOORS = (1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1)


@dataclass(frozen=True)
class LateFusion:
    """The fitted weights.

    >>> LateFusion(2.0, 0.5).score(torch.tensor([-1.0]), torch.tensor([0.5])).tolist()
    [-2.0]
    """

    weight: float
    floor: float

    def score(
        self, log_prior: Float[Tensor, " n"], proof: Float[Tensor, " n"]
    ) -> Float[Tensor, " n"]:
        """The fused scores of triples."""
        by_proof = (proof + self.floor).log()
        # What is not believed at all has log p = −∞, of which a weight of 0 takes no account.
        return self.weight * log_prior + by_proof if self.weight else by_proof


class Recorded:
    """Both parts of the score, kept call by call, so that a ranking can be repeated for free."""

    def __init__(self, prover: Prover) -> None:
        self.prover = prover
        self.calls: list[tuple[Tensor, Tensor]] = []

    def __call__(self, triples: Int[Tensor, "n 3"]) -> Tensor:
        assert self.prover.belief is not None
        here = triples.to(self.prover.device)
        head, relation, tail = here.unbind(1)
        with torch.no_grad():
            mass = self.prover(here)
            prior = self.prover.belief.log_probability(relation, head, tail)
        self.calls.append((prior.cpu(), mass.proof.cpu()))
        success: Tensor = mass.success
        return success.cpu()

    def again(self, fusion: LateFusion) -> Callable[[Int[Tensor, "n 3"]], Tensor]:
        """The fused scores of the same calls in the same order."""
        rest = iter(self.calls)
        return lambda _: fusion.score(*next(rest))


def fit_fusion(
    prover: Prover,
    graph: Graph,
    triples: Int64[np.ndarray, "n 3"],
    *,
    negatives: int = 50,
    seed: int = 0,
    batch: int = 4096,
    candidates: Candidates = ANYONE,
) -> LateFusion:
    """The weights that rank some held-out triples best, among all candidates of a domain."""
    recorded = Recorded(prover)
    protocol: Protocol = "sampled" if candidates.entities is None else "full"

    def ranked(score: Callable[[Int[Tensor, "n 3"]], Tensor]) -> Ranked:
        return rank(
            graph, score, triples, protocol=protocol, negatives=negatives, seed=seed, batch=batch,
            sides=candidates.sides, among=candidates.entities,
        ).ranked  # fmt: skip

    ranked(recorded)

    def mrr(fusion: LateFusion) -> float:
        found = ranked(recorded.again(fusion))
        return float(means(ranks(found.better, found.equal))["mrr"])

    grid = [LateFusion(a, e) for a in WEIGHTS for e in FLOORS]
    return max(grid, key=mrr)
