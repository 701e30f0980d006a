"""Three readings of the rules that back a triple, w₁ ≥ w₂ ≥ … their weights.

    maximum     w₁; where two triples have the same, w₂ decides, then w₃, as far as floats tell
    noisy-or    1 − (1 − w₁)(1 − w₂)…, as if each rule were right or wrong on its own
    clusters    the same over the largest weight of each cluster: rules that say the same count once

The noisy-or is given as −log(1 − p), which orders alike and tells 1 − 10⁻²⁰ from 1 − 10⁻³⁰.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int64

from deepprooflog.kg.readings.backing import Backing

APART = 1e-6  # what the maximum is rounded to; what decides between equals adds less


def maximum(backing: Backing) -> Float64[np.ndarray, " pairs"]:
    """The largest weight, and less than a millionth by which ties are put in order."""
    weight = np.round(backing.rules.weight, 6)
    levels, level = np.unique(weight, return_inverse=True)
    best = np.zeros(len(backing))
    rest = np.zeros(len(backing))
    shown = np.zeros(len(backing))
    for rule in range(len(weight) - 1, -1, -1):
        pairs = backing.of(rule)
        best[pairs] = weight[rule]
        shown[pairs] = rest[pairs]
        rest[pairs] = (level[rule] + 1 + rest[pairs]) / (len(levels) + 2)
    return best + APART / 2 * shown


def noisy_or(backing: Backing) -> Float64[np.ndarray, " pairs"]:
    """−Σ log(1 − w) over all rules."""
    each = -np.log1p(-backing.rules.weight)
    return np.bincount(backing.pair, each[backing.rule], len(backing)).astype(np.float64)


def clustered(
    backing: Backing, cluster: Int64[np.ndarray, " rules"]
) -> Float64[np.ndarray, " pairs"]:
    """−Σ log(1 − w) over the surest rule of each cluster."""
    each = -np.log1p(-backing.rules.weight)
    total = np.zeros(len(backing))
    counted = np.full(len(backing), -1)
    for rule in np.argsort(cluster, kind="stable").tolist():
        pairs = backing.of(rule)
        pairs = pairs[counted[pairs] != cluster[rule]]
        total[pairs] += each[rule]
        counted[pairs] = cluster[rule]
    return total
