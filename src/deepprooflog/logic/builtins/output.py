"""Writing terms to the solver's output."""

from __future__ import annotations

import sys
from typing import Any

from deepprooflog.logic.builtins.columns import column_after
from deepprooflog.logic.builtins.registry import det
from deepprooflog.logic.builtins.terms import require_list
from deepprooflog.logic.limits.room import require_text
from deepprooflog.logic.solver.arithmetic import evaluate
from deepprooflog.logic.solver.iso_errors import domain_error, instantiation_error, type_error
from deepprooflog.logic.solver.machine import Machine
from deepprooflog.syntax.terms import Atom, Float, Struct, Term, Var, deref
from deepprooflog.syntax.writer import write_term

_OPTIONS = ("quoted", "ignore_ops", "numbervars")
# A column, a count or a number of digits beyond this is a mistake, not a page.
LONGEST = 1_000_000


def emit(m: Machine, text: str) -> bool:
    """Write text; always true."""
    (m.output or sys.stdout).write(text)
    m.column = column_after(m.column, text)
    return True


def shown(m: Machine, term: Term, **options: bool) -> str:
    """A term as text under the program's operators."""
    return write_term(term, operators=m.operators, **{"quoted": False, **options})  # type: ignore[arg-type]


@det("write", 1, iso=True)
def write(m: Machine, args: Any) -> bool:
    return emit(m, shown(m, args[0], numbervars=True))


@det("writeln", 1)
def writeln(m: Machine, args: Any) -> bool:
    return emit(m, shown(m, args[0], numbervars=True) + "\n")


@det("writeq", 1, iso=True)
@det("print", 1)
def writeq(m: Machine, args: Any) -> bool:
    return emit(m, shown(m, args[0], quoted=True, numbervars=True))


@det("write_canonical", 1, iso=True)
def write_canonical(m: Machine, args: Any) -> bool:
    return emit(m, shown(m, args[0], quoted=True, ignore_ops=True))


@det("write_term", 2, iso=True)
def write_term_(m: Machine, args: Any) -> bool:
    options: dict[str, bool] = {}
    for option in require_list(args[1]):
        if type(option) is Var:
            raise instantiation_error("an option of write_term/2 is not bound")
        if type(option) is not Struct or len(option.args) != 1:
            raise domain_error("write_option", option)
        value = deref(option.args[0])
        if type(value) is Var:
            raise instantiation_error("an option of write_term/2 has an unbound value")
        if option.functor.name in _OPTIONS:
            if value not in (Atom("true"), Atom("false")):
                raise domain_error("write_option", option)
            options[option.functor.name] = value is Atom("true")
    return emit(m, shown(m, args[0], **options))


@det("nl", 0, iso=True)
def nl(m: Machine, args: Any) -> bool:
    return emit(m, "\n")


@det("tab", 1)
def tab(m: Machine, args: Any) -> bool:
    count = evaluate(args[0])
    if type(count) is not int:
        raise type_error("integer", Float(count))
    require_text(count)
    return emit(m, " " * count)


@det("put_char", 1, iso=True)
def put_char(m: Machine, args: Any) -> bool:
    char = deref(args[0])
    if type(char) is Var:
        raise instantiation_error("put_char/1 needs a character")
    if type(char) is not Atom or len(char.name) != 1:
        raise type_error("character", char)
    return emit(m, char.name)
