"""Relations that say the same: the other way round, or twice under two names.

Of relations r and s, the facts r(h, t) with h ≠ t are counted for which s(t, h) is a fact (inverse;
of r = s: symmetric), or s(h, t) (duplicate). A pair is named where the share of both relations'
facts reaches a threshold, as in Akrami et al. 2020.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Int64

from deepprooflog.graph.goalgraph import ragged_ranges
from deepprooflog.kg.data.triples import Graph

THRESHOLD = 0.8
_AT_ONCE = 1_000_000  # pairs of facts


@dataclass(frozen=True)
class RelationPair:
    """Two relations that share facts: how many of each, and how many of them the other has."""

    kind: Literal["inverse", "symmetric", "duplicate"]
    first: str
    second: str
    shared: int
    of_first: int
    of_second: int

    @property
    def share(self) -> float:
        """The smaller of the two shares."""
        return self.shared / max(self.of_first, self.of_second)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {**asdict(self), "share": self.share}


def relation_pairs(graph: Graph, threshold: float = THRESHOLD) -> tuple[RelationPair, ...]:
    """The pairs of relations that say the same in the training triples, the surest first.

    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = graph_of([("a", "parent", "b"), ("b", "child", "a"), ("a", "child", "c")])
    >>> [(p.kind, p.first, p.second, p.shared, p.of_second) for p in relation_pairs(graph, 0.5)]
    [('inverse', 'parent', 'child', 1, 2)]
    """
    rows = graph.train[graph.train[:, 0] != graph.train[:, 2]]
    sizes = np.bincount(rows[:, 1], minlength=len(graph.relations))
    found = []
    for turned in (True, False):
        for code, shared in _shared(rows, len(graph.entities), len(graph.relations), turned):
            first, second = divmod(code, len(graph.relations))
            # A pair is met from both sides; a relation shares all its facts with itself.
            if first > second or (first == second and not turned):
                continue
            kind: Literal["inverse", "symmetric", "duplicate"] = "duplicate"
            if turned:
                kind = "symmetric" if first == second else "inverse"
            pair = RelationPair(
                kind, graph.relations[first], graph.relations[second], shared,
                int(sizes[first]), int(sizes[second]),
            )  # fmt: skip
            if pair.share >= threshold:
                found.append(pair)
    return tuple(sorted(found, key=lambda pair: (-pair.share, pair.kind, pair.first, pair.second)))


def _shared(
    rows: Int64[np.ndarray, "triples 3"], entities: int, relations: int, turned: bool
) -> Iterator[tuple[int, int]]:
    """Each pair of relations, as r · relations + s, and how many facts they share."""
    head, relation, tail = rows.T
    order = np.argsort(head * entities + tail, kind="stable")
    keys, named = (head * entities + tail)[order], relation[order]
    wanted = tail * entities + head if turned else head * entities + tail
    begin = np.searchsorted(keys, wanted, "left")
    count = np.searchsorted(keys, wanted, "right") - begin
    ends = np.cumsum(count)
    totals: dict[int, int] = {}
    start = 0
    while start < len(rows):
        base = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, base + _AT_ONCE, "right")))
        which, at = ragged_ranges(begin[start:stop], count[start:stop])
        codes, many = np.unique(
            relation[start:stop][which] * relations + named[at], return_counts=True
        )
        for code, number in zip(codes.tolist(), many.tolist(), strict=True):
            totals[code] = totals.get(code, 0) + number
        start = stop
    yield from totals.items()
