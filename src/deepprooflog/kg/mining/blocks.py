"""Work in blocks of bounded size, so that memory is bounded too."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from jaxtyping import Int64


def blocks(sizes: Int64[np.ndarray, " items"], most: int) -> list[tuple[int, int]]:
    """Ranges of items whose sizes add up to about `most`; one item is never split.

    >>> blocks(np.array([2, 2, 3, 9, 1]), 4)
    [(0, 1), (1, 3), (3, 5)]
    """
    if not len(sizes):
        return []
    number = np.cumsum(sizes) // most
    stops = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(sizes)]
    return list(pairwise(stops))
