"""Paths of one, two or three edges between the head and the tail of facts.

A path x → z → w → y is told by its directed relations (a, b, c) as one number, ((a·D) + b)·D + c.
Counted once for each fact r(x, y), they are the supports of the rules r(X,Y) :- a(X,Z), b(Z,W),
c(W,Y). Under object identity the entities of a path and of its fact are all different.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from deepprooflog.graph.goalgraph import ragged_ranges
from deepprooflog.kg.mining.adjacency import DirectedGraph
from deepprooflog.kg.mining.blocks import blocks

BLOCK = 1 << 21  # walks that are held at once
MOST_WALKS = 1 << 18  # of two edges from one entity; where there are more, a sample is walked


@dataclass(frozen=True, eq=False)
class Supports:
    """The paths that connect facts of one relation, and how many facts each connects."""

    codes: Int64[np.ndarray, " paths"]
    counts: Int64[np.ndarray, " paths"]


def supports_of_one(edges: DirectedGraph, relation: int) -> Supports:
    """All paths of one edge beside the facts of a relation."""
    x, y = _ends(edges, relation)
    at = np.searchsorted(edges.pairs, x * edges.entities + y)
    _, edge = ragged_ranges(edges.pair_begin[at], np.diff(edges.pair_begin)[at])
    return tally(edges.label[edge])


def supports_of_two(edges: DirectedGraph, relation: int, identity: bool) -> Supports:
    """All paths of two edges beside the facts of a relation."""
    x, y = _ends(edges, relation)
    swap = edges.degree[x] > edges.degree[y]
    u, v = np.where(swap, y, x), np.where(swap, x, y)
    parts: list[Supports] = []
    for begin, end in blocks(edges.degree[u], BLOCK):
        codes = _two_steps(edges, u[begin:end], v[begin:end], swap[begin:end], identity)
        parts.append(tally(codes))
    return added(parts)


def codes_of_three(
    edges: DirectedGraph, x: int, y: int, identity: bool, draw: np.random.Generator
) -> Int64[np.ndarray, " paths"]:
    """The different paths of three edges from x to y; a sample of them beside a hub."""
    swap = bool(edges.two_steps[x] > edges.two_steps[y])
    u, v = (y, x) if swap else (x, y)
    first = np.arange(edges.begin[u], edges.begin[u + 1])
    if identity:
        first = first[edges.target[first] != v]
    z = edges.target[first]
    walks = edges.degree[z]
    if (total := int(walks.sum())) > MOST_WALKS:
        kept = draw.random(len(first)) < MOST_WALKS / total
        first, z, walks = first[kept], z[kept], walks[kept]
    owner, second = ragged_ranges(edges.begin[z], walks)
    w = edges.target[second]
    # The edges from w to v are those of v's own list, read the other way.
    where = np.full(edges.entities, -1)
    last = np.arange(edges.begin[v], edges.begin[v + 1])
    near = edges.target[last]
    begins = np.flatnonzero(
        np.concatenate([np.ones(min(len(near), 1), bool), near[1:] != near[:-1]])
    )
    where[near[begins]] = np.arange(len(begins))
    if identity:
        where[u] = -1
    run = where[w]
    hit = np.flatnonzero(run >= 0)
    run = run[hit]
    counts = np.diff(np.concatenate([begins, np.array([len(near)])]))
    path, third = ragged_ranges(begins[run], counts[run])
    a = edges.label[first][owner[hit][path]]
    b = edges.label[second[hit][path]]
    c = edges.inverse(edges.label[last[third]])
    if swap:
        a, b, c = edges.inverse(c), edges.inverse(b), edges.inverse(a)
    return distinct((a * edges.directed + b) * edges.directed + c)


def _ends(
    edges: DirectedGraph, relation: int
) -> tuple[Int64[np.ndarray, " facts"], Int64[np.ndarray, " facts"]]:
    adjacency = edges.by_relation[relation]
    return adjacency.sources, adjacency.targets


def _two_steps(
    edges: DirectedGraph,
    u: Int64[np.ndarray, " facts"],
    v: Int64[np.ndarray, " facts"],
    swap: np.ndarray,
    identity: bool,
) -> Int64[np.ndarray, " paths"]:
    """The paths u → z → v, each once for a fact; of a swapped fact read from v to u."""
    fact, first = ragged_ranges(edges.begin[u], edges.degree[u])
    z = edges.target[first]
    if identity:
        kept = z != v[fact]
        fact, first, z = fact[kept], first[kept], z[kept]
    key = z * edges.entities + v[fact]
    at = np.minimum(np.searchsorted(edges.pairs, key), len(edges.pairs) - 1)
    hit = np.flatnonzero(edges.pairs[at] == key)
    at = at[hit]
    path, second = ragged_ranges(edges.pair_begin[at], np.diff(edges.pair_begin)[at])
    fact = fact[hit][path]
    a, b = edges.label[first[hit][path]], edges.label[second]
    back = swap[fact]
    a, b = np.where(back, edges.inverse(b), a), np.where(back, edges.inverse(a), b)
    square = edges.directed**2
    return distinct(fact * square + a * edges.directed + b) % square


def distinct(values: Int64[np.ndarray, " values"]) -> Int64[np.ndarray, " distinct"]:
    """The different values, in order."""
    return tally(values).codes


def tally(values: Int64[np.ndarray, " values"]) -> Supports:
    """The different values and how often each occurs."""
    # Without the counts NumPy goes through a hash table, ten times slower than sorting.
    return Supports(*np.unique(values, return_counts=True))


def added(parts: list[Supports]) -> Supports:
    """Counts of the same paths put together."""
    if len(parts) == 1:
        return parts[0]
    codes = np.concatenate([part.codes for part in parts] or [np.zeros(0, np.int64)])
    counts = np.concatenate([part.counts for part in parts] or [np.zeros(0, np.int64)])
    different, where = np.unique(codes, return_inverse=True)
    return Supports(different, np.bincount(where, counts, len(different)).astype(np.int64))
