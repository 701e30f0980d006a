"""The symbols of a program: which row of the table e_v each predicate, functor and constant has.

Predicates and functors are told apart by name and arity, constants are atoms and strings. Numbers,
variables and tensors are no symbols.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from deepprooflog.logic.clause import Bernoulli, Neural
from deepprooflog.logic.program import Program
from deepprooflog.syntax.terms import CONS, NIL, Atom, Functor, Str, Struct, Term

Symbol: TypeAlias = Functor | Atom | Str

UNKNOWN = 0


class Vocabulary:
    """Rows by symbol, in the order of the program; row 0 is `<unk>`.

    >>> vocabulary = Vocabulary(Program("p(a, f(X)) :- q(X)."))
    >>> sorted(vocabulary.rows.values()) == list(range(1, len(vocabulary)))
    True
    >>> Functor("q", 1) in vocabulary.rows, Atom("b") in vocabulary.rows
    (True, False)
    """

    def __init__(self, program: Program) -> None:
        self.rows: dict[Symbol, int] = {}
        for symbol in symbols(program):
            self.rows.setdefault(symbol, len(self.rows) + 1)
        self.widest = max((s.arity for s in self.rows if type(s) is Functor), default=0)
        self._warned: set[Symbol] = set()

    def __len__(self) -> int:
        return len(self.rows) + 1

    def row(self, symbol: Symbol) -> int:
        """The row of a symbol. One that the program does not have is warned of once."""
        row = self.rows.get(symbol)
        if row is None and type(symbol) is Functor and symbol.arity == 0:
            # A body's `a` inside a control construct stands there as a constant.
            row = self.rows.get(Atom(symbol.name))
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
    """The symbols of some terms; list cells have none."""
    stack = list(terms)
    stack.reverse()
    while stack:
        term = stack.pop()
        if type(term) is Atom or type(term) is Str:
            yield term
        elif type(term) is Struct:
            if term.functor is not CONS:
                yield term.functor
            stack.extend(reversed(term.args))


def _text(symbol: Symbol) -> str:
    if type(symbol) is Functor:
        return repr(symbol)
    return f'"{symbol.value}"' if isinstance(symbol, Str) else symbol.name
