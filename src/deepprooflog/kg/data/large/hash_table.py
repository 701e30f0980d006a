"""Numbers by hashes of 128 bits: a table in which many are looked up, or added, at a time.

An entry stands at the place that the high bits of its first hash name, or at the next one behind
that was free. At most two thirds of the places are taken, so that looking one up takes as many
steps in a large table as in a small one; a table that gets fuller is made twice as large.

An entry is 16 bytes, so that a look reads one place in memory, which is what costs time in a large
table: the first hash, half of the second, and the number. Entries are told apart by these 96 bits.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int32, Int64, UInt64

BITS = 10  # of the places to begin with
MOST = 2**31 - 1  # numbers and one more are half of a word
_NUMBER, _HALF = np.uint64(2**32 - 1), np.uint64((2**32 - 1) << 32)


class HashTable:
    """The number of each pair of hashes, from 0 on.

    >>> table, few = HashTable(), np.array([2**63, 5], np.uint64)
    >>> table.add(few, few, np.array([0, 1]))
    >>> other = np.array([5, 6], np.uint64)
    >>> table.find(other, other).tolist(), len(table)
    ([1, -1], 2)
    """

    def __init__(self) -> None:
        self._count = 0
        self._clear(BITS)

    def __len__(self) -> int:
        return self._count

    def find(
        self, first: UInt64[np.ndarray, " asked"], second: UInt64[np.ndarray, " asked"]
    ) -> Int64[np.ndarray, " asked"]:
        """The number of each, -1 where it is not here."""
        found = np.full(len(first), -1, dtype=np.int64)
        left, place = np.arange(len(first)), self._home(first)
        while len(left):
            entry = self._entries.take(place, axis=0)
            taken = entry[:, 1] != 0
            same = taken & (entry[:, 0] == first)
            here, on = np.flatnonzero(same), np.flatnonzero(taken & ~same)
            other = entry[here, 1]
            if ((other ^ second[here]) & _HALF).any():
                raise ArithmeticError("two names of one hash")
            found[left[here]] = (other & _NUMBER).astype(np.int64) - 1
            left, first, second = left[on], first[on], second[on]
            place = (place[on] + 1) & self._last
        return found

    def add(
        self,
        first: UInt64[np.ndarray, " new"],
        second: UInt64[np.ndarray, " new"],
        numbers: Int64[np.ndarray, " new"] | Int32[np.ndarray, " new"],
    ) -> None:
        """Take in what is not here yet, each once."""
        if self._count + len(first) > MOST:
            raise OverflowError(f"more than {MOST:,} entries")
        self._count += len(first)
        if 3 * self._count > 2 * len(self._entries):
            self._grow()
        # The number and one more, so that no entry is 0.
        self._put(np.stack([first, (second & _HALF) | (numbers + 1).astype(np.uint64)], 1))

    def _put(self, entry: UInt64[np.ndarray, "new 2"]) -> None:
        place = self._home(entry[:, 0])
        while len(entry):
            free = np.flatnonzero(self._entries[place, 1] == 0)
            self._entries[place[free]] = entry[free]  # of several for one place, one stays
            on = np.ones(len(entry), dtype=bool)
            on[free] = self._entries[place[free], 1] != entry[free, 1]
            entry, place = entry[on], (place[on] + 1) & self._last

    def _grow(self) -> None:
        """Move all to a table with room for as many as are counted."""
        before = self._entries[self._entries[:, 1] != 0]
        self._clear((3 * self._count // 2).bit_length())
        self._put(before)

    def _clear(self, bits: int) -> None:
        self._shift, self._last = np.uint64(64 - bits), 2**bits - 1
        self._entries: UInt64[np.ndarray, "places 2"] = np.zeros((2**bits, 2), dtype=np.uint64)

    def _home(self, first: UInt64[np.ndarray, " some"]) -> Int64[np.ndarray, " some"]:
        return (first >> self._shift).astype(np.int64)
