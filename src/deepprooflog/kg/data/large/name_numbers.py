"""Numbers for names that stand somewhere in bytes, in the order in which they first occur.

A name is told by a hash of 128 bits whose multipliers are drawn anew for each table, so that two
names of one hash are not to be expected in any graph, by chance or on purpose. The hashes seen so
far are kept sorted, those met lately in a smaller table of their own: what a piece of a file adds
is merged into that, and it into the larger one when it has grown to a share of it. So a hash moves
as often as the table doubles, not as often as there are pieces.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64, UInt8, UInt64

LATELY = 1_000_000
SHARE = 4
_SPREAD = np.uint64(29)
_PADDING = 8
_WORD = 2**64 - 1


class NameNumbers:
    """A table of names met so far; `number` takes more of them.

    >>> table, text = NameNumbers(), np.frombuffer(b"ann bob ann", np.uint8)
    >>> table.number(padded(text), np.array([0, 4, 8]), np.array([3, 7, 11])).tolist()
    [0, 1, 0]
    >>> table.names().tobytes(), table.ends().tolist()
    (b'annbob', [3, 6])
    """

    def __init__(self) -> None:
        self._keys = [np.uint64(secrets.randbits(64) | 1) for _ in range(2)]
        self._all, self._lately = _SortedHashes.empty(), _SortedHashes.empty()
        self._names: list[UInt8[np.ndarray, " bytes"]] = []
        self._sizes: list[Int64[np.ndarray, " new"]] = []

    def __len__(self) -> int:
        return len(self._all) + len(self._lately)

    def number(
        self,
        raw: UInt8[np.ndarray, " bytes"],
        begin: Int64[np.ndarray, " fields"],
        end: Int64[np.ndarray, " fields"],
    ) -> Int64[np.ndarray, " fields"]:
        """The number of each field of padded bytes; who is not known yet gets the next one."""
        first, second = hashes(self._keys, raw, begin, end)
        if not len(first):
            return np.empty(0, dtype=np.int64)
        order = np.argsort(first)  # not stable, which takes a quarter of the time
        ordered = first[order]
        starts = np.append(True, ordered[1:] != ordered[:-1])
        group = np.cumsum(starts) - 1
        leaders = np.minimum.reduceat(order, np.flatnonzero(starts))  # where a name first stands
        if (second[order] != second[leaders][group]).any():
            raise ArithmeticError("two names of one hash")
        found = np.empty(len(first), dtype=np.int64)
        found[order] = self._merged(first, second, leaders, raw, begin, end)[group]
        return found

    def names(self) -> UInt8[np.ndarray, " bytes"]:
        """All names, one after the other."""
        return np.concatenate([np.zeros(0, dtype=np.uint8), *self._names])

    def ends(self) -> Int64[np.ndarray, " names"]:
        """Where each name ends among all."""
        return np.cumsum(np.concatenate([np.zeros(0, dtype=np.int64), *self._sizes]))

    def _merged(
        self,
        first: UInt64[np.ndarray, " fields"],
        second: UInt64[np.ndarray, " fields"],
        leaders: Int64[np.ndarray, " distinct"],
        raw: UInt8[np.ndarray, " bytes"],
        begin: Int64[np.ndarray, " fields"],
        end: Int64[np.ndarray, " fields"],
    ) -> Int64[np.ndarray, " distinct"]:
        """The numbers of distinct fields that are sorted by their hash."""
        own, other = first[leaders], second[leaders]
        numbers, place = self._lately.find(own, other)
        rest = np.flatnonzero(numbers < 0)
        numbers[rest], _ = self._all.find(own[rest], other[rest])
        fresh = np.flatnonzero(numbers < 0)
        met = np.argsort(leaders[fresh])  # as they stand in the bytes
        numbers[fresh[met]] = np.arange(len(self), len(self) + len(fresh))
        new = leaders[fresh]
        self._lately = self._lately.with_new(place[fresh], first[new], second[new], numbers[fresh])
        if len(self._lately) > max(LATELY, len(self._all) // SHARE):
            at = np.searchsorted(self._all.first, self._lately.first)
            self._all = self._all.with_new(
                at, self._lately.first, self._lately.second, self._lately.numbers
            )
            self._lately = _SortedHashes.empty()
        self._keep(raw, begin[new[met]], end[new[met]])
        return numbers

    def _keep(
        self,
        raw: UInt8[np.ndarray, " bytes"],
        begin: Int64[np.ndarray, " new"],
        end: Int64[np.ndarray, " new"],
    ) -> None:
        sizes = end - begin
        skip = begin - (np.cumsum(sizes) - sizes)
        self._names.append(raw[np.arange(int(sizes.sum())) + np.repeat(skip, sizes)])
        self._sizes.append(sizes)


@dataclass(frozen=True, eq=False)
class _SortedHashes:
    """Both hashes of some names, sorted by the first, and the names' numbers."""

    first: UInt64[np.ndarray, " names"]
    second: UInt64[np.ndarray, " names"]
    numbers: Int64[np.ndarray, " names"]

    @classmethod
    def empty(cls) -> _SortedHashes:
        hashes = np.zeros(0, dtype=np.uint64)
        return cls(hashes, hashes, np.zeros(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.first)

    def find(
        self, first: UInt64[np.ndarray, " asked"], second: UInt64[np.ndarray, " asked"]
    ) -> tuple[Int64[np.ndarray, " asked"], Int64[np.ndarray, " asked"]]:
        """The number of each hash, -1 where it is not here, and where it stands or would."""
        place = np.searchsorted(self.first, first)
        numbers = np.full(len(first), -1, dtype=np.int64)
        inside = np.flatnonzero(place < len(self.first))
        here = inside[self.first[place[inside]] == first[inside]]
        if (self.second[place[here]] != second[here]).any():
            raise ArithmeticError("two names of one hash")
        numbers[here] = self.numbers[place[here]]
        return numbers, place

    def with_new(
        self,
        at: Int64[np.ndarray, " new"],
        first: UInt64[np.ndarray, " new"],
        second: UInt64[np.ndarray, " new"],
        numbers: Int64[np.ndarray, " new"],
    ) -> _SortedHashes:
        """These with others, which are sorted and stand at `at`."""
        return _SortedHashes(
            np.insert(self.first, at, first),
            np.insert(self.second, at, second),
            np.insert(self.numbers, at, numbers),
        )


def hashes(
    keys: Sequence[np.uint64],
    raw: UInt8[np.ndarray, " padded"],
    begin: Int64[np.ndarray, " fields"],
    end: Int64[np.ndarray, " fields"],
) -> list[UInt64[np.ndarray, " fields"]]:
    """The hash of each field of padded bytes by each key, eight bytes of all fields at a time."""
    words = np.ndarray((len(raw) - _PADDING + 1,), dtype="<u8", buffer=raw, strides=(1,))
    sizes = end - begin
    every = [sizes.astype(np.uint64) * key for key in keys]
    rows = np.arange(len(sizes))
    for at in range(0, int(sizes.max(initial=0)), 8):
        if at:
            rows = rows[sizes[rows] > at]
        left = np.minimum(sizes[rows] - at, 8).astype(np.uint64)
        word = words[begin[rows] + at]
        word &= np.uint64(_WORD) >> (np.uint64(64) - left * np.uint64(8))
        for key, found in zip(keys, every, strict=True):
            mixed = (found[rows] ^ word) * key
            found[rows] = (mixed ^ (mixed >> _SPREAD)) * key
    return [found ^ (found >> _SPREAD) for found in every]


def hash_of(key: int, raw: bytes) -> int:
    """The hash that `hashes` gives one field.

    >>> raw = np.frombuffer(b"a longer name", np.uint8)
    >>> (found,) = hashes([np.uint64(5)], padded(raw), np.array([0]), np.array([len(raw)]))
    >>> int(found[0]) == hash_of(5, raw.tobytes())
    True
    """
    found = len(raw) * key & _WORD
    for at in range(0, len(raw), 8):
        mixed = (found ^ int.from_bytes(raw[at : at + 8], "little")) * key & _WORD
        found = (mixed ^ mixed >> int(_SPREAD)) * key & _WORD
    return found ^ found >> int(_SPREAD)


def padded(raw: UInt8[np.ndarray, " bytes"]) -> UInt8[np.ndarray, " padded"]:
    """Bytes with so many more that every word of eight can be read."""
    return np.concatenate([raw, np.zeros(_PADDING, dtype=np.uint8)])
