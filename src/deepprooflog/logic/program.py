"""Programs: clauses by predicate, what kind each predicate is, and views that leave a fact out."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Literal

from deepprooflog.data.places import instead_of
from deepprooflog.errors import ProgramError
from deepprooflog.logic.clause import (
    Bernoulli,
    Clause,
    Constant,
    Neural,
    Place,
    Trainable,
    abstract,
    at,
)
from deepprooflog.logic.goal_batch import UnreadQuery
from deepprooflog.logic.index import Entries
from deepprooflog.logic.limits.gc_pause import gc_paused
from deepprooflog.logic.query import Query, parse_query
from deepprooflog.syntax.operators import Operators
from deepprooflog.syntax.reader import Flags
from deepprooflog.syntax.terms import Atom, Functor, Struct, Term

BodyOrder = Literal["written", "bound_first"]


class PredicateKind(Enum):
    """Who weighs a predicate's clauses: the model's scorer, labels, or a network."""

    PLAIN = "plain"
    LABELLED = "labelled"
    TRAINABLE = "trainable"
    NEURAL = "neural"


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate's clauses in source order and its kind."""

    functor: Functor
    entries: Entries
    kind: PredicateKind
    has_cut: bool
    has_nested_cut: bool

    @property
    def stochastic(self) -> bool:
        return self.kind is not PredicateKind.PLAIN


class Program:
    """A logic program, read once and never changed.

    >>> from deepprooflog.syntax.terms import Var
    >>> program = Program("0.3 :: p(a). 0.7 :: p(b).")
    >>> len(program.candidates(Functor("p", 1), (Var(),)))
    2

    `order` says how a clause's body atoms are taken: as written, or bound first (atoms with the
    fewest unbound variables first), which keeps goal graphs of relational programs small.
    """

    def __init__(
        self,
        text: str,
        *,
        file: str = "<text>",
        order: BodyOrder = "written",
        occurs_check: bool = False,
    ) -> None:
        from deepprooflog.logic.load import load

        with gc_paused():
            loaded = load(text, file)
        self._hold(text, file, order, occurs_check, loaded.predicates, loaded.tabled)
        self.operators, self.flags = loaded.operators, loaded.flags

    def _hold(
        self,
        text: str | None,
        file: str,
        order: BodyOrder,
        occurs_check: bool,
        predicates: Mapping[Functor, Predicate],
        tabled: Mapping[Functor, Place],
    ) -> None:
        self.file = file
        self.text = text  # None where its clauses are no longer those of a text
        self.order: BodyOrder = order
        self.occurs_check = occurs_check
        self.operators = Operators()
        self.flags = Flags()
        self.predicates = predicates
        self.tabled = tabled
        self._left_out: Mapping[Functor, frozenset[Term]] = {}
        self._reaching: frozenset[Functor] | None = None
        self._nesting: frozenset[Functor] | None = None
        self._tabling: dict[Functor, frozenset[Functor]] | None = None
        self._longest: int | None = None

    @classmethod
    def of(
        cls,
        predicates: Mapping[Functor, Predicate],
        *,
        file: str = "<text>",
        order: BodyOrder = "written",
    ) -> Program:
        """A program of predicates that were not read from one text."""
        program = cls.__new__(cls)
        program._hold(None, file, order, False, predicates, {})
        return program

    @classmethod
    def read(
        cls, path: str | Path, *, order: BodyOrder = "written", occurs_check: bool = False
    ) -> Program:
        """Read a program from a file (UTF-8)."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as e:
            hint = instead_of(Path(path)) if isinstance(e, FileNotFoundError) else None
            if Path(path).is_dir():
                hint = (
                    "name a file of clauses; the folder of a run is asked by  dprl query RUN QUERY"
                )
            raise ProgramError(e.strerror or str(e), file=str(path), hint=hint) from None
        except UnicodeDecodeError as e:
            raise ProgramError(
                f"not UTF-8 text (byte {e.start})", file=str(path), hint="save the file as UTF-8"
            ) from None
        return cls(text, file=str(path), order=order, occurs_check=occurs_check)

    def query(self, query: str | Term | Query) -> Query:
        """A query read with the program's operators and flags."""
        if isinstance(query, UnreadQuery):
            return query.read(self)
        return parse_query(query, self.operators, self.flags)

    def defines(self, functor: Functor) -> bool:
        """True when the program has clauses (or a `dynamic` declaration) for the predicate."""
        return functor in self.predicates

    def size(self, functor: Functor) -> int:
        """How many clauses a predicate has; those that a view leaves out are counted too."""
        return len(self.predicates[functor].entries)

    def candidates(self, functor: Functor, args: Sequence[Term]) -> Sequence[Clause]:
        """The clauses that may match a call, in source order."""
        found = self.predicates[functor].entries.candidates(args)
        left_out = self._left_out.get(functor)
        if left_out is not None:
            return [c for c in found if c.body or c.head not in left_out]
        return found

    def is_stochastic(self, functor: Functor) -> bool:
        """True for labelled, trainable and neural predicates: their calls are random choices."""
        predicate = self.predicates.get(functor)
        return predicate is not None and predicate.stochastic

    def reaches_choice(self, functor: Functor) -> bool:
        """True when a call may come upon a labelled or neural predicate."""
        if self._reaching is None:
            from deepprooflog.logic.analysis.exclusive import reaching

            self._reaching = reaching(self.predicates)
        return functor in self._reaching

    @property
    def longest_body(self) -> int:
        """How many atoms the longest body of a clause has."""
        if self._longest is None:
            explicit = (c for p in self.predicates.values() for c in p.entries.explicit())
            self._longest = max((len(c.body) for c in explicit), default=0)
        return self._longest

    def nests(self, atoms: Iterable[Term]) -> bool:
        """True when a query of these atoms may come upon calls that others wait behind.

        >>> from deepprooflog.syntax.terms import Atom
        >>> program = Program("p :- q, r. q :- r. r.")
        >>> program.nests([Atom("p")]), program.nests([Atom("q")])
        (True, False)
        """
        from deepprooflog.logic.analysis.exclusive import mentioned, nesting

        if self._nesting is None:
            self._nesting = nesting(self.predicates)
        return any(f in self._nesting for atom in atoms for f in mentioned(atom))

    def table_below(self, atoms: Iterable[Term]) -> Functor | None:
        """A predicate with a `table` directive that a query of these atoms may come upon.

        >>> from deepprooflog.syntax.terms import Atom
        >>> program = Program(":- table q/0. p :- q. q. r.")
        >>> program.table_below([Atom("p")]), program.table_below([Atom("r")])
        (q/0, None)
        """
        if not self.tabled:
            return None
        from deepprooflog.logic.analysis.exclusive import callers_of, mentioned

        if self._tabling is None:
            self._tabling = {f: callers_of([f], self.predicates) for f in self.tabled}
        called = {f for atom in atoms for f in mentioned(atom)}
        return next((f for f, callers in self._tabling.items() if called & callers), None)

    def without(self, fact: Struct | Atom) -> Program:
        """A view of the program with one fact left out (a training query that is itself a fact).

        >>> from deepprooflog.syntax.reader import read_term
        >>> view = Program("p(a). p(b).").without(read_term("p(a).").term)
        >>> len(view.candidates(Functor("p", 1), (Atom("a"),)))
        0
        """
        view = copy.copy(self)
        others = self._left_out.get(fact.functor, frozenset())
        # As clause heads are: bindings followed, variables numbered.
        head = abstract(fact, {})
        view.text = None
        view._left_out = {**self._left_out, fact.functor: others | {head}}
        return view

    def with_predicates(self, changed: Mapping[Functor, Predicate]) -> Program:
        """The program with some predicates replaced or added."""
        view = copy.copy(self)
        view.text = None
        view.predicates = {**self.predicates, **changed}
        view._reaching = view._nesting = view._tabling = view._longest = None
        return view

    def left_out(self, functor: Functor) -> frozenset[Term]:
        """The facts of a predicate that this view leaves out."""
        return self._left_out.get(functor, frozenset())

    def clauses(self) -> Iterator[Clause]:
        """All clauses, predicate by predicate."""
        for predicate in self.predicates.values():
            yield from predicate.entries

    def networks(self) -> dict[str, Clause]:
        """The networks that neural labels name, each with one clause that names it."""
        found: dict[str, Clause] = {}
        for predicate in self.predicates.values():
            if predicate.kind is PredicateKind.NEURAL:
                for clause in predicate.entries:
                    assert isinstance(clause.label, Neural | Bernoulli)
                    found.setdefault(clause.label.network, clause)
        return found

    def _repr_html_(self) -> str:
        from deepprooflog.logic.program_html import program_html

        return program_html(self)

    def __repr__(self) -> str:
        return f"Program({self.file!r}, {len(self.predicates)} predicates)"


def kind_of(clauses: Iterable[Clause]) -> PredicateKind:
    """The kind of a predicate with these clauses; partly labelled predicates are an error."""
    kinds: dict[PredicateKind, Clause] = {}
    for clause in clauses:
        label = clause.label
        kind = (
            PredicateKind.PLAIN
            if label is None
            else PredicateKind.LABELLED
            if isinstance(label, Constant)
            else PredicateKind.TRAINABLE
            if isinstance(label, Trainable)
            else PredicateKind.NEURAL
        )
        kinds.setdefault(kind, clause)
        if len(kinds) > 1:
            first, second = (k.value for k in kinds)
            raise ProgramError(
                f"{clause.functor} mixes {first} and {second} clauses",
                **at(clause.place),
                hint="label every clause of the predicate in the same way, or none",
            )
    return next(iter(kinds), PredicateKind.PLAIN)
