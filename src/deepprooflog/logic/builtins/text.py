"""Text as builtins see it: which terms count as text, and numbers written as text."""

from __future__ import annotations

import re

from deepprooflog.errors import SyntaxProblem
from deepprooflog.logic.solver.iso_errors import (
    instantiation_error,
    representation_error,
    type_error,
)
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
