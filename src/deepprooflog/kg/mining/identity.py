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
from deepprooflog.kg.mining.reach import STRIPE, at_start, next_step

BLOCK = 1 << 20  # walks that are held at once
FEW_WALKS = 16  # of a pair's, evenly apart, that are tried before all

Pairs = tuple[Int64[np.ndarray, " pairs"], Int64[np.ndarray, " pairs"]]


def pairs_without(
    edges: DirectedGraph, a: int, b: int, c: int, *, of: Bool[np.ndarray, " entities"] | None = None
) -> Pairs:
    """The pairs (x, y) with a(x, y) that a, b, c connects only by meeting an entity twice.

    All of them, or those of some x.
    """
    first = edges.by_relation[a]
    returns = _back_and_forth(edges, b, c)
    kept = returns[first.targets]
    if of is not None:
        kept &= of[first.sources]
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
    found = np.zeros(len(x), bool)
    ends = np.unique(y)
    for low in range(0, len(ends), STRIPE):
        reach = at_start(ends[low : low + STRIPE], edges.entities)
        for label in inverse.tolist():
            reach = next_step(reach, edges.by_relation[label]).without_loops()
        found |= reach.has(y, x)
    return found


def _counted(
    edges: DirectedGraph,
    path: tuple[int, int, int],
    x: Int64[np.ndarray, " pairs"],
    y: Int64[np.ndarray, " pairs"],
) -> Bool[np.ndarray, " pairs"]:
    """Which pairs have a path with z ≠ y and w ≠ x: by a few walks of two edges, else by all.

    Where two relations lead nearly everywhere, nearly any walk is the beginning of such a path.
    """
    first, second, last = (edges.by_relation[d] for d in path)
    a, b = by_source(first), by_source(second)
    keys = last.targets * edges.entities + last.sources
    walks = np.concatenate([np.zeros(1, np.int64), np.cumsum(second.out_degree[a[1]])])
    begin, end = walks[a[0][x]], walks[a[0][x + 1]]
    found = np.zeros(len(x), bool)

    def look(pair: Int64[np.ndarray, " walks"], walk: Int64[np.ndarray, " walks"]) -> None:
        edge = np.searchsorted(walks, walk, side="right") - 1
        z = a[1][edge]
        w = b[1][b[0][z] + walk - walks[edge]]
        kept = (z != y[pair]) & (w != x[pair])
        pair, w = pair[kept], w[kept]
        found[pair[in_sorted(keys, y[pair] * edges.entities + w)]] = True

    for number in range(FEW_WALKS):
        pair = np.flatnonzero(~found & (end > begin))
        look(pair, begin[pair] + number * (end - begin)[pair] // FEW_WALKS)
    rest = np.flatnonzero(~found & (end - begin > FEW_WALKS))
    for low, high in blocks((end - begin)[rest], BLOCK):
        owner, walk = ragged_ranges(begin[rest[low:high]], (end - begin)[rest[low:high]])
        look(rest[low:high][owner], walk)
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
