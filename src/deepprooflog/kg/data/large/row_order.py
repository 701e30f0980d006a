"""Rows of triples, relation by relation."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int, Int64


def by_relation(
    relation: Int[np.ndarray, " triples"], relations: int
) -> tuple[Int[np.ndarray, " triples"], Int64[np.ndarray, " relations_and_one"]]:
    """The rows of triples by relation, within each as they stand, and where each begins.

    >>> [part.tolist() for part in by_relation(np.array([1, 0, 1]), 2)]
    [[1, 0, 2], [0, 1, 3]]
    """
    counts = np.bincount(relation, minlength=relations)
    if relations < 2**15:
        relation = relation.astype(np.int16)  # which is sorted in one go
    return np.argsort(relation, kind="stable"), np.append(0, np.cumsum(counts))
