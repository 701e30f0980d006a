"""The numbers of names in a file: a name is found by its hash, and compared where that is met.

The hashes of all names lie sorted in the file, with the numbers of these. What is asked for by name
costs one binary search among them; two names of one hash are told apart by their letters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from jaxtyping import Int64, UInt8, UInt64

from deepprooflog.kg.data.large.entity_names import EntityNames, encoded
from deepprooflog.kg.data.large.name_numbers import hash_of, hashes, padded
from deepprooflog.syntax.terms import Atom, Float, Str, Term

_PIECE = 1_000_000


class NameIndex(Mapping[Term, int]):
    """The number of each name, as a dictionary of the same would have it.

    >>> names = EntityNames.of((Atom("ann"), 7, Atom("7")))
    >>> index = NameIndex(names, 5, *sorted_hashes(names, 5))
    >>> index[Atom("7")], index[7], index.get(Atom("bob")), len(index)
    (2, 1, None, 3)
    """

    def __init__(
        self,
        names: EntityNames,
        key: int,
        sorted_hash: UInt64[np.ndarray, " names"],
        number: np.ndarray,
    ) -> None:
        self._names, self._key = names, key
        self._hash, self._number = sorted_hash, number

    def __getitem__(self, name: Term) -> int:
        if isinstance(name, int | Atom | Float | Str):
            own = np.uint64(hash_of(self._key, encoded(name)[1]))
            at = int(np.searchsorted(self._hash, own))
            while at < len(self._hash) and self._hash[at] == own:
                number = int(self._number[at])
                if self._names[number] == name:
                    return number
                at += 1
        raise KeyError(name)

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[Term]:
        return iter(self._names)


def sorted_hashes(names: EntityNames, key: int) -> tuple[UInt64[np.ndarray, " names"], np.ndarray]:
    """The hashes of all names in order, and whose they are."""
    found = np.empty(len(names), dtype=np.uint64)
    for first in range(0, len(names), _PIECE):
        raw, begin, end = _some(names.names, names.ends, first, first + _PIECE)
        found[first : first + _PIECE] = hashes([np.uint64(key)], padded(raw), begin, end)[0]
    order = np.argsort(found)
    return found[order], order.astype(np.int32)


def _some(
    names: UInt8[np.ndarray, " bytes"], ends: Int64[np.ndarray, " names"], first: int, last: int
) -> Sequence[np.ndarray]:
    """The bytes of a range of names, and where in them each begins and ends."""
    at = int(ends[first - 1]) if first else 0
    end = ends[first:last] - at
    return names[at : at + int(end[-1])], np.append(0, end[:-1]), end
