"""The names of entities as bytes in one array, of which a term is made where one is asked for.

Name number e is `names[ends[e - 1] : ends[e]]` and says by its kind what term it is. Ten million
names take as much memory as their letters, and none at all where the array is mapped from a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import overload

import numpy as np
from jaxtyping import Int64, UInt8

from deepprooflog.logic.limits.gc_pause import gc_paused
from deepprooflog.syntax.numerals import format_integer, parse_integer
from deepprooflog.syntax.terms import Atom, Float, Str, Term

ATOM, INTEGER, FLOAT, STRING = range(4)
_PIECE = 100_000


class EntityNames(Sequence[Term]):
    """Entities by number, equal to a tuple of the same terms.

    >>> names = EntityNames.of((Atom("ann"), 7))
    >>> names[0], names[-1], names == (Atom("ann"), 7), len(names)
    (Atom('ann'), 7, True, 2)
    """

    def __init__(
        self,
        names: UInt8[np.ndarray, " bytes"],
        ends: Int64[np.ndarray, " entities"],
        kinds: UInt8[np.ndarray, " entities"],
    ) -> None:
        last = int(ends[-1]) if len(ends) else 0
        if len(ends) != len(kinds) or last != len(names):
            raise ValueError("names that do not fit their places")
        self.names, self.ends, self.kinds = names, ends, kinds
        self.numbers: Mapping[Term, int] | None = None  # where the file has an index of them

    @classmethod
    def of(cls, terms: Sequence[Term]) -> EntityNames:
        """The same terms as bytes."""
        if isinstance(terms, EntityNames):
            return terms
        raw = [encoded(term) for term in terms]
        return cls(
            np.frombuffer(b"".join(name for _, name in raw), dtype=np.uint8),
            np.cumsum([len(name) for _, name in raw], dtype=np.int64),
            np.array([kind for kind, _ in raw], dtype=np.uint8),
        )

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, at: int) -> Term: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Term]: ...
    def __getitem__(self, at: int | slice) -> Term | Sequence[Term]:
        if isinstance(at, slice):
            return tuple(self[number] for number in range(*at.indices(len(self))))
        number = at + len(self) if at < 0 else at
        if not 0 <= number < len(self):
            raise IndexError(f"no entity {at}")
        begin = int(self.ends[number - 1]) if number else 0
        raw = self.names[begin : int(self.ends[number])].tobytes()
        return _term(raw.decode("utf-8", "surrogatepass"), int(self.kinds[number]))

    def __iter__(self) -> Iterator[Term]:
        pieces = range(0, len(self), _PIECE)
        return chain.from_iterable(self._terms(begin, begin + _PIECE) for begin in pieces)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple | EntityNames):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"EntityNames({len(self):,} entities)"

    @gc_paused()
    def _terms(self, first: int, last: int) -> list[Term]:
        """Those of a range, which takes a tenth of the time of one after the other."""
        begin = int(self.ends[first - 1]) if first else 0
        ends, kinds = self.ends[first:last], self.kinds[first:last]
        raw, at, found = self.names[begin : int(ends[-1])].tobytes(), 0, list[Term]()
        for end, kind in zip((ends - begin).tolist(), kinds.tolist(), strict=True):
            text = raw[at:end].decode("utf-8", "surrogatepass")
            found.append(Atom(text) if kind == ATOM else _term(text, kind))
            at = end
        return found


def encoded(term: Term) -> tuple[int, bytes]:
    """What kind of constant a term is, and its name in bytes."""
    kind, text = _text(term)
    return kind, text.encode("utf-8", "surrogatepass")


def _text(term: Term) -> tuple[int, str]:
    if type(term) is Atom:
        return ATOM, term.name
    if isinstance(term, int):
        return INTEGER, format_integer(term)
    if type(term) is Float:
        return FLOAT, term.value.hex()
    assert type(term) is Str
    return STRING, term.value


def _term(text: str, kind: int) -> Term:
    if kind == ATOM:
        return Atom(text)
    if kind == INTEGER:
        return -parse_integer(text[1:]) if text[0] == "-" else parse_integer(text)
    return Float(float.fromhex(text)) if kind == FLOAT else Str(text)
