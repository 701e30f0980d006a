"""Three readings of the rules that back a triple, w₁ ≥ w₂ ≥ … their weights.

    maximum     w₁; where two triples have the same, w₂ decides, then w₃, …
    noisy-or    1 − (1 − w₁)(1 − w₂)…, as if each rule were right or wrong on its own
    clusters    the same over the largest weight of each cluster: rules that say the same count once

The noisy-or is given as −log(1 − p), which orders alike and tells 1 − 10⁻²⁰ from 1 − 10⁻³⁰.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float64, Int64

from deepprooflog.kg.readings.backing import Backing, WeighedRules

APART = 1e-6  # what the maximum is rounded to; what decides between equals adds less
COLUMNS = 4  # of 63 bits that tell a triple's weights: 16 weights where there are 30,000 different


def surest(backing: Backing) -> Int64[np.ndarray, "pairs columns"]:
    """The weights of each pair's surest rules, the surest first, packed so that larger is surer.

    A weight is told by its number among the different weights of the rules, 0 for none and for
    rules that are never right. So rows of several parts of a relation's lists can be compared.
    """
    digit = _digits(backing.rules)
    base = int(digit.max(initial=0)) + 1
    each = max(1, int(63 / max(1.0, np.log2(base))))
    order = np.argsort(backing.pair, kind="stable")  # the rules of a pair stay the surest first
    begin = np.searchsorted(backing.pair[order], np.arange(len(backing) + 1))
    value = np.append(digit[backing.rule[order]], 0)
    columns = np.zeros((len(backing), COLUMNS), np.int64)
    for place in range(each * COLUMNS):
        at = begin[:-1] + place
        own = np.where(at < begin[1:], value[np.minimum(at, len(value) - 1)], 0)
        column = columns[:, place // each]
        column *= base
        column += own
    return columns


def in_order(
    columns: Int64[np.ndarray, "pairs columns"], rules: WeighedRules
) -> Float64[np.ndarray, " pairs"]:
    """The largest weight of each pair, and less than a millionth by which ties are put in order."""
    digit = _digits(rules)
    base = int(digit.max(initial=0)) + 1
    each = max(1, int(63 / max(1.0, np.log2(base))))
    weight = np.zeros(base)
    weight[digit] = np.round(rules.weight, 6)
    first = columns[:, 0] // base ** (each - 1)
    order = np.lexsort(columns.T[::-1])
    ahead = np.any(columns[order[1:]] != columns[order[:-1]], axis=1)
    place = np.zeros(len(columns))
    place[order[1:]] = np.cumsum(ahead)
    return np.where(first > 0, weight[first] + APART / 2 * place / max(len(columns), 1), 0.0)


def _digits(rules: WeighedRules) -> Int64[np.ndarray, " rules"]:
    """The number of each rule's weight among the different ones, larger for the surer."""
    weight = np.round(rules.weight, 6)
    return np.asarray(np.searchsorted(np.unique(weight[weight > 0]), weight) + (weight > 0))


def maximum(backing: Backing) -> Float64[np.ndarray, " pairs"]:
    """The largest weight, and less than a millionth by which ties are put in order."""
    return in_order(surest(backing), backing.rules)


def noisy_or(backing: Backing) -> Float64[np.ndarray, " pairs"]:
    """−Σ log(1 − w) over all rules."""
    each = -np.log1p(-backing.rules.weight)
    return np.bincount(backing.pair, each[backing.rule], len(backing)).astype(np.float64)


def clustered(
    backing: Backing, cluster: Int64[np.ndarray, " rules"]
) -> Float64[np.ndarray, " pairs"]:
    """−Σ log(1 − w) over the surest rule of each cluster."""
    return summed(backing.rules, cluster, backing.of, len(backing))


def summed(
    rules: WeighedRules,
    cluster: Int64[np.ndarray, " rules"],
    backed: Callable[[int], Int64[np.ndarray, " _backed"]],
    pairs: int,
) -> Float64[np.ndarray, " pairs"]:
    """The same where `backed` tells by its number which of so many pairs a rule backs."""
    each = -np.log1p(-rules.weight)
    total = np.zeros(pairs)
    counted = np.full(pairs, -1, np.int32)
    for rule in np.argsort(cluster, kind="stable").tolist():
        own = backed(rule)
        own = own[counted[own] != cluster[rule]]
        total[own] += each[rule]
        counted[own] = cluster[rule]
    return total
