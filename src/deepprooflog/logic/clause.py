"""Clauses and labels: `label :: head :- body`, with variables numbered by first occurrence.

A clause's terms hold the canonical variables 0 … size−1. To use the clause is to rename it apart:
make a fresh frame of `size` entries and `instantiate` head and body into it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias, TypedDict, final

from deepprooflog.syntax.numerals import fraction_text, log_fraction
from deepprooflog.syntax.operators import Operators
from deepprooflog.syntax.sharing import variables_once
from deepprooflog.syntax.terms import (
    MANY,
    Atom,
    Functor,
    Struct,
    Term,
    Var,
    canonical_var,
    deref,
    is_acyclic,
)
from deepprooflog.syntax.writer import Names, write_clause


@dataclass(frozen=True, slots=True)
class Constant:
    """`0.3 ::`, kept exact so that fractions stay fractions.

    `number` is the nearest float, 0 for a label below the smallest; `log` has no such limit.
    """

    value: Fraction
    number: float = field(init=False, compare=False)
    log: float = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "number", float(self.value))
        object.__setattr__(self, "log", log_fraction(self.value))


@dataclass(frozen=True, slots=True)
class Trainable:
    """`t(0.3) ::`, the initial value of one entry of a softmax; None for `t(_)`."""

    initial: Fraction | None


@dataclass(frozen=True, slots=True)
class Neural:
    """`nn(network, [inputs…], output, domain) ::`, a choice among the values of the domain."""

    network: str
    inputs: tuple[Term, ...]
    output: Term
    domain: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """`nn(network, [inputs…]) ::`, one probability; the rest of the mass fails."""

    network: str
    inputs: tuple[Term, ...]


Label: TypeAlias = Constant | Trainable | Neural | Bernoulli


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the source a clause begins."""

    file: str
    line: int
    column: int = 1


class FileLine(TypedDict):
    """The two arguments by which an error names a place."""

    file: str | None
    line: int | None


def at(place: Place | None) -> FileLine:
    """A place as arguments of an error.

    >>> at(Place("family.pl", 3))
    {'file': 'family.pl', 'line': 3}
    """
    if place is None:
        return {"file": None, "line": None}
    return {"file": place.file, "line": place.line}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Clause:
    """One clause, its terms over canonical variables 0 … size−1."""

    head: Struct | Atom
    body: tuple[Term, ...]
    size: int
    label: Label | None = None
    place: Place | None = None
    names: tuple[str, ...] = field(default=())

    @property
    def functor(self) -> Functor:
        return self.head.functor

    @property
    def args(self) -> tuple[Term, ...]:
        return self.head.args if type(self.head) is Struct else ()


Frame: TypeAlias = list[Term | None]


def clause_text(clause: Clause, operators: Operators | None = None, label: bool = True) -> str:
    """A clause as its author would write it, with its own variable names; with or without label.

    A network's label is left out.
    """
    own = clause.label if label else None
    shown: str | None = None
    if isinstance(own, Constant):
        shown = fraction_text(own.value)
    elif isinstance(own, Trainable):
        shown = "t(_)" if own.initial is None else f"t({fraction_text(own.initial)})"
    given = {canonical_var(i): n for i, n in enumerate(clause.names) if n != "_"}
    return write_clause(clause.head, clause.body, shown, operators, Names(given))


def instantiate(term: Term, frame: Frame) -> Term:
    """Rename apart: each canonical variable i becomes frame[i], made fresh where it is None.

    >>> x = canonical_var(0)
    >>> frame = [None]
    >>> t = instantiate(Struct(Functor("p", 2), (x, x)), frame)
    >>> t.args[0] is t.args[1], t.args[0] is x
    (True, False)
    """
    if type(term) is Var:
        value = frame[term.index]
        if value is None:
            value = frame[term.index] = Var()
        return value
    if type(term) is not Struct or term.ground:
        return term
    args: list[Term] = []
    for a in term.args:
        if type(a) is Var:
            value = frame[a.index]
            if value is None:
                value = frame[a.index] = Var()
            args.append(value)
        elif type(a) is Struct and not a.ground:
            return _copy(term, frame)
        else:
            args.append(a)
    return Struct(term.functor, tuple(args))


def _copy(root: Struct, frame: Frame) -> Struct:
    # Depth first with an explicit stack: `done` holds finished arguments of the open structs.
    open_: list[tuple[Struct, list[Term]]] = [(root, [])]
    visits = 0
    while True:
        source, done = open_[-1]
        args = source.args
        while len(done) < len(args):
            a = args[len(done)]
            if type(a) is Var:
                value = frame[a.index]
                if value is None:
                    value = frame[a.index] = Var()
                done.append(value)
            elif type(a) is Struct and not a.ground:
                visits += 1
                if visits > MANY:
                    return _copy_once(root, frame)
                open_.append((a, []))
                break
            else:
                done.append(a)
        else:
            open_.pop()
            result = Struct(source.functor, tuple(done))
            if not open_:
                return result
            open_[-1][1].append(result)


def _copy_once(root: Struct, frame: Frame) -> Struct:
    """The same copy, each part of the term once: what it shares, and where it contains itself."""
    made: dict[int, Struct] = {id(root): Struct(root.functor, ())}
    todo = [root]
    while todo:
        source = todo.pop()
        args: list[Term] = []
        for a in source.args:
            if type(a) is Var:
                value = frame[a.index]
                if value is None:
                    value = frame[a.index] = Var()
                args.append(value)
            elif type(a) is Struct and not a.ground:
                copy = made.get(id(a))
                if copy is None:
                    copy = made[id(a)] = Struct(a.functor, ())
                    todo.append(a)
                args.append(copy)
            else:
                args.append(a)
        made[id(source)].args = tuple(args)
    return made[id(root)]


def abstract(term: Term, numbers: dict[Var, int]) -> Term:
    """The inverse of `instantiate`: follow bindings, number free variables by first occurrence.

    `numbers` grows as variables are met, so several terms can share one numbering. Ground flags
    of the result are exact, except inside a very large term that has variables.
    """
    root = deref(term)
    if type(root) is Var:
        return canonical_var(numbers.setdefault(root, len(numbers)))
    if type(root) is not Struct or root.ground:
        return root
    open_: list[tuple[Struct, list[Term], bool]] = [(root, [], True)]
    visits = 0
    while True:
        source, done, ground = open_[-1]
        args = source.args
        descended = False
        while len(done) < len(args):
            a = args[len(done)]
            while type(a) is Var and a.ref is not None:
                a = a.ref
            if type(a) is Var:
                ground = False
                done.append(canonical_var(numbers.setdefault(a, len(numbers))))
            elif type(a) is Struct and not a.ground:
                visits += 1
                if visits > MANY:
                    return _abstract_once(root, numbers)
                open_[-1] = (source, done, ground)
                open_.append((a, [], True))
                descended = True
                break
            else:
                done.append(a)
        if descended:
            continue
        open_.pop()
        result = Struct(source.functor, tuple(done), ground)
        if not open_:
            return result
        parent, parent_done, parent_ground = open_[-1]
        parent_done.append(result)
        open_[-1] = (parent, parent_done, parent_ground and ground)


def _abstract_once(root: Struct, numbers: dict[Var, int]) -> Struct:
    """The same form, each part of the term once: what it shares, and where it contains itself."""
    inside = variables_once([root])
    for var in inside:
        numbers.setdefault(var, len(numbers))
    ground = not inside and is_acyclic(root)
    made: dict[int, Struct] = {id(root): Struct(root.functor, (), ground)}
    todo = [root]
    while todo:
        source = todo.pop()
        args: list[Term] = []
        for a in source.args:
            a = deref(a)
            if type(a) is Var:
                args.append(canonical_var(numbers[a]))
            elif type(a) is Struct and not a.ground:
                copy = made.get(id(a))
                if copy is None:
                    copy = made[id(a)] = Struct(a.functor, (), ground)
                    todo.append(a)
                args.append(copy)
            else:
                args.append(a)
        made[id(source)].args = tuple(args)
    return made[id(root)]
