"""Operators: the table that decides how terms are read and written.

Every program owns a table, so that an `op/3` directive changes that program and no other.

>>> Operators().infix["::"]
Operator(priority=990, type='xfx', left=989, right=989)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from deepprooflog.errors import PrologError
from deepprooflog.syntax.terms import (
    NIL,
    Atom,
    Struct,
    Term,
    Var,
    deref,
    iter_list,
    list_tail,
    struct,
)


@dataclass(frozen=True, slots=True)
class Operator:
    """Priority, specifier, and the highest priorities its arguments may have (−1: no argument)."""

    priority: int
    type: str
    left: int
    right: int


_DEFAULTS = (
    (1200, "xfx", ":- -->"),
    (1200, "fx", ":- ?-"),
    (1150, "fx", "dynamic discontiguous table"),
    (1100, "xfy", "; |"),
    (1050, "xfy", "-> *->"),
    (1000, "xfy", ","),
    (990, "xfx", "::"),
    (900, "fy", "\\+"),
    (700, "xfx", "= \\= == \\== =@= \\=@= @< @=< @> @>= =.. is =:= =\\= < =< > >="),
    (600, "xfy", ":"),
    (500, "yfx", "+ - /\\ \\/"),
    (450, "xfx", ".."),
    (400, "yfx", "* / // mod rem div << >>"),
    (200, "xfx", "**"),
    (200, "xfy", "^"),
    (200, "fy", "- + \\"),
)

TYPES = ("xfx", "xfy", "yfx", "fy", "fx", "xf", "yf")


class Operators:
    """A table of operators: three dictionaries from name to `Operator`."""

    __slots__ = ("infix", "postfix", "prefix")
    prefix: dict[str, Operator]
    infix: dict[str, Operator]
    postfix: dict[str, Operator]

    def __init__(self) -> None:
        self.prefix, self.infix, self.postfix = {}, {}, {}
        for priority, type_, names in _DEFAULTS:
            for name in names.split():
                self._set(priority, type_, name)

    def copy(self) -> Operators:
        """A table of its own with the same operators."""
        other = Operators.__new__(Operators)
        other.prefix = dict(self.prefix)
        other.infix = dict(self.infix)
        other.postfix = dict(self.postfix)
        return other

    def __contains__(self, name: str) -> bool:
        return name in self.infix or name in self.prefix or name in self.postfix

    def __iter__(self) -> Iterator[tuple[int, str, str]]:
        """All operators as (priority, type, name), what `current_op/3` enumerates."""
        for table in (self.prefix, self.infix, self.postfix):
            for name, operator in table.items():
                yield operator.priority, operator.type, name

    def add(self, priority: int, type: str, name: str) -> None:
        """Define an operator, or remove it with priority 0; ISO's errors where it is forbidden.

        >>> Operators().add(700, "xfx", ",")
        Traceback (most recent call last):
        deepprooflog.errors.PrologError: no permission to modify the operator ','
        """
        self._check(priority, type, name)
        self._set(priority, type, name)

    def declare(self, priority: Term, type: Term, names: Term) -> None:
        """`op/3` on terms: `names` is an atom or a list of atoms; all are checked, then all set."""
        priority, type, names = deref(priority), deref(type), deref(names)
        for term in (priority, type, names, list_tail(names), *iter_list(names)):
            if isinstance(term, Var):
                raise PrologError("op/3 needs bound arguments", term=Atom("instantiation_error"))
        if not isinstance(priority, int):
            _fail("the priority must be an integer", "type_error", Atom("integer"), priority)
        if not isinstance(type, Atom):
            _fail("the operator type must be an atom", "type_error", Atom("atom"), type)
        if isinstance(names, Atom) and names is not NIL:
            atoms: list[Term] = [names]
        elif isinstance(names, Struct) and list_tail(names) is NIL:
            atoms = list(iter_list(names))
        elif names is NIL:
            _forbidden("create", "[]")
        else:
            _fail("op/3 names an atom or a list", "type_error", Atom("list"), names)
        checked: list[str] = []
        for atom in atoms:
            if not isinstance(atom, Atom):
                _fail("an operator's name must be an atom", "type_error", Atom("atom"), atom)
            self._check(priority, type.name, atom.name)
            checked.append(atom.name)
        for name in checked:
            self._set(priority, type.name, name)

    def _check(self, priority: int, type: str, name: str) -> None:
        if not 0 <= priority <= 1200:
            _fail(
                f"operator priority {priority} is not in 0..1200",
                "domain_error",
                Atom("operator_priority"),
                priority,
            )
        if type not in TYPES:
            _fail(
                f"{type} is no operator type (one of {', '.join(TYPES)})",
                "domain_error",
                Atom("operator_specifier"),
                Atom(type),
            )
        if name == ",":
            _forbidden("modify", name)
        if name == "|" and (len(type) != 3 or 0 < priority < 1001):
            _forbidden("modify" if name in self.infix else "create", name)
        if name in ("[]", "{}"):
            _forbidden("create", name)
        # One name may not be infix and postfix: the reader would have to guess.
        rival = self.postfix if len(type) == 3 else self.infix if type[1] == "f" else {}
        if priority and name in rival:
            _forbidden("create", name)

    def _set(self, priority: int, type: str, name: str) -> None:
        table = self.infix if len(type) == 3 else self.prefix if type[0] == "f" else self.postfix
        if priority == 0:
            table.pop(name, None)
            return
        bound = {"x": priority - 1, "y": priority, "f": -1}
        table[name] = Operator(priority, type, bound[type[0]], bound[type[-1]])


def _fail(message: str, kind: str, *args: Term) -> NoReturn:
    raise PrologError(message, term=struct(kind, *args))


def _forbidden(action: str, name: str) -> NoReturn:
    _fail(
        f"no permission to {action} the operator {name if name in ('[]', '{}') else repr(name)}",
        "permission_error",
        Atom(action),
        Atom("operator"),
        Atom(name),
    )
