"""Queries r(h, ?) and r(?, t) in one form: a directed relation, where it starts, what is asked for.

Each triple is two queries: r(h, t) asks for t from h along r, and for h from t along r's inverse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int, Int64
from torch import Tensor

from deepprooflog.device import sent
from deepprooflog.errors import DataError
from deepprooflog.kg.data.triple_set import TripleSet
from deepprooflog.kg.data.triples import Graph, SplitName
from deepprooflog.kg.walk.model import relation_numbers


@dataclass(frozen=True, eq=False)
class QueryBatch:
    """Some queries on a device, with the other tails that are known to be true."""

    head: Int[Tensor, " batch"]
    relation: Int[Tensor, " batch"]
    tail: Int[Tensor, " batch"]
    known_query: Int[Tensor, " known"]
    known_tail: Int[Tensor, " known"]


@dataclass(frozen=True, eq=False)
class WalkQueries:
    """Directed queries, those for tails first, and the truths to leave out of rankings."""

    head: Int64[np.ndarray, " queries"]
    relation: Int64[np.ndarray, " queries"]
    tail: Int64[np.ndarray, " queries"]
    truths: TripleSet[np.ndarray]

    def __len__(self) -> int:
        return len(self.head)

    @classmethod
    def of(
        cls,
        graph: Graph,
        relations: Sequence[str],
        triples: Int64[np.ndarray, "triples 3"],
        known: Sequence[SplitName],
    ) -> WalkQueries:
        """Both queries of each triple; relations get the numbers they have in a model.

        >>> from deepprooflog.kg.data.triples import graph_of
        >>> graph = graph_of([("a", "r", "b")])
        >>> queries = WalkQueries.of(graph, ("q", "r"), graph.train, ("train",))
        >>> queries.head.tolist(), queries.relation.tolist(), queries.tail.tolist()
        ([0, 1], [1, 3], [1, 0])
        """
        number = relation_numbers(graph, relations).numpy()
        missing = np.flatnonzero(number[triples[:, 1]] < 0)
        if len(missing):
            name = graph.relations[triples[missing[0], 1]]
            raise DataError(f"the walks know no relation {name}, which {len(missing):,} triples "
                            "ask for", hint="train them on a graph that has it")  # fmt: skip
        head, relation, tail = _directed(triples, number, len(relations))
        facts = np.concatenate([graph.split(name) for name in known])
        facts = facts[number[facts[:, 1]] >= 0]
        every = np.stack(_directed(facts, number, len(relations)), 1)
        truths = TripleSet.of(every, entities=len(graph.entities))
        return cls(head, relation, tail, truths)

    def batch(
        self, which: Int64[np.ndarray, " batch"] | slice, device: torch.device | str
    ) -> QueryBatch:
        """Some of the queries, on a device."""
        head, relation, tail = self.head[which], self.relation[which], self.tail[which]
        query, entity = self.truths.pairs(relation * self.truths.entities + head)
        other = entity != tail[query]
        arrays = (head, relation, tail, query[other], entity[other])
        return QueryBatch(*(_to(array, device) for array in arrays))

    def batches(self, size: int, device: torch.device | str) -> Iterator[QueryBatch]:
        """All queries in order, so many at a time."""
        for begin in range(0, len(self), size):
            yield self.batch(slice(begin, begin + size), device)


def some_rows(
    rows: Int64[np.ndarray, "rows 3"], most: int, seed: int
) -> Int64[np.ndarray, "some 3"]:
    """Rows in their order, drawn where there are more than so many."""
    if len(rows) <= most:
        return rows
    return rows[np.sort(np.random.default_rng(seed).choice(len(rows), most, replace=False))]


def _directed(
    triples: np.ndarray, number: np.ndarray, relations: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    h, r, t = triples[:, 0], number[triples[:, 1]], triples[:, 2]
    return (
        np.concatenate([h, t]), np.concatenate([r, r + relations]), np.concatenate([t, h])
    )  # fmt: skip


def _to(array: np.ndarray, device: torch.device | str) -> Tensor:
    return sent(torch.from_numpy(np.ascontiguousarray(array)), device)
