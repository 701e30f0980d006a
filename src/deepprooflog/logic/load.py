"""From text to predicates: clauses, labels, directives, and the checks that can be made at once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from deepprooflog.errors import Notice, ProgramError, SyntaxProblem
from deepprooflog.logic.body import CUT, DISJUNCTION, conjuncts, converted, has_nested_cut
from deepprooflog.logic.builtins import PROTECTED
from deepprooflog.logic.clause import (
    Clause,
    Constant,
    Label,
    Neural,
    Place,
    Trainable,
    abstract,
    at,
)
from deepprooflog.logic.directives import announce
from deepprooflog.logic.index import Entries
from deepprooflog.logic.labels import parse_label
from deepprooflog.logic.neighbours import notices, several_heads, syntax_hint
from deepprooflog.logic.program import Predicate, PredicateKind, kind_of
from deepprooflog.syntax.dcg import translate
from deepprooflog.syntax.operators import Operators
from deepprooflog.syntax.reader import Fact, Flags, ReadTerm, read_program
from deepprooflog.syntax.terms import (
    TRUE,
    Atom,
    Functor,
    Struct,
    Term,
    Var,
    deref,
    functor_of,
    iter_list,
)
from deepprooflog.syntax.writer import write_term

NECK = Functor(":-", 2)
DIRECTIVE = Functor(":-", 1)
QUERY = Functor("?-", 1)
GRAMMAR = Functor("-->", 2)
LABEL = Functor("::", 2)
SLASH = Functor("/", 2)
GRAMMAR_SLASH = Functor("//", 2)
DYNAMIC = Functor("dynamic", 1)
TABLE = Functor("table", 1)

# Arguments of a predicate that is declared.
MOST_ARGUMENTS = 1_000_000

# Labels of one call may exceed 1 by rounding only.
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a text holds."""

    predicates: dict[Functor, Predicate]
    operators: Operators
    flags: Flags
    tabled: dict[Functor, Place]  # where a `table` directive names a predicate


def load(text: str, file: str) -> Loaded:
    """Read a program's text. Errors carry file, line and the line's text."""
    operators = Operators()
    entries: dict[Functor, Entries] = {}
    flags = Flags()
    tabled: dict[Functor, Place] = {}
    lines: list[str] | None = None
    for item in _items(text, file, operators, flags):
        if type(item) is Fact:
            _entries(entries, item.functor, file).add_fact(item.args, item.line)
            continue
        assert type(item) is ReadTerm
        try:
            _add(item, entries, tabled, file)
        except ProgramError as e:
            if e.line is None:
                lines = lines or text.split("\n")
                e.file, e.line, e.column = file, item.line, item.column
                e.text = lines[item.line - 1]
            raise
    predicates = {}
    for functor, found in entries.items():
        _check_name(functor, found)
        predicates[functor] = _predicate(functor, found)
    for notice in notices(predicates):
        warnings.warn(notice, Notice, stacklevel=2)
    return Loaded(predicates, operators, flags, tabled)


def _items(text: str, file: str, operators: Operators, flags: Flags) -> Iterator[Fact | ReadTerm]:
    try:
        yield from read_program(text, file, operators, flags=flags)
    except SyntaxProblem as e:
        e.hint = e.hint or syntax_hint(e.text)
        raise


def _entries(entries: dict[Functor, Entries], functor: Functor, file: str) -> Entries:
    found = entries.get(functor)
    if found is None:
        found = entries[functor] = Entries(functor, file)
    return found


def _add(
    item: ReadTerm, entries: dict[Functor, Entries], tabled: dict[Functor, Place], file: str
) -> None:
    term = deref(item.term)
    if type(term) is Struct and term.functor is DIRECTIVE:
        _directive(term.args[0], entries, tabled, Place(file, item.line, item.column))
        return
    if type(term) is Struct and term.functor is QUERY:
        raise ProgramError(
            "a program holds clauses, not queries", hint='dprl prob FILE "query", or dpl.prob(...)'
        )
    clause = make_clause(term, Place(file, item.line, item.column), item.variables)
    _entries(entries, clause.functor, file).add(clause)


def make_clause(
    term: Term, place: Place | None = None, variables: dict[str, Var] | None = None
) -> Clause:
    """The clause a term `label :: head :- body` (or a grammar rule) stands for.

    >>> from deepprooflog.syntax.reader import read_term
    >>> make_clause(read_term("0.5 :: p(X) :- q(X), r.").term).body[1]
    Atom('r')
    """
    if type(term) is Struct and term.functor is GRAMMAR:
        term = deref(translate(term))
    head: Term = term
    body: Term = TRUE
    if type(term) is Struct and term.functor is NECK:
        head, body = deref(term.args[0]), deref(term.args[1])
    if type(head) is Struct and head.functor is DISJUNCTION:
        raise several_heads(head, None if body is TRUE else body)
    label: Label | None = None
    if type(head) is Struct and head.functor is LABEL:
        label = parse_label(head.args[0])
        head = deref(head.args[1])
    if functor_of(head) is None:
        kind = "a variable" if type(head) is Var else f"{write_term(head)}"
        raise ProgramError(f"a clause's head must be an atom or a compound term, not {kind}")
    atoms = conjuncts(body)
    for atom in atoms:
        if functor_of(atom) is None:
            raise ProgramError(f"{write_term(atom)} cannot be called")
    numbers: dict[Var, int] = {}
    numbered = abstract(head, numbers)
    assert type(numbered) is Struct or type(numbered) is Atom
    atoms = tuple(abstract(converted(a), numbers) for a in atoms)
    if label is not None:
        _check_labelled(numbered, atoms)
        label = _number_label(label, numbers)
    by_var = {v: n for n, v in (variables or {}).items()}
    names = tuple(by_var.get(v, "_") for v in numbers)
    return Clause(numbered, atoms, len(numbers), label, place, names)


def _number_label(label: Label, numbers: dict[Var, int]) -> Label:
    if isinstance(label, Constant | Trainable):
        return label
    known = len(numbers)
    inputs = tuple(abstract(t, numbers) for t in label.inputs)
    output = abstract(label.output, numbers) if isinstance(label, Neural) else None
    if len(numbers) > known:
        raise ProgramError(
            f"a neural label of {label.network} names a variable that is not in the clause",
            hint="nn(net, [X], Y, 0..9) :: p(X, Y).",
        )
    if isinstance(label, Neural):
        assert output is not None
        return Neural(label.network, inputs, output, label.domain)
    return type(label)(label.network, inputs)


def _check_labelled(head: Struct | Atom, body: tuple[Term, ...]) -> None:
    if any(a is CUT for a in body) or any(has_nested_cut(a) for a in body):
        raise ProgramError(
            f"a cut in the labelled predicate {head.functor}: its clauses are a random choice, "
            "which a cut cannot commit",
            hint="move the cut into an unlabelled predicate",
        )


def _directive(
    term: Term, entries: dict[Functor, Entries], tabled: dict[Functor, Place], place: Place
) -> None:
    for goal in conjuncts(term):
        functor = functor_of(goal)
        if functor is DYNAMIC:
            assert type(goal) is Struct
            for spec in _specs(goal.args[0]):
                _entries(entries, spec, place.file)
        elif functor is TABLE:
            assert type(goal) is Struct
            for spec in _tabled(goal.args[0]):
                tabled.setdefault(spec, place)
        else:
            announce(goal, place)


def _tabled(term: Term) -> Iterator[Functor]:
    """The predicates that a `table` directive names: p/2, a grammar's p//2, or p(_, _)."""
    todo = [term]
    while todo:
        t = deref(todo.pop())
        if type(t) is Struct and t.functor.name == "," and t.functor.arity == 2:
            todo.extend(reversed(t.args))
        elif type(t) is Struct and t.functor is GRAMMAR_SLASH:
            name, arity = deref(t.args[0]), deref(t.args[1])
            if type(name) is not Atom or type(arity) is not int:
                raise ProgramError(f"{write_term(t)} is not a grammar's indicator", hint="name//n")
            yield Functor(name.name, arity + 2)
        elif type(t) is Struct and t.functor is not SLASH and t.functor.name != ".":
            if not all(type(deref(a)) is Var for a in t.args):
                raise ProgramError(
                    f"tabling by modes is not supported: {write_term(t)}",
                    hint="a table sums over all derivations: name the predicate, name/arity",
                )
            yield t.functor
        else:
            yield from _specs(t)


def _specs(term: Term) -> Iterator[Functor]:
    todo = [term]
    while todo:
        t = deref(todo.pop())
        if type(t) is Struct and t.functor is SLASH:
            name, arity = deref(t.args[0]), deref(t.args[1])
            if type(name) is Atom and type(arity) is int and 0 <= arity <= MOST_ARGUMENTS:
                yield Functor(name.name, arity)
                continue
        if type(t) is Struct and t.functor.name == ",":
            todo.extend(t.args)
            continue
        items = list(iter_list(t))
        if not items:
            raise ProgramError(f"{write_term(t)} is not a predicate indicator", hint="name/arity")
        todo.extend(items)


def _check_name(functor: Functor, entries: Entries) -> None:
    if functor not in PROTECTED:
        return
    place = next((c.place for c in entries), None)
    raise ProgramError(
        f"{functor} is built in and cannot be redefined",
        file=entries.file,
        line=place.line if place else None,
        hint="give the predicate another name",
    )


def _predicate(functor: Functor, entries: Entries) -> Predicate:
    explicit = list(entries.explicit())
    kind = kind_of(explicit)
    if kind is not PredicateKind.PLAIN and len(entries) > len(explicit):
        kind = kind_of(entries)
    if kind is PredicateKind.LABELLED:
        _check_sums(functor, explicit)
    has_cut = any(a is CUT for c in explicit for a in c.body)
    nested = any(has_nested_cut(a) for c in explicit for a in c.body)
    return Predicate(functor, entries, kind, has_cut, nested)


def _check_sums(functor: Functor, clauses: list[Clause]) -> None:
    # Clauses with the same head are alternatives of every call that any of them matches.
    sums: dict[tuple[Term, ...], float] = {}
    for clause in clauses:
        assert isinstance(clause.label, Constant)
        total = sums.get(clause.args, 0.0) + clause.label.number
        sums[clause.args] = total
        if total > 1 + TOLERANCE:
            raise ProgramError(
                f"the labels of {functor} for {write_term(clause.head)} add up to "
                f"{total:.12g}, more than 1",
                **at(clause.place),
                hint="the labels of the clauses that match one call may not exceed 1",
            )
