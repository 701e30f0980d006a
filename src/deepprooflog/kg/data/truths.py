"""Which entities complete a context: the truths that candidates are filtered by.

A context is a triple without one entity, (·, r, t) or (h, r, ·), as a number; a truth is the
number context · entities + entity. Sorted, they answer "is this one known" and "how many are there"
by binary search, for millions of candidates at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int64

from deepprooflog.graph.goalgraph import ragged_ranges


@dataclass(frozen=True, eq=False)
class Truths:
    """The known completions of every context."""

    numbers: Int64[np.ndarray, " truths"]  # sorted, each once
    entities: int

    @classmethod
    def of(
        cls,
        context: Int64[np.ndarray, " triples"],
        entity: Int64[np.ndarray, " triples"],
        entities: int,
    ) -> Truths:
        """From pairs of context and entity.

        >>> truths = Truths.of(np.array([0, 0, 2]), np.array([3, 1, 0]), 4)
        >>> truths.count(np.array([0, 1, 2])).tolist()
        [2, 0, 1]
        """
        return cls(np.unique(context * entities + entity), entities)

    def has(
        self, context: Int64[np.ndarray, "*shape"], entity: Int64[np.ndarray, "*shape"]
    ) -> Bool[np.ndarray, "*shape"]:
        """Whether each entity completes its context."""
        wanted = context * self.entities + entity
        if not len(self.numbers):
            return np.zeros(wanted.shape, dtype=bool)
        at = np.searchsorted(self.numbers, wanted)
        return np.asarray(self.numbers[np.minimum(at, len(self.numbers) - 1)] == wanted)

    def count(self, context: Int64[np.ndarray, " contexts"]) -> Int64[np.ndarray, " contexts"]:
        """How many entities complete each context."""
        begin, end = self._range(context)
        return np.asarray(end - begin)

    def pairs(
        self, context: Int64[np.ndarray, " contexts"]
    ) -> tuple[Int64[np.ndarray, " pairs"], Int64[np.ndarray, " pairs"]]:
        """Every known completion: the position of its context, and the entity.

        >>> truths = Truths.of(np.array([0, 0, 2]), np.array([3, 1, 0]), 4)
        >>> [part.tolist() for part in truths.pairs(np.array([2, 0]))]
        [[0, 1, 1], [0, 1, 3]]
        """
        begin, end = self._range(context)
        position, at = ragged_ranges(begin, end - begin)
        return position, self.numbers[at] % self.entities

    def _range(
        self, context: Int64[np.ndarray, " contexts"]
    ) -> tuple[Int64[np.ndarray, " contexts"], Int64[np.ndarray, " contexts"]]:
        begin = np.searchsorted(self.numbers, context * self.entities)
        return begin, np.searchsorted(self.numbers, (context + 1) * self.entities)
