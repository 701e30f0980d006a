"""Numbers for names that stand somewhere in bytes, in the order in which they first occur.

A name is told by a hash of 128 bits, of which a table keeps 96. The multipliers are drawn anew for
each table, so that two names of one hash are not to be expected in any graph, by chance or on
purpose. Only those of a
piece that are not known yet are put into order.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int64, UInt8, UInt64

from deepprooflog.kg.data.large.hash_table import HashTable

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
        self._known = HashTable()
        self._names: list[UInt8[np.ndarray, " bytes"]] = []
        self._sizes: list[Int64[np.ndarray, " new"]] = []

    def __len__(self) -> int:
        return len(self._known)

    def number(
        self,
        raw: UInt8[np.ndarray, " bytes"],
        begin: Int64[np.ndarray, " fields"],
        end: Int64[np.ndarray, " fields"],
    ) -> Int64[np.ndarray, " fields"]:
        """The number of each field of padded bytes; who is not known yet gets the next one."""
        first, second = hashes(self._keys, raw, begin, end)
        found = self._known.find(first, second)
        fresh = np.flatnonzero(found < 0)
        if len(fresh):
            group, leaders = _equal(first[fresh], second[fresh])
            leaders = fresh[leaders]
            numbers = np.empty(len(leaders), dtype=np.int64)
            met = np.argsort(leaders)  # as they stand in the bytes
            numbers[met] = np.arange(len(self), len(self) + len(leaders))
            found[fresh] = numbers[group]
            self._known.add(first[leaders], second[leaders], numbers)
            self._keep(raw, begin[leaders[met]], end[leaders[met]])
        return found

    def names(self) -> UInt8[np.ndarray, " bytes"]:
        """All names, one after the other."""
        return np.concatenate([np.zeros(0, dtype=np.uint8), *self._names])

    def ends(self) -> Int64[np.ndarray, " names"]:
        """Where each name ends among all."""
        return np.cumsum(np.concatenate([np.zeros(0, dtype=np.int64), *self._sizes]))

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


def _equal(
    first: UInt64[np.ndarray, " fields"], second: UInt64[np.ndarray, " fields"]
) -> tuple[Int64[np.ndarray, " fields"], Int64[np.ndarray, " distinct"]]:
    """Which group of equal hashes each is in, and where the first of each group stands."""
    order = np.argsort(first)  # not stable, which takes a quarter of the time
    ordered = first[order]
    starts = np.append(True, ordered[1:] != ordered[:-1])
    leaders = np.minimum.reduceat(order, np.flatnonzero(starts))
    group = np.empty(len(first), dtype=np.int64)
    group[order] = np.cumsum(starts) - 1
    if (second != second[leaders][group]).any():
        raise ArithmeticError("two names of one hash")
    return group, leaders


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
