"""The symbols of a program: which row of the table e_v each predicate, functor and constant has.

Predicates and functors are told apart by name and arity, constants are atoms and strings; numbers
are constants where they are names rather than quantities. Variables and tensors are no symbols.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias, get_args

from deepprooflog.errors import ModelError
from deepprooflog.logic.clause import Bernoulli, Neural
from deepprooflog.logic.program import Program
from deepprooflog.syntax.terms import CONS, NIL, Atom, Float, Functor, Str, Struct, Term
from deepprooflog.syntax.writer import write_term

NumberSymbol: TypeAlias = int | Float
Symbol: TypeAlias = Functor | Atom | Str | NumberSymbol
ConstantRows: TypeAlias = Literal["own", "shared"]
NumberRows: TypeAlias = Literal["features", "symbols"]

UNKNOWN = 0


class Vocabulary:
    """Rows by symbol, in the order of the program; row 0 is `<unk>`.

    With `numbers="symbols"` the program's numbers have rows of their own. With `constants="shared"`
    all constants, numbers too, have the last row between them, those the program does not have as
    well; `[]` is no name but the end of a list, and keeps its own.

    >>> vocabulary = Vocabulary(Program("p(a, f(X)) :- q(X)."))
    >>> sorted(vocabulary.rows.values()) == list(range(1, len(vocabulary)))
    True
    >>> Functor("q", 1) in vocabulary.rows, Atom("b") in vocabulary.rows
    (True, False)
    >>> alike = Vocabulary(Program("p(a, f(7)) :- q(b)."), constants="shared")
    >>> alike.row(Atom("b")) == alike.row(7) == len(alike) - 1
    True
    """

    def __init__(
        self,
        program: Program,
        constants: ConstantRows = "own",
        numbers: NumberRows = "features",
    ) -> None:
        _check("constants", constants, get_args(ConstantRows))
        _check("numbers", numbers, get_args(NumberRows))
        self.shares_constants = constants == "shared"
        self.has_numbers = self.shares_constants or numbers == "symbols"
        self.rows: dict[Symbol, int] = {}
        for symbol in symbols(program):
            if self._has_own_row(symbol):
                self.rows.setdefault(symbol, len(self.rows) + 1)
        self.widest = max((s.arity for s in self.rows if type(s) is Functor), default=0)
        self._warned: set[Symbol] = set()

    def _has_own_row(self, symbol: Symbol) -> bool:
        if isinstance(symbol, NumberSymbol) and not self.has_numbers:
            return False
        return not self.shares_constants or type(symbol) is Functor or symbol is NIL

    def __len__(self) -> int:
        return len(self.rows) + 1 + self.shares_constants

    def row(self, symbol: Symbol) -> int:
        """The row of a symbol. One that the program does not have is warned of once."""
        if not self._has_own_row(symbol):
            return len(self.rows) + 1
        row = self.rows.get(symbol)
        if row is None and type(symbol) is Functor and symbol.arity == 0:
            # A body's `a` inside a control construct stands there as a constant.
            atom = Atom(symbol.name)
            row = self.rows.get(atom) if self._has_own_row(atom) else self.row(atom)
        if row is not None:
            return row
        if symbol not in self._warned:
            self._warned.add(symbol)
            warnings.warn(
                f"the program has no symbol {_text(symbol)}: it is embedded as <unk>",
                UserWarning,
                stacklevel=2,
            )
        return UNKNOWN

    def digest(self) -> bytes:
        """A fingerprint of the table's rows, to tell whether weights belong to it."""
        hashed = hashlib.sha256()
        if self.has_numbers:
            hashed.update(f"numbers too, shared: {self.shares_constants}\n".encode())
        for symbol in self.rows:
            hashed.update(f"{type(symbol).__name__} {_text(symbol)!r}\n".encode())
        return hashed.digest()


def symbols(program: Program) -> Iterator[Symbol]:
    """The symbols of all clauses in order, repeated as they occur."""
    yield NIL
    for functor, predicate in program.predicates.items():
        yield functor
        for args in predicate.entries.argument_rows():
            yield from symbols_in(args)
        for clause in predicate.entries.explicit():
            for atom in clause.body:
                if type(atom) is Atom:
                    yield atom.functor
                else:
                    yield from symbols_in([atom])
            label = clause.label
            if isinstance(label, Neural | Bernoulli):
                yield from symbols_in(label.inputs)
            if isinstance(label, Neural):
                yield from symbols_in(label.domain)


def symbols_in(terms: Iterable[Term]) -> Iterator[Symbol]:
    """The symbols of some terms, numbers among them; list cells have none."""
    stack = list(terms)
    stack.reverse()
    while stack:
        term = stack.pop()
        if isinstance(term, Atom | Str | NumberSymbol):
            yield term
        elif type(term) is Struct:
            if term.functor is not CONS:
                yield term.functor
            stack.extend(reversed(term.args))


def _text(symbol: Symbol) -> str:
    if type(symbol) is Functor:
        return repr(symbol)
    if isinstance(symbol, NumberSymbol):
        return write_term(symbol)
    return f'"{symbol.value}"' if isinstance(symbol, Str) else symbol.name


def _check(name: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise ModelError(
            f"there is no {name}={given!r}", hint=f"one of {', '.join(map(repr, known))}"
        )
