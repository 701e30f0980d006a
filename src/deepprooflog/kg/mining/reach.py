"""Which entities a path leads to, as rows of bits: a product of sparse relations in bounded memory.

For sources x and a path a, b, … the row of a target y has a bit for each x that reaches it. One
step further is an OR of rows for each target; how many pairs a path connects is a count of bits.
Sources are taken STRIPE at a time, so that a row has 256 bytes at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int64, UInt64

from deepprooflog.kg.mining.adjacency import Adjacency
from deepprooflog.kg.mining.blocks import blocks

STRIPE = 2048
MOST_ROWS = 1 << 16  # gathered at once

_ONE, _WORD = np.uint64(1), np.int64(63)


@dataclass(frozen=True, eq=False)
class Reach:
    """Pairs (source, target) as bits; both in order of their numbers."""

    sources: Int64[np.ndarray, " sources"]
    targets: Int64[np.ndarray, " targets"]
    bits: UInt64[np.ndarray, "targets words"]
    entities: int

    @cached_property
    def row(self) -> Int64[np.ndarray, " entities"]:
        """Each entity's row, −1 for one that is not reached."""
        return _positions(self.targets, self.entities)

    @cached_property
    def column(self) -> Int64[np.ndarray, " entities"]:
        """Each entity's bit, −1 for one that is no source here."""
        return _positions(self.sources, self.entities)

    @cached_property
    def row_counts(self) -> Int64[np.ndarray, " targets"]:
        """The number of sources that reach each target."""
        return np.asarray(np.bitwise_count(self.bits).sum(1, dtype=np.int64))

    def has(
        self, x: Int64[np.ndarray, " pairs"], y: Int64[np.ndarray, " pairs"]
    ) -> Bool[np.ndarray, " pairs"]:
        """Which pairs are connected; those of other sources are not."""
        row, column = self.row[y], self.column[x]
        connected = (row >= 0) & (column >= 0)
        known = np.flatnonzero(connected)
        row, column = row[known], column[known]
        words = self.bits[row, column >> 6] >> (column & _WORD).astype(np.uint64)
        connected[known] = (words & _ONE).astype(bool)
        return np.asarray(connected)

    def without(self, x: Int64[np.ndarray, " pairs"], y: Int64[np.ndarray, " pairs"]) -> Reach:
        """The same without some pairs."""
        row, column = self.row[y], self.column[x]
        known = (row >= 0) & (column >= 0)
        if not known.any():
            return self
        row, column = row[known], column[known]
        bits = self.bits.copy()
        mask = ~(_ONE << (column & _WORD).astype(np.uint64))
        np.bitwise_and.at(bits, (row, column >> 6), mask)
        return Reach(self.sources, self.targets, bits, self.entities)

    def without_loops(self) -> Reach:
        """The same without the pairs of an entity and itself."""
        return self.without(self.targets, self.targets)

    def among(self, sources: Bool[np.ndarray, " entities"]) -> Int64[np.ndarray, " targets"]:
        """The number of sources of a set that reach each target."""
        mask = _packed(sources[self.sources])
        return np.asarray(np.bitwise_count(self.bits & mask).sum(1, dtype=np.int64))

    def pairs(self) -> tuple[Int64[np.ndarray, " pairs"], Int64[np.ndarray, " pairs"]]:
        """All pairs: the sources, and the targets they reach."""
        words = self.bits.shape[1]
        some = np.flatnonzero(self.bits)
        octets = self.bits.reshape(-1)[some].astype("<u8").view(np.uint8).reshape(-1, 8)
        word, bit = np.nonzero(np.unpackbits(octets, axis=1, bitorder="little"))
        row, column = np.divmod(some[word], words)
        return self.sources[column * 64 + bit], self.targets[row]

    def reached(self, sources: Int64[np.ndarray, " some"]) -> Bool[np.ndarray, "targets some"]:
        """Which targets some of the sources reach."""
        column = self.column[sources]
        words = self.bits[:, column >> 6] >> (column & _WORD).astype(np.uint64)
        return np.asarray((words & _ONE).astype(bool))


def first_step(edges: Adjacency, low: int = 0, high: int | None = None) -> Reach:
    """The pairs of one relation; of the sources number `low` to `high` of its domain.

    >>> reach = first_step(Adjacency(np.array([0, 1]), np.array([2, 2]), 3))
    >>> reach.targets.tolist(), reach.row_counts.tolist()
    ([2], [2])
    """
    sources = edges.domain[low:high]
    column = _positions(sources, edges.entities)[edges.sources]
    kept = column >= 0
    column, target = column[kept], edges.targets[kept]
    begins = _starts(target)
    targets = target[begins]
    words = max(1, (len(sources) + 63) // 64)
    row = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(target))))
    bits = np.zeros((len(targets), words), np.uint64)
    place = row * words + (column >> 6)
    starts = _starts(place)
    if len(starts):
        value = _ONE << (column & _WORD).astype(np.uint64)
        bits.reshape(-1)[place[starts]] = np.bitwise_or.reduceat(value, starts)
    return Reach(sources, targets, bits, edges.entities)


def at_start(sources: Int64[np.ndarray, " sources"], entities: int) -> Reach:
    """Each of some entities, in order, reaches itself.

    >>> at_start(np.array([2, 5]), 6).pairs()
    (array([2, 5]), array([2, 5]))
    """
    number = np.arange(len(sources))
    bits = np.zeros((len(sources), max(1, (len(sources) + 63) // 64)), np.uint64)
    bits[number, number >> 6] = _ONE << (number & _WORD).astype(np.uint64)
    return Reach(sources, sources, bits, entities)


def next_step(reach: Reach, edges: Adjacency) -> Reach:
    """The pairs one edge further."""
    row = reach.row[edges.sources]
    kept = row >= 0
    row, target = row[kept], edges.targets[kept]
    begins = _starts(target)
    targets = target[begins]
    words = reach.bits.shape[1]
    bits = np.empty((len(targets), words), np.uint64)
    for low, high in blocks(np.diff(np.append(begins, len(row))), MOST_ROWS):
        part = begins[low:high]
        end = begins[high] if high < len(begins) else len(row)
        rows = reach.bits[row[part[0] : end]]
        np.bitwise_or.reduceat(rows, part - part[0], axis=0, out=bits[low:high])
    return Reach(reach.sources, targets, bits, reach.entities)


def stripes(edges: Adjacency) -> Iterator[tuple[int, int]]:
    """The ranges of sources that are taken one after another."""
    for low in range(0, len(edges.domain), STRIPE):
        yield low, min(low + STRIPE, len(edges.domain))


def walked(path: Sequence[Adjacency], low: int, high: int, identity: bool) -> Reach:
    """The pairs that a path connects, for a stripe of sources.

    Under object identity no entity is met twice in a row of three; a path of three edges may still
    end where its first edge led.
    """
    reach = first_step(path[0], low, high)
    for edges in path[1:]:
        reach = next_step(reach, edges)
        if identity:
            reach = reach.without_loops()
    return reach


def _starts(values: Int64[np.ndarray, " items"]) -> Int64[np.ndarray, " runs"]:
    """Where each run of equal values begins."""
    if not len(values):
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.concatenate([np.ones(1, bool), values[1:] != values[:-1]]))


def _positions(
    members: Int64[np.ndarray, " members"], entities: int
) -> Int64[np.ndarray, " entities"]:
    """The place of each entity in a list, −1 for one that is not in it."""
    found = np.full(entities, -1)
    found[members] = np.arange(len(members))
    return found


def _packed(flags: Bool[np.ndarray, " sources"]) -> UInt64[np.ndarray, " words"]:
    """Flags as bits, the first the lowest."""
    padded = np.zeros(-(-max(len(flags), 1) // 64) * 64, bool)
    padded[: len(flags)] = flags
    return np.packbits(padded, bitorder="little").view("<u8").astype(np.uint64)
