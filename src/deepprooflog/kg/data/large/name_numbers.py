"""Numbers for names that stand somewhere in bytes, in the order in which they first occur.

A name is told by a hash of 128 bits whose multipliers are drawn anew for each table, so that two
names of one hash are not to be expected in any graph, by chance or on purpose. The hashes seen so
far are kept sorted: what a piece of a file adds is sorted for itself and merged.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int64, UInt8, UInt64

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
        self._first = np.zeros(0, dtype=np.uint64)  # sorted
        self._second = np.zeros(0, dtype=np.uint64)
        self._numbers = np.zeros(0, dtype=np.int64)
        self._names: list[UInt8[np.ndarray, " bytes"]] = []
        self._sizes: list[Int64[np.ndarray, " new"]] = []

    def __len__(self) -> int:
        return len(self._first)

    def number(
        self,
        raw: UInt8[np.ndarray, " bytes"],
        begin: Int64[np.ndarray, " fields"],
        end: Int64[np.ndarray, " fields"],
    ) -> Int64[np.ndarray, " fields"]:
        """The number of each field of padded bytes; who is not known yet gets the next one."""
        first, second = hashes(self._keys, raw, begin, end)
        order = np.argsort(first, kind="stable")
        ordered = first[order]
        starts = np.append(True, ordered[1:] != ordered[:-1]) if len(order) else ordered > 0
        group = np.cumsum(starts) - 1
        leaders = order[starts]  # stable: of each name where it first stands
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
        place = np.searchsorted(self._first, first[leaders])
        known = np.zeros(len(leaders), dtype=bool)
        inside = place < len(self._first)
        known[inside] = self._first[place[inside]] == first[leaders[inside]]
        if (self._second[place[known]] != second[leaders[known]]).any():
            raise ArithmeticError("two names of one hash")
        numbers = np.empty(len(leaders), dtype=np.int64)
        numbers[known] = self._numbers[place[known]]
        fresh = np.flatnonzero(~known)
        met = np.argsort(leaders[fresh])  # as they stand in the bytes
        numbers[fresh[met]] = np.arange(len(self), len(self) + len(fresh))
        at, new = place[fresh], leaders[fresh]
        self._first = np.insert(self._first, at, first[new])
        self._second = np.insert(self._second, at, second[new])
        self._numbers = np.insert(self._numbers, at, numbers[fresh])
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
