"""Test figures of a prover: p_success, and beside it the prior and late fusion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int64

from deepprooflog.errors import DataError
from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.belief.prior import calibrate_belief
from deepprooflog.kg.data.domains import ANYONE, Candidates
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.evaluation.figures import WATCHED, figures
from deepprooflog.kg.evaluation.fusion import fit_fusion
from deepprooflog.kg.evaluation.ranking import Protocol, Ranking, rank
from deepprooflog.kg.evaluation.report import Figures
from deepprooflog.kg.evaluation.scores import (
    BeliefScore,
    CountedScore,
    Score,
    counted_score,
    success_score,
)
from deepprooflog.kg.prove.depth import depths
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.learn.run.processes import processes
from deepprooflog.learn.run.progress import Progress

# Candidates explored together: many share goals, and all must fit in memory.
CPU_BATCH, DEVICE_BATCH = 4096, 32768
WATCHED_BATCH = 1 << 16


@dataclass(frozen=True, eq=False)
class Ranker:
    """Ranks triples of a graph among their candidates, always the same way."""

    graph: Graph
    candidates: Candidates = ANYONE
    protocol: Protocol | None = None  # None: sampled, full where the candidates are a domain's
    negatives: int = 100
    seed: int = 0
    progress: bool = False

    @property
    def chosen(self) -> Protocol:
        """All candidates where they are a domain, some drawn where they are all entities."""
        if self.protocol is not None:
            return self.protocol
        return "sampled" if self.candidates.entities is None else "full"

    def rank(
        self, score: Score, queries: Int64[np.ndarray, "queries 3"], batch: int = 1 << 16
    ) -> Ranking:
        """Rank with a line of progress."""
        sides = self.candidates.sides
        bar = Progress(len(sides) * len(queries))
        bar.live = bar.live and self.progress
        ranking = rank(
            self.graph, score, queries, protocol=self.chosen, negatives=self.negatives, sides=sides,
            among=self.candidates.entities, seed=self.seed, batch=batch,
            on_progress=lambda done, total: bar.update(done, f"ranking {done}/{total} lists"),
        )  # fmt: skip
        bar.close()
        return ranking


def watched(
    ranker: Ranker, prover: Prover, look: Int64[np.ndarray, "look 3"], figure: str
) -> float:
    """The figure by which policies are compared, a name in `WATCHED`, on some triples."""
    # The lists of a side are one batch here, of which many processes want more.
    batch = WATCHED_BATCH // max(1, processes().size // 2)
    return WATCHED[figure][1](ranker.rank(success_score(prover), look, batch))


def evaluate_prover(
    prover: Prover,
    ranker: Ranker,
    queries: Int64[np.ndarray, "queries 3"],
    look: Int64[np.ndarray, "look 3"],
    *,
    among: str | None = None,
    seed: int = 0,
) -> Figures:
    """The figures of p_success, with those of the prior alone from the same negatives.

    `look` are held-out triples that late fusion is fitted on; `among` names the candidates; the
    embedding alone is calibrated with the `seed`.
    """
    if not len(queries):
        raise DataError("there are no test triples to rank", hint="a graph with a test split")
    batch = CPU_BATCH if prover.device.type == "cpu" else DEVICE_BATCH
    keep, entities = prover.belief is not None, len(ranker.graph.entities)
    if ranker.chosen == "full":
        scored = counted_score(prover, keep=keep, entities=entities, batch=batch)
    else:
        scored = CountedScore(prover, keep)
    ranking = ranker.rank(scored, queries, batch)
    found = figures(ranking, depths(prover, queries, batch))
    goals, cut = processes().sum(np.array([scored.goals, scored.cut])).tolist()
    found |= {"among": among, "goals": goals, "cut": cut}
    if prover.belief is not None:
        graph, candidates = ranker.graph, ranker.candidates
        fusion = fit_fusion(prover, graph, look, batch=batch, candidates=candidates)
        late = ranker.rank(scored.again(fusion), queries, batch)
        found["late_fusion"] = {**figures(late), "weight": fusion.weight, "floor": fusion.floor}
        found |= _alone(ranker, prover.belief, queries, seed)
    return Figures(found)


def _alone(
    ranker: Ranker, belief: Belief, queries: Int64[np.ndarray, "queries 3"], seed: int
) -> Mapping[str, Any]:
    """The figures of the prior alone, and where it weighs facts beside scores, those of belief."""
    priors = {"prior": belief}
    if belief.evidence is not None:
        plain = calibrate_belief(
            belief.kge, ranker.graph, base_rate=belief.base_rate, evidence="score", seed=seed
        )
        priors = {"belief": belief, "prior": plain}
    scores = {name: BeliefScore(own, len(ranker.graph.entities)) for name, own in priors.items()}
    return {name: figures(ranker.rank(own, queries)) for name, own in scores.items()}
