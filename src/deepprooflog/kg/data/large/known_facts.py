"""The known triples of a graph whose facts lie sorted in a file: a set that is not made, but asked.

It answers what a `TripleSet` of the same triples does, the facts in the file by their own order and
the few of the other splits beside them; none of these is counted twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Int64

from deepprooflog.graph.goalgraph import ragged_ranges
from deepprooflog.kg.data.triple_set import Side, TripleSet
from deepprooflog.relational.pair_facts import PairFacts


@runtime_checkable
class KnownTriples(Protocol):
    """What is asked of known triples, by the entity on one side; a context is what is left."""

    @property
    def entities(self) -> int: ...

    def has(
        self, context: Int64[np.ndarray, "*shape"], entity: Int64[np.ndarray, "*shape"]
    ) -> Bool[np.ndarray, "*shape"]: ...

    def count(self, context: Int64[np.ndarray, " contexts"]) -> Int64[np.ndarray, " contexts"]: ...

    def pairs(
        self, context: Int64[np.ndarray, " contexts"]
    ) -> tuple[Int64[np.ndarray, " found"], Int64[np.ndarray, " found"]]: ...


@dataclass(frozen=True, eq=False)
class KnownFacts:
    """Facts in a file and further triples, none of which is among the facts."""

    facts: PairFacts
    others: TripleSet[np.ndarray]

    @property
    def entities(self) -> int:
        """How many there are."""
        return self.others.entities

    @property
    def side(self) -> Side:
        """Of the entity asked for."""
        return self.others.side

    def has(
        self, context: Int64[np.ndarray, "*shape"], entity: Int64[np.ndarray, "*shape"]
    ) -> Bool[np.ndarray, "*shape"]:
        """Whether each entity completes its context."""
        context, entity = np.broadcast_arrays(context, entity)
        _, count = self._lookup(context.ravel(), entity.ravel())
        told = (count > 0).reshape(context.shape)
        return np.asarray(told | self.others.has(context, entity))

    def count(self, context: Int64[np.ndarray, " contexts"]) -> Int64[np.ndarray, " contexts"]:
        """How many entities complete each context."""
        return np.asarray(self._lookup(context, None)[1] + self.others.count(context))

    def pairs(
        self, context: Int64[np.ndarray, " contexts"]
    ) -> tuple[Int64[np.ndarray, " found"], Int64[np.ndarray, " found"]]:
        """Every known completion: the position of its context, and the entity."""
        position, place = ragged_ranges(*self._lookup(context, None))
        fact = self.facts.facts_at(torch.from_numpy(place))
        end = self.facts.ends[:, 0 if self.side == "head" else 1]
        entity = end.index_select(0, fact).numpy().astype(np.int64)
        more, further = self.others.pairs(context)
        position, entity = np.append(position, more), np.append(entity, further)
        order = np.lexsort((entity, position))
        return position[order], entity[order]

    def _lookup(
        self, context: Int64[np.ndarray, " calls"], entity: Int64[np.ndarray, " calls"] | None
    ) -> tuple[Int64[np.ndarray, " calls"], Int64[np.ndarray, " calls"]]:
        """Where the facts of each context begin, and how many they are; of an entity, if given."""
        relation, given = np.divmod(context, self.entities)
        asked = np.full_like(given, -2) if entity is None else entity
        ends = np.stack([asked, given] if self.side == "head" else [given, asked], 1)
        found = self.facts.lookup(torch.from_numpy(relation), torch.from_numpy(ends))
        begin, count = (part.numpy() for part in found)
        return begin, count
