"""Names that lie elsewhere, and a few more after them: no copy is made of the many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import overload

from deepprooflog.syntax.terms import Term


class JoinedNames(Sequence[Term]):
    """Names that know their numbers, then further ones.

    >>> from deepprooflog.syntax.terms import Atom
    >>> names = JoinedNames(range(3), {0: 0, 1: 1, 2: 2}, (Atom("a"),))
    >>> list(names), names[-1], names[1:], names.numbers[Atom("a")]
    ([0, 1, 2, Atom('a')], Atom('a'), (1, 2, Atom('a')), 3)
    """

    def __init__(
        self, many: Sequence[Term], numbers: Mapping[Term, int], more: tuple[Term, ...]
    ) -> None:
        self._many, self._more = many, more
        own = {name: number for number, name in enumerate(more, len(many))}
        self.numbers: Mapping[Term, int] = JoinedNumbers(numbers, own)

    def __len__(self) -> int:
        return len(self._many) + len(self._more)

    @overload
    def __getitem__(self, at: int) -> Term: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Term]: ...
    def __getitem__(self, at: int | slice) -> Term | Sequence[Term]:
        if isinstance(at, slice):
            return tuple(self[number] for number in range(*at.indices(len(self))))
        number = at + len(self) if at < 0 else at
        first = len(self._many)
        return self._many[number] if number < first else self._more[number - first]

    def __iter__(self) -> Iterator[Term]:
        yield from self._many
        yield from self._more


class JoinedNumbers(Mapping[Term, int]):
    """The numbers of names, and those of a few more."""

    def __init__(self, many: Mapping[Term, int], more: Mapping[Term, int]) -> None:
        self._many, self._more = many, more

    def __getitem__(self, name: Term) -> int:
        found = self._more.get(name)
        return self._many[name] if found is None else found

    def __len__(self) -> int:
        return len(self._many) + len(self._more)

    def __iter__(self) -> Iterator[Term]:
        yield from self._many
        yield from self._more
