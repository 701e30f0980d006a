"""Ranking metrics: reciprocal ranks, hits, average precision, and intervals by the bootstrap.

Among its candidates a query's own triple has `better` ones above it and `equal` ones beside it:

    optimistic = better + 1,    pessimistic = better + equal + 1,    average = their mean

The average is the rank that ties broken at random would give on average; it is what "rank" means
where nothing else is said, so that a scorer that cannot tell candidates apart gains nothing by it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float64, Int64

from deepprooflog.errors import DataError

Ties: TypeAlias = Literal["average", "optimistic", "pessimistic"]
TIES: tuple[Ties, ...] = ("average", "optimistic", "pessimistic")
HITS = (1, 3, 10)
MEANS = ("mrr", *(f"hits@{k}" for k in HITS))


def ranks(
    better: Int64[np.ndarray, " lists"], equal: Int64[np.ndarray, " lists"], ties: Ties = "average"
) -> Float64[np.ndarray, " lists"]:
    """Ranks from 1, halves where ties are averaged.

    >>> ranks(np.array([0, 2]), np.array([0, 3])).tolist()
    [1.0, 4.5]
    """
    share = {"optimistic": 0.0, "average": 0.5, "pessimistic": 1.0}[ties]
    return np.asarray(better + share * equal + 1.0)


def gains(rank: Float64[np.ndarray, " lists"]) -> Float64[np.ndarray, "lists means"]:
    """What each ranked list contributes to the means: 1/rank, and whether it is a hit at 1, 3, 10.

    >>> gains(np.array([2.0])).tolist()
    [[0.5, 0.0, 1.0, 1.0]]
    """
    hits = [(rank <= k).astype(np.float64) for k in HITS]
    return np.stack([1.0 / rank, *hits], axis=1)


def means(rank: Float64[np.ndarray, " lists"]) -> dict[str, float]:
    """MRR and Hits@1, 3, 10 of some ranks.

    >>> means(np.array([1.0, 4.0]))
    {'mrr': 0.625, 'hits@1': 0.5, 'hits@3': 0.5, 'hits@10': 1.0}
    """
    if not len(rank):
        raise DataError("there are no ranks to average")
    return dict(zip(MEANS, gains(rank).mean(axis=0).tolist(), strict=True))


def average_precision(
    positive: Float64[np.ndarray, " positives"], negatives_at: Int64[np.ndarray, " positives"]
) -> float:
    """The area under the precision-recall curve, as the mean of precisions at the positives.

    At the threshold of each positive's score, precision is the share of positives among all that
    reach it; `negatives_at` counts the negatives that do.

    >>> average_precision(np.array([0.9, 0.4]), np.array([0, 2]))
    0.75
    """
    if not len(positive):
        raise DataError("there are no positives, so there is no precision")
    ordered = np.sort(positive)
    reach = len(ordered) - np.searchsorted(ordered, positive, side="left")
    return float((reach / (reach + negatives_at)).mean())


def bootstrap(
    values: Float64[np.ndarray, "queries means"],
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Float64[np.ndarray, "means 2"]:
    """Percentile intervals of the columns' means over resampled queries (Efron 1979).

    >>> bootstrap(np.full((5, 1), 0.25)).tolist()
    [[0.25, 0.25]]
    """
    if not 0 < level < 1 or resamples < 1:
        raise DataError(f"an interval of level {level} by {resamples} resamples has no meaning")
    generator = np.random.default_rng(seed)
    count = len(values)
    found = np.empty((resamples, values.shape[1]))
    step = max(1, (1 << 20) // max(count, 1))
    for begin in range(0, resamples, step):
        size = min(step, resamples - begin)
        chosen = generator.integers(count, size=(size, count))
        found[begin : begin + size] = values[chosen].mean(axis=1)
    tail = (1 - level) / 2
    return np.quantile(found, [tail, 1 - tail], axis=0).T
