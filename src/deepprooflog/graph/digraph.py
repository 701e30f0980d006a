"""Graphs that are nothing but their arrows: all that a schedule needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Arrows:
    """Nodes 0 … nodes−1; the edges of node n are first[n] … first[n + 1] − 1."""

    nodes: int
    source: Ints  # [E] ascending
    target: Ints  # [E]
    first: Ints  # [N + 1]


def arrows(nodes: int, source: Ints, target: Ints) -> Arrows:
    """A graph from edges that are sorted by source.

    >>> arrows(2, np.array([0, 0]), np.array([1, 1])).first.tolist()
    [0, 2, 2]
    """
    first = np.zeros(nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(source, minlength=nodes), out=first[1:])
    return Arrows(nodes, source, target, first)
