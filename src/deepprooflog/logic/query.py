"""Queries: goals as users write them, with Python values and tensors in place of variables.

The text of a goal made by `goal` or `goals` is read once, however often it is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from deepprooflog.errors import ProgramError
from deepprooflog.logic.body import (
    CALL,
    CUT,
    after_cut,
    conjunction,
    conjuncts,
    has_nested_cut,
)
from deepprooflog.logic.clause import Frame, abstract, instantiate
from deepprooflog.syntax.operators import Operators
from deepprooflog.syntax.reader import Flags, read_term
from deepprooflog.syntax.terms import (
    CONS,
    FALSE,
    NIL,
    TRUE,
    Atom,
    Float,
    Slot,
    Str,
    Struct,
    Term,
    Var,
    functor_of,
    make_list,
)
from deepprooflog.syntax.writer import Names, write_term


@dataclass(frozen=True)
class Query:
    """A conjunction of atoms, its named variables, and the tensors its slots stand for."""

    atoms: tuple[Term, ...]
    variables: Mapping[str, Var] = field(default_factory=dict)
    tensors: Sequence[object] = ()

    def __str__(self) -> str:
        names = Names({v: n for n, v in self.variables.items()})
        return ", ".join(write_term(a, variable_names=names, priority=999) for a in self.atoms)


def goal(text: str, /, **values: object) -> Query:
    """Lift Python values and tensors into a goal: each keyword binds the variable of its name.

    Numbers, strings (as atoms), lists and tuples become terms; a tensor becomes an opaque constant,
    and a list of tensors a list of them. What has a shape of no dimension, a scalar of numpy or a
    tensor of one number, is that number; an array of numpy with dimensions is a tensor.

    >>> print(goal("add(X, Y, Z)", X=[1, 2], Y="a"))
    add([1,2],a,Z)
    """
    form = form_of(text)
    form.require(values)
    lift = Lift()
    terms = {name: lift(value, name) for name, value in values.items()}
    return form.filled(terms, tuple(lift.tensors))


@dataclass(frozen=True)
class GoalForm:
    """A goal's text as read: its atoms over numbered variables, and the number of each name."""

    text: str
    atoms: tuple[Term, ...]
    names: Mapping[str, int]
    size: int

    def require(self, names: Iterable[str]) -> None:
        """Refuse names that are no variables of the goal."""
        for name in names:
            if name not in self.names:
                known = ", ".join(self.names) or "none"
                raise ProgramError(
                    f"{name} is not a variable of {self.text} (its variables: {known})",
                    hint="name each value after a variable of the goal",
                )

    def filled(self, terms: Mapping[str, Term], tensors: Sequence[object]) -> Query:
        """The goal with terms for some of its variables; the others are fresh."""
        frame: Frame = [None] * self.size
        free: dict[str, Var] = {}
        for name, number in self.names.items():
            term = terms.get(name)
            frame[number] = free.setdefault(name, Var(name)) if term is None else term
        return Query(tuple([instantiate(a, frame) for a in self.atoms]), free, tensors)


def form_of(text: str) -> GoalForm:
    """The form of a goal's text; the latest short ones are remembered."""
    return _remembered_form(text) if len(text) <= SHORT else _read_form(text)


# Texts of goals up to this long are remembered: those that are written, not those that are made.
SHORT = 2000


def _read_form(text: str) -> GoalForm:
    query = parse_query(text)
    numbers: dict[Var, int] = {}
    atoms = tuple([abstract(a, numbers) for a in query.atoms])
    names = {name: numbers.setdefault(var, len(numbers)) for name, var in query.variables.items()}
    return GoalForm(text, atoms, names, len(numbers))


_remembered_form = lru_cache(maxsize=256)(_read_form)


def parse_query(
    query: str | Term | Query, operators: Operators | None = None, flags: Flags | None = None
) -> Query:
    """A query from text (its final '.' may be missing) or from a term."""
    if isinstance(query, Query):
        return query
    if isinstance(query, str):
        if not query.strip().rstrip("."):
            raise ProgramError("the query is empty", hint="for example  p(X)")
        read = read_term(query, operators, flags=flags, file="<query>", end_optional=True)
        term, variables = read.term, read.variables
    else:
        term, variables = query, {}
    atoms = conjuncts(term) or (TRUE,)
    for atom in atoms:
        if functor_of(atom) is None:
            raise ProgramError(f"{write_term(atom)} is not a goal", hint="for example  p(X)")
    return Query(_committed(atoms), variables)


def _committed(atoms: tuple[Term, ...]) -> tuple[Term, ...]:
    """A query's cuts as guards of their own: `p, !, q` is `once(p), q`."""
    if any(has_nested_cut(a) for a in atoms):
        return (Struct(CALL, (conjunction(atoms),)),)
    return tuple(after_cut(atoms)) or (TRUE,) if CUT in atoms else atoms


class Lift:
    """Turns Python values into terms; the same tensor object gets the same slot."""

    def __init__(self) -> None:
        self.tensors: list[object] = []
        self._slots: dict[int, Slot] = {}

    def __call__(self, value: object, name: str) -> Term:
        if type(value) is int:
            return value
        if type(value) is list and all(type(item) is int for item in value):
            return ground_list(value)
        # The lists still open, innermost last: the elements to come and the terms of those done.
        open_: list[tuple[Iterator[object], list[Term], int]] = []
        inside: set[int] = set()
        while True:
            if isinstance(value, list | tuple):
                if id(value) in inside:
                    raise ProgramError(f"{name} is a list that contains itself")
                inside.add(id(value))
                open_.append((iter(value), [], id(value)))
            else:
                term = self._constant(value, name)
                if not open_:
                    return term
                open_[-1][1].append(term)
            while (value := next(open_[-1][0], _END)) is _END:
                _, items, number = open_.pop()
                inside.discard(number)
                term = make_list(items)
                if not open_:
                    return term
                open_[-1][1].append(term)

    def _constant(self, value: object, name: str) -> Term:
        if isinstance(value, Atom | Float | Slot | Str | Struct | Var):
            return value
        if hasattr(value, "shape") and hasattr(value, "dtype"):
            if len(value.shape):
                return self._tensor(value, name)
            value = _number(value, name)
        # Subclasses, such as an enumeration's, stand for what they are: plain values.
        if isinstance(value, bool):
            return TRUE if value else FALSE
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return Float(float(value))
        if isinstance(value, str):
            return Atom(str(value))
        raise ProgramError(
            f"{name} is a {type(value).__name__}, which has no term",
            hint="pass numbers, strings, lists, tensors or terms",
        )

    def _tensor(self, value: object, name: str) -> Slot:
        kind = getattr(getattr(value, "dtype", None), "kind", "f")
        if kind not in "biuf":
            raise ProgramError(
                f"{name} is an array of {getattr(value, 'dtype', None)}, which is no tensor",
                hint="an array of numbers, or a list of its elements: value.tolist()",
            )
        slot = self._slots.get(id(value))
        if slot is None:
            slot = self._slots[id(value)] = Slot(len(self.tensors))
            self.tensors.append(value)
        return slot


def ground_list(items: Sequence[Term]) -> Term:
    """The list of terms that have no variables."""
    result: Term = NIL
    for item in reversed(items):
        result = Struct(CONS, (item, result), True)
    return result


def _number(value: object, name: str) -> object:
    """What a scalar of numpy or a tensor without dimensions holds."""
    if getattr(value, "requires_grad", False):
        raise ProgramError(
            f"{name} is a tensor of one number that wants a gradient, but a number in a goal has "
            "none",
            hint=f"{name}=value.item() for the number, {name}=value.reshape(1) for a tensor that "
            "a network reads",
        )
    try:
        held: object = value.item()  # type: ignore[attr-defined]
        return float(held) if hasattr(held, "dtype") else held  # type: ignore[arg-type]
    except (TypeError, ValueError, RuntimeError, NotImplementedError) as reason:
        raise ProgramError(f"{name} has no number to read: {reason}") from None


_END = object()
