"""Numbers for names: predicates and constants of a function-free program."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field

from deepprooflog.errors import ProgramError
from deepprooflog.logic.program import Program
from deepprooflog.relational.guards import GUARDS
from deepprooflog.relational.joined_names import JoinedNames
from deepprooflog.syntax.terms import Functor, Slot, Struct, Term, Var, args_of, functor_of
from deepprooflog.syntax.writer import write_term

# Above this many names a search for a similar one would take longer than reading the message.
SIMILAR = 50_000


@dataclass(frozen=True)
class Symbols:
    """Predicates and constants, each numbered by its place.

    Constants that know their numbers, as names in a file do, come with these as `numbers`.

    >>> symbols = Symbols.of(Program("p(a). p(X) :- q(X, 1). q(b, 1)."))
    >>> symbols.predicates, symbols.constant(1), symbols.text(0)
    ((p/1, q/2), 1, 'a')
    """

    predicates: tuple[Functor, ...]
    constants: Sequence[Term]
    numbers: InitVar[Mapping[Term, int] | None] = None
    _predicates: dict[Functor, int] = field(init=False, repr=False, compare=False)
    _constants: Mapping[Term, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self, numbers: Mapping[Term, int] | None) -> None:
        if numbers is None:
            numbers = {c: i for i, c in enumerate(self.constants)}
        object.__setattr__(self, "_predicates", {f: i for i, f in enumerate(self.predicates)})
        object.__setattr__(self, "_constants", numbers)
        if len(self._predicates) < len(self.predicates):
            raise ProgramError("a predicate is numbered twice")
        if len(self._constants) < len(self.constants):
            raise ProgramError("a constant is numbered twice")

    @classmethod
    def of(cls, program: Program) -> Symbols:
        """The names of a program, predicates and constants by first occurrence."""
        return cls((), ()).extended(program)

    def extended(self, program: Program) -> Symbols:
        """These names, numbered as they are, and after them what else a program names."""
        predicates = dict.fromkeys(self.predicates)
        predicates.update(dict.fromkeys(program.predicates))
        predicates.update(dict.fromkeys(_guards(program)))
        named = dict.fromkeys(_constants(program))
        more = tuple(c for c in named if c not in self._constants)
        if isinstance(self.constants, tuple):
            return Symbols(tuple(predicates), (*self.constants, *more))
        if not more:
            return Symbols(tuple(predicates), self.constants, self._constants)
        joined = JoinedNames(self.constants, self._constants, more)
        return Symbols(tuple(predicates), joined, joined.numbers)

    def with_predicates(self, predicates: Sequence[Functor]) -> Symbols:
        """The same constants, with other predicates."""
        return Symbols(tuple(predicates), self.constants, self._constants)

    def predicate(self, functor: Functor) -> int:
        """The number of a predicate; an error with what may have been meant if it has none."""
        found = self._predicates.get(functor)
        if found is None:
            raise ProgramError(
                f"no clause defines {functor}", hint=self._similar_predicate(functor)
            )
        return found

    def constant(self, term: Term) -> int:
        """The number of a constant; an error with what may have been meant if it has none."""
        found = self._constants.get(term)
        if found is None:
            raise ProgramError(
                f"{write_term(term)} occurs nowhere in the facts and rules",
                hint=_similar(write_term(term), map(write_term, self.constants[:SIMILAR])),
            )
        return found

    def has_predicate(self, functor: Functor) -> bool:
        """True when the predicate has a number."""
        return functor in self._predicates

    @property
    def constant_numbers(self) -> Mapping[Term, int]:
        """The number of each constant."""
        return self._constants

    def text(self, constant: int) -> str:
        """How a constant is written."""
        return write_term(self.constants[constant])

    def _similar_predicate(self, functor: Functor) -> str | None:
        same = [str(f) for f in self.predicates if f.name == functor.name]
        if same:
            return f"did you mean {' or '.join(same[:3])}?"
        return _similar(str(functor), map(str, self.predicates[:SIMILAR]))


def _similar(name: str, names: Iterable[str]) -> str | None:
    close = difflib.get_close_matches(name, names, 1, 0.7)
    return f"did you mean {close[0]}?" if close else None


def _guards(program: Program) -> Iterator[Functor]:
    """The guards in the bodies of rules."""
    for predicate in program.predicates.values():
        for clause in predicate.entries.explicit():
            for functor in map(functor_of, clause.body):
                if functor in GUARDS and functor is not None and not program.defines(functor):
                    yield functor


def _constants(program: Program) -> Iterator[Term]:
    """What stands in argument places, plain facts without making clauses of them."""
    for predicate in program.predicates.values():
        for item in predicate.entries.items():
            if isinstance(item, tuple):
                yield from (a for a in item[0] if type(a) is not Struct)
                continue
            for atom in (item.head, *item.body):
                if functor_of(atom) is not None:
                    yield from (a for a in args_of(atom) if not isinstance(a, Var | Struct | Slot))
