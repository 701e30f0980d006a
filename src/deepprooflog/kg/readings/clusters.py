"""Rules that say the same, put together: by the overlap of what they back.

The overlap of two rules is the share of the pairs backed by either that both back. In order of
their weights, each rule that stands in no cluster begins one, and those whose overlap with it
reaches a threshold join it. At a threshold of 0 a relation's rules are one cluster, and the reading
is the maximum; above 1 each is its own, and it is the noisy-or. The threshold is chosen for each
relation by the mean reciprocal rank of validation triples.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int64

from deepprooflog.kg.readings.backing import Backing

THRESHOLDS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.1)
MOST_PAIRS = 4096


def overlaps(backing: Backing, seed: int = 0) -> Float64[np.ndarray, "rules rules"]:
    """The overlap of each two rules, over pairs drawn at random where there are many."""
    count = min(len(backing), MOST_PAIRS)
    chosen = np.random.default_rng(seed).choice(len(backing), count, replace=False)
    place = np.full(len(backing), -1)
    place[chosen] = np.arange(count)
    at, rule = place[backing.pair], backing.rule
    backs = np.zeros((len(backing.rules), count), np.float32)
    backs[rule[at >= 0], at[at >= 0]] = 1
    both = backs @ backs.T
    sizes = both.diagonal()
    either = sizes[:, None] + sizes[None] - both
    return np.asarray(both / np.maximum(either, 1), np.float64)


def clusters(
    overlap: Float64[np.ndarray, "rules rules"], threshold: float
) -> Int64[np.ndarray, " rules"]:
    """The number of each rule's cluster, that of its first rule.

    >>> clusters(np.array([[1.0, 0.1, 0.6], [0.1, 1.0, 0.2], [0.6, 0.2, 1.0]]), 0.5).tolist()
    [0, 1, 0]
    """
    found = np.full(len(overlap), -1)
    for rule in range(len(overlap)):
        if found[rule] < 0:
            found[(found < 0) & (overlap[rule] >= threshold)] = rule
            found[rule] = rule
    return found
