"""Ragged ranges: for each owner its items begin, begin + 1, …, one owner after another."""

from __future__ import annotations

import numpy as np

from deepprooflog.graph.goalgraph import Ints


def ragged_ranges(begin: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Whose each item is, and its number.

    >>> [part.tolist() for part in ragged_ranges(np.array([5, 0, 8]), np.array([2, 0, 1]))]
    [[0, 0, 2], [5, 6, 8]]
    """
    owner = np.repeat(np.arange(len(count)), count)
    shift = begin - (np.cumsum(count) - count)
    return owner, np.arange(len(owner)) + shift[owner]
