"""Which terms count as text; atoms and numbers as characters: atom_codes/2, number_codes/2, …"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from deepprooflog.errors import SyntaxProblem
from deepprooflog.logic.builtins.registry import det
from deepprooflog.logic.builtins.terms import require_partial_list
from deepprooflog.logic.solver.iso_errors import (
    instantiation_error,
    representation_error,
    syntax_error,
    type_error,
)
from deepprooflog.logic.solver.machine import Machine
from deepprooflog.syntax.numerals import parse_integer
from deepprooflog.syntax.reader import read_term
from deepprooflog.syntax.terms import (
    NIL,
    Atom,
    Float,
    Str,
    Struct,
    Term,
    Var,
    deref,
    iter_list,
    list_tail,
    make_list,
)
from deepprooflog.syntax.writer import write_term

_DIGITS = re.compile(r"[0-9]+\Z")
MAX_CODE = 0x10FFFF


def atomic_text(term: Term) -> str | None:
    """The text of an atom, number or string; None for anything else."""
    term = deref(term)
    if type(term) is Atom:
        return term.name
    if type(term) is Str:
        return term.value
    if type(term) is int or type(term) is Float:
        return write_term(term)
    return None


def require_text(term: Term, expected: str = "atomic") -> str:
    """The text of an atomic term; ISO's errors otherwise."""
    text = atomic_text(term)
    if text is not None:
        return text
    if type(deref(term)) is Var:
        raise instantiation_error("a text is needed, not an unbound variable")
    raise type_error(expected, deref(term))


def list_text(term: Term, expected: str = "character") -> str | None:
    """The text of a proper list of characters or codes; None when it is not bound to its end.

    The first element says which of the two the list holds; `expected` names the type in the error
    where it is neither.
    """
    term = deref(term)
    items = list(iter_list(term))
    tail = list_tail(term)
    if type(tail) is Var or any(type(i) is Var for i in items):
        return None
    if tail is not NIL:
        raise type_error("list", term)
    if not items:
        return ""
    if type(items[0]) is int:
        return "".join([_from_code(i) for i in items])
    return "".join([_character(i, expected if i is items[0] else "character") for i in items])


def _from_code(item: Term) -> str:
    if type(item) is not int:
        raise type_error("character_code", item)
    if not 0 <= item <= MAX_CODE:
        raise representation_error("character_code")
    return chr(item)


def _character(item: Term, expected: str) -> str:
    if type(item) is Atom and len(item.name) == 1:
        return item.name
    raise type_error(expected, item)


def any_text(term: Term, expected: str = "atomic") -> str:
    """The text of an atomic term or of a list of characters or codes; errors otherwise."""
    term = deref(term)
    if (type(term) is Struct or term is NIL) and list_tail(term) is NIL:
        text = list_text(term)
        if text is not None:
            return text
    return require_text(term, expected)


def codes(text: str) -> Term:
    return make_list([ord(c) for c in text])


def chars(text: str) -> Term:
    return make_list([Atom(c) for c in text])


def parse_number(text: str) -> Term | None:
    """The number a text is written as, layout before it allowed; None when it is not one.

    >>> parse_number(" -0x1F"), parse_number("1 ")
    (-31, None)
    """
    body = text.lstrip()
    sign = 1
    if body[:1] in ("-", "+") and body[1:2].isdigit():
        sign = -1 if body[0] == "-" else 1
        body = body[1:]
    if _DIGITS.match(body):
        return sign * parse_integer(body)
    if not body[:1].isdigit() or (body[-1].isspace() and not body.startswith("0'")):
        return None
    try:
        value = read_term(body + " .").term
    except SyntaxProblem:
        return None
    if type(value) is int:
        return sign * value
    return Float(sign * value.value) if type(value) is Float else None


def _list_or_string(term: Term, spell: Callable[[str], Term]) -> str | None:
    """The text of a list of characters or codes, or of a string object."""
    if type(deref(term)) is Str:
        return require_text(term)
    return list_text(term, "character_code" if spell is codes else "character")


def _spelled(m: Machine, args: Any, spell: Callable[[str], Term]) -> bool:
    if type(deref(args[0])) is not Var:
        if type(deref(args[1])) is not Str:
            require_partial_list(args[1])
        return m.unify(args[1], spell(require_text(args[0], "atom")))
    if type(deref(args[1])) is Var:
        raise instantiation_error("an atom or its characters must be bound")
    text = _list_or_string(args[1], spell)
    if text is None:
        raise instantiation_error("the list of characters is not bound to its end")
    return m.unify(args[0], Atom(text))


@det("atom_codes", 2, iso=True)
def atom_codes(m: Machine, args: Any) -> bool:
    return _spelled(m, args, codes)


@det("atom_chars", 2, iso=True)
def atom_chars(m: Machine, args: Any) -> bool:
    return _spelled(m, args, chars)


@det("char_code", 2, iso=True)
def char_code(m: Machine, args: Any) -> bool:
    char, code = deref(args[0]), deref(args[1])
    if type(char) is not Var:
        if type(char) is not Atom or len(char.name) != 1:
            raise type_error("character", char)
        if type(code) is not Var:
            _require_code(code)
        return m.unify(code, ord(char.name))
    if type(code) is Var:
        raise instantiation_error("char_code/2 needs a character or a code")
    return m.unify(char, Atom(chr(_require_code(code))))


def _require_code(term: Term) -> int:
    if type(term) is not int:
        raise type_error("integer", term)
    if not 0 <= term <= MAX_CODE:
        raise representation_error("character_code")
    return term


def _number_spelled(m: Machine, args: Any, spell: Callable[[str], Term]) -> bool:
    number = deref(args[0])
    if type(number) not in (Var, int, Float):
        raise type_error("number", number)
    if type(deref(args[1])) is not Var:
        text = _list_or_string(args[1], spell)
        if text is not None:
            value = parse_number(text)
            if value is None:
                raise syntax_error("illegal_number")
            return m.unify(number, value)
    if type(number) is Var:
        raise instantiation_error("a number or its characters must be bound")
    return m.unify(args[1], spell(require_text(number)))


@det("number_codes", 2, iso=True)
def number_codes(m: Machine, args: Any) -> bool:
    return _number_spelled(m, args, codes)


@det("number_chars", 2, iso=True)
def number_chars(m: Machine, args: Any) -> bool:
    return _number_spelled(m, args, chars)


@det("atom_number", 2)
def atom_number(m: Machine, args: Any) -> bool:
    atom, number = deref(args[0]), deref(args[1])
    if type(atom) is Var:
        if type(number) is Var:
            raise instantiation_error("atom_number/2 needs an atom or a number")
        if type(number) is not int and type(number) is not Float:
            raise type_error("number", number)
        return m.unify(atom, Atom(require_text(number)))
    if type(atom) is not Atom and type(atom) is not Str:
        raise type_error("atom", atom)
    text = require_text(atom)
    value = None if text[:1].isspace() else parse_number(text)
    return value is not None and m.unify(number, value)


@det("number_string", 2)
def number_string(m: Machine, args: Any) -> bool:
    number = deref(args[0])
    if type(number) not in (Var, int, Float):
        raise type_error("number", number)
    if type(deref(args[1])) is not Var:
        text = any_text(args[1])
        value = None if text[:1].isspace() else parse_number(text)
        return value is not None and m.unify(number, value)
    return m.unify(args[1], Str(require_text(number)))
