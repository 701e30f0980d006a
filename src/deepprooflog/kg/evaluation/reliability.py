"""How far probabilities can be taken at their word: of what is held 70 % likely, is 70 % true?

    error = Σ over bins of  n/N · |share of truths − mean probability|    (expected calibration)
    Brier = mean over triples of  (p − y)²

What is asked are held-out triples with some corruptions of each, so that the share of truths is a
matter of how many: it is said beside the figures.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float64, Int64

from deepprooflog.kg.data.triples import SIDES, Graph
from deepprooflog.kg.evaluation.scores import Score
from deepprooflog.kg.kge.kge import chunks
from deepprooflog.kg.kge.negatives import corruptions

BATCH = 1024


@dataclass(frozen=True)
class ReliabilityBin:
    """The triples whose probability is in a range: how many, their mean, and how many are true."""

    low: float
    high: float
    count: int
    mean: float | None  # of the probabilities; None in an empty bin
    share: float | None  # of truths


@dataclass(frozen=True)
class Reliability:
    """A calibration plot in numbers."""

    bins: tuple[ReliabilityBin, ...]
    triples: int
    truths: int
    negatives: int  # corruptions that were drawn for each side of each truth
    error: float  # expected calibration error
    brier: float

    def to_dict(self) -> dict[str, Any]:
        """Plain Python."""
        return asdict(self)


def reliability(
    probability: Float64[np.ndarray, " n"], truth: Bool[np.ndarray, " n"], bins: int = 10,
    negatives: int = 1,
) -> Reliability:  # fmt: skip
    """Bins of equal width over the probabilities of triples that are true or not.

    >>> found = reliability(np.array([0.1, 0.1, 0.9, 0.9]), np.array([False, True, True, True]), 2)
    >>> [(one.count, one.share) for one in found.bins], round(found.error, 3)
    ([(2, 0.5), (2, 1.0)], 0.25)
    """
    place = np.clip((probability * bins).astype(np.int64), 0, bins - 1)
    rows, error = [], 0.0
    for number in range(bins):
        inside = place == number
        count = int(inside.sum())
        mean = float(probability[inside].mean()) if count else None
        share = float(truth[inside].mean()) if count else None
        if mean is not None and share is not None:
            error += count / len(probability) * abs(share - mean)
        rows.append(ReliabilityBin(number / bins, (number + 1) / bins, count, mean, share))
    brier = float(((probability - truth) ** 2).mean()) if len(probability) else 0.0
    return Reliability(
        tuple(rows), len(probability), int(truth.sum()), negatives, float(error), brier
    )


def reliability_of(
    graph: Graph,
    score: Score,
    queries: Int64[np.ndarray, "queries 3"],
    *,
    negatives: int = 1,
    bins: int = 10,
    seed: int = 0,
) -> Reliability | None:
    """The reliability of a probability on triples and corruptions of them; None without any."""
    if not len(queries):
        return None
    parts = [queries]
    for side in SIDES:
        drawn = corruptions(graph, queries, side, negatives, seed)
        parts.append(drawn.triples(queries)[drawn.present])
    triples = torch.from_numpy(np.concatenate(parts))
    truth = np.arange(len(triples)) < len(queries)
    found = torch.cat([score(part).double().cpu() for part in chunks(triples, BATCH)])
    return reliability(found.clamp(0.0, 1.0).numpy(), truth, bins, negatives)
