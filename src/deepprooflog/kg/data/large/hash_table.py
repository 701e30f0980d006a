"""Numbers by hashes of 128 bits: a table in which many are looked up, or added, at a time.

An entry stands at the place that the high bits of its first hash name, or at the next one behind
that was free. At most two thirds of the places are taken, so that looking one up takes as many
steps in a large table as in a small one; a table that gets fuller is made twice as large.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int32, Int64, UInt64

BITS = 10  # of the places to begin with
MOST = 2**31 - 1  # numbers are 32 bits wide


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
            number = self._number.take(place)
            taken = number >= 0
            same = taken & (self._first.take(place) == first)
            here, on = np.flatnonzero(same), np.flatnonzero(taken & ~same)
            if (self._second.take(place[here]) != second[here]).any():
                raise ArithmeticError("two names of one hash")
            found[left[here]] = number[here]
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
        if 3 * self._count > 2 * len(self._number):
            self._grow()
        self._put(first, second, numbers)

    def _put(
        self,
        first: UInt64[np.ndarray, " new"],
        second: UInt64[np.ndarray, " new"],
        numbers: Int64[np.ndarray, " new"] | Int32[np.ndarray, " new"],
    ) -> None:
        left, place = np.arange(len(first)), self._home(first)
        while len(left):
            free = np.flatnonzero(self._number[place] < 0)
            own = numbers[left[free]]
            self._number[place[free]] = own  # of several for one place, one stays
            stays = free[self._number[place[free]] == own]
            self._first[place[stays]] = first[left[stays]]
            self._second[place[stays]] = second[left[stays]]
            on = np.ones(len(left), dtype=bool)
            on[stays] = False
            left, place = left[on], (place[on] + 1) & self._last

    def _grow(self) -> None:
        """Move all to a table with room for as many as are counted."""
        taken = np.flatnonzero(self._number >= 0)
        first, second, number = self._first[taken], self._second[taken], self._number[taken]
        self._clear((3 * self._count // 2).bit_length())
        self._put(first, second, number)

    def _clear(self, bits: int) -> None:
        self._shift, self._last = np.uint64(64 - bits), 2**bits - 1
        self._number: Int32[np.ndarray, " places"] = np.full(2**bits, -1, dtype=np.int32)
        self._first: UInt64[np.ndarray, " places"] = np.empty(2**bits, dtype=np.uint64)
        self._second: UInt64[np.ndarray, " places"] = np.empty(2**bits, dtype=np.uint64)

    def _home(self, first: UInt64[np.ndarray, " some"]) -> Int64[np.ndarray, " some"]:
        return (first >> self._shift).astype(np.int64)
