"""Object identity on paths of three edges: X, Z, W and Y are four different entities.

Products of relations see to all but one of the pairs: a path x → z → w → y may have z = y, which
takes an edge a(x, y) and one back and forth, b(y, w) and c(w, y). Only such pairs are looked at
here, each for another path without z = y and without w = x.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int64

from deepprooflog.graph.goalgraph import ragged_ranges
from deepprooflog.kg.mining.adjacency import Adjacency, DirectedGraph
from deepprooflog.kg.mining.blocks import blocks
from deepprooflog.kg.mining.reach import stripes, walked

BLOCK = 1 << 20  # walks that are held at once

Pairs = tuple[Int64[np.ndarray, " pairs"], Int64[np.ndarray, " pairs"]]


def pairs_without(edges: DirectedGraph, a: int, b: int, c: int) -> Pairs:
    """The pairs (x, y) with a(x, y) that a, b, c connects only by meeting an entity twice."""
    first = edges.by_relation[a]
    returns = _back_and_forth(edges, b, c)
    kept = returns[first.targets]
    x, y = first.sources[kept], first.targets[kept]
    if not len(x):
        return x, y
    good = _beside(edges, (a, b, c), x, y)
    # Where c(x, y) too, a path without z = y may still be one with w = x.
    both = good & are_edges(edges, c, x, y) & _back_and_forth(edges, a, b)[x]
    if both.any():
        good[both] = _counted(edges, (a, b, c), x[both], y[both])
    return x[~good], y[~good]


def _back_and_forth(edges: DirectedGraph, a: int, b: int) -> Bool[np.ndarray, " entities"]:
    """The entities x with a(x, z) and b(z, x) for some z."""
    there, back = edges.by_relation[a], edges.by_relation[b]
    if (b - a) % edges.directed == edges.relations:
        return there.has_edge
    away = there.sources * edges.entities + there.targets
    home = np.sort(back.targets * edges.entities + back.sources)
    returning = there.sources[in_sorted(home, away)]
    return np.bincount(returning, minlength=edges.entities) > 0


def _beside(
    edges: DirectedGraph,
    path: tuple[int, int, int],
    x: Int64[np.ndarray, " pairs"],
    y: Int64[np.ndarray, " pairs"],
) -> Bool[np.ndarray, " pairs"]:
    """Which pairs the path connects without z = y: the path walked from y."""
    inverse = edges.inverse(np.array(path[::-1]))
    back = [edges.by_relation[d] for d in inverse.tolist()]
    found = np.zeros(len(x), bool)
    for low, high in stripes(back[0]):
        found |= walked(back, low, high, True).has(y, x)
    return found


def _counted(
    edges: DirectedGraph,
    path: tuple[int, int, int],
    x: Int64[np.ndarray, " pairs"],
    y: Int64[np.ndarray, " pairs"],
) -> Bool[np.ndarray, " pairs"]:
    """Which pairs have a path with z ≠ y and w ≠ x, by walking them all."""
    first, second, last = (edges.by_relation[d] for d in path)
    a, b = by_source(first), by_source(second)
    keys = np.sort(last.sources * edges.entities + last.targets)
    found = np.zeros(len(x), bool)
    walks = np.bincount(first.sources, second.out_degree[first.targets], edges.entities)
    for low, high in blocks(walks[x].astype(np.int64), BLOCK):
        u, v = x[low:high], y[low:high]
        pair, z = walk_on(a, u, np.arange(len(u)))
        kept = z != v[pair]
        pair, w = walk_on(b, z[kept], pair[kept])
        kept = w != u[pair]
        pair, w = pair[kept], w[kept]
        hit = in_sorted(keys, w * edges.entities + v[pair])
        found[low + pair[hit]] = True
    return found


BySource = tuple[Int64[np.ndarray, " entities_and_end"], Int64[np.ndarray, " edges"]]


def by_source(edges: Adjacency) -> BySource:
    """The targets of a directed relation by source, and where each source's begin."""
    order = np.argsort(edges.sources, kind="stable")
    begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(edges.out_degree)])
    return begin, edges.targets[order]


def walk_on(
    edges: BySource, at: Int64[np.ndarray, " walks"], pair: Int64[np.ndarray, " walks"]
) -> Pairs:
    """The pair each walk belongs to and where it stands, one edge further."""
    begin, target = edges
    owner, edge = ragged_ranges(begin[at], begin[at + 1] - begin[at])
    return pair[owner], target[edge]


def are_edges(
    edges: DirectedGraph, label: int, x: Int64[np.ndarray, " pairs"], y: Int64[np.ndarray, " pairs"]
) -> Bool[np.ndarray, " pairs"]:
    """Which pairs are edges of a directed relation."""
    adjacency = edges.by_relation[label]
    keys = np.sort(adjacency.sources * edges.entities + adjacency.targets)
    return in_sorted(keys, x * edges.entities + y)


def in_sorted(
    keys: Int64[np.ndarray, " keys"], asked: Int64[np.ndarray, " asked"]
) -> Bool[np.ndarray, " asked"]:
    """Which numbers are among some that are sorted."""
    if not len(keys):
        return np.zeros(len(asked), bool)
    at = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    return np.asarray(keys[at] == asked)
