"""Rules that say the same, put together: by the overlap of what they back.

The overlap of two rules is the share of the pairs backed by either that both back. In order of
their weights, each rule that stands in no cluster begins one, and those whose overlap with it
reaches a threshold join it. At a threshold of 0 a relation's rules are one cluster, and the reading
is the maximum; above 1 each is its own, and it is the noisy-or. The threshold is chosen for each
relation by the mean reciprocal rank of validation triples.

Of a relation with more rules than MOST_RULES, the surest are compared; the others are one cluster
more, whose largest weight counts.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int64

from deepprooflog.kg.readings.backing import Backing

THRESHOLDS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.1)
MOST_PAIRS = 4096
MOST_RULES = 2000  # of a relation, the surest: the overlaps of each two are held


def overlaps(backing: Backing, seed: int = 0) -> Float64[np.ndarray, "some some"]:
    """The overlap of each two of the surest rules, over pairs drawn where there are many."""
    count = min(len(backing), MOST_PAIRS)
    chosen = np.random.default_rng(seed).choice(len(backing), count, replace=False)
    place = np.full(len(backing), -1)
    place[chosen] = np.arange(count)
    some = min(len(backing.rules), MOST_RULES)
    at, rule = place[backing.pair], backing.rule
    looked_at = (at >= 0) & (rule < some)
    backs = np.zeros((some, count), np.float32)
    backs[rule[looked_at], at[looked_at]] = 1
    both = backs @ backs.T
    sizes = both.diagonal()
    either = sizes[:, None] + sizes[None] - both
    return np.asarray(both / np.maximum(either, 1), np.float64)


def clusters(
    overlap: Float64[np.ndarray, "some some"], threshold: float, rules: int
) -> Int64[np.ndarray, " rules"]:
    """The number of each rule's cluster, that of its first rule; the rules not compared are one.

    >>> overlap = np.array([[1.0, 0.1, 0.6], [0.1, 1.0, 0.2], [0.6, 0.2, 1.0]])
    >>> clusters(overlap, 0.5, 5).tolist()
    [0, 1, 0, 3, 3]
    """
    found = np.full(len(overlap), -1)
    for rule in range(len(overlap)):
        if found[rule] < 0:
            found[(found < 0) & (overlap[rule] >= threshold)] = rule
            found[rule] = rule
    rest = len(overlap) if threshold > 0 else 0
    return np.concatenate([found, np.full(rules - len(overlap), rest)])
