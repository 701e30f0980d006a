"""The triples as directed edges: each relation and its inverse, in the orders that counting needs.

Directed relation d < R is relation d read from head to tail, d + R the same read from tail to
head. Under object identity an edge from an entity to itself can be part of no rule and is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int64

from deepprooflog.kg.data.triples import Graph


@dataclass(frozen=True, eq=False)
class Adjacency:
    """The edges of one directed relation, sorted by target, then by source."""

    sources: Int64[np.ndarray, " edges"]
    targets: Int64[np.ndarray, " edges"]
    entities: int

    def __len__(self) -> int:
        return len(self.sources)

    @cached_property
    def domain(self) -> Int64[np.ndarray, " sources"]:
        """The entities that have an edge, in order."""
        return np.flatnonzero(self.has_edge)

    @cached_property
    def has_edge(self) -> Bool[np.ndarray, " entities"]:
        """Which entities are the source of an edge."""
        return np.bincount(self.sources, minlength=self.entities) > 0

    @cached_property
    def out_degree(self) -> Int64[np.ndarray, " entities"]:
        """Edges from each entity."""
        return np.bincount(self.sources, minlength=self.entities)

    @cached_property
    def in_degree(self) -> Int64[np.ndarray, " entities"]:
        """Edges to each entity."""
        return np.bincount(self.targets, minlength=self.entities)


@dataclass(frozen=True, eq=False)
class DirectedGraph:
    """All edges in both directions: by relation, by entity, and by pair of entities."""

    entities: int
    relations: int
    by_relation: tuple[Adjacency, ...]  # 2 · relations
    begin: Int64[np.ndarray, " entities_and_end"]  # of an entity's edges below
    target: Int64[np.ndarray, " edges"]  # sorted by source, target, directed relation
    label: Int64[np.ndarray, " edges"]  # the directed relation
    pairs: Int64[np.ndarray, " pairs"]  # source · entities + target, sorted
    pair_begin: Int64[np.ndarray, " pairs_and_end"]  # of a pair's edges

    @property
    def directed(self) -> int:
        """The number of directed relations, D = 2 · relations."""
        return 2 * self.relations

    def inverse(self, label: Int64[np.ndarray, " *any"]) -> Int64[np.ndarray, " *any"]:
        """The directed relations read the other way."""
        return np.where(label < self.relations, label + self.relations, label - self.relations)

    @cached_property
    def degree(self) -> Int64[np.ndarray, " entities"]:
        """The number of each entity's edges in both directions."""
        return np.diff(self.begin)

    @cached_property
    def two_steps(self) -> Int64[np.ndarray, " entities"]:
        """The number of walks of two edges from each entity."""
        walks = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.degree[self.target])])
        return np.asarray(walks[self.begin[1:]] - walks[self.begin[:-1]])


def directed_graph(graph: Graph, identity: bool) -> DirectedGraph:
    """The training triples as directed edges; under object identity without loops.

    >>> from deepprooflog.kg.data.triples import graph_of
    >>> edges = directed_graph(graph_of([("ann", "knows", "bob")]), True)
    >>> [(one.sources.tolist(), one.targets.tolist()) for one in edges.by_relation]
    [([0], [1]), ([1], [0])]
    """
    head, relation, tail = np.ascontiguousarray(graph.train.T)
    if identity:
        kept = head != tail
        head, relation, tail = head[kept], relation[kept], tail[kept]
    entities, relations = len(graph.entities), len(graph.relations)
    source = np.concatenate([head, tail])
    target = np.concatenate([tail, head])
    label = np.concatenate([relation, relation + relations])
    order = np.lexsort((source, target, label))
    ends = np.searchsorted(label[order], np.arange(2 * relations + 1))
    by_relation = tuple(
        Adjacency(source[order[a:b]], target[order[a:b]], entities)
        for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    )
    order = np.lexsort((label, target, source))
    source, target, label = source[order], target[order], label[order]
    key = source * entities + target
    first = np.flatnonzero(np.concatenate([np.ones(min(len(key), 1), bool), key[1:] != key[:-1]]))
    return DirectedGraph(
        entities,
        relations,
        by_relation,
        np.searchsorted(source, np.arange(entities + 1)),
        target,
        label,
        key[first],
        np.concatenate([first, np.array([len(key)])]),
    )
