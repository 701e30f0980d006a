"""Between atoms or numbers and their characters: atom_codes/2, number_codes/2, char_code/2 …"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deepprooflog.logic.builtins.registry import det
from deepprooflog.logic.builtins.terms import require_partial_list
from deepprooflog.logic.builtins.text import (
    MAX_CODE,
    any_text,
    chars,
    codes,
    list_text,
    parse_number,
    require_text,
)
from deepprooflog.logic.solver.iso_errors import (
    instantiation_error,
    representation_error,
    syntax_error,
    type_error,
)
from deepprooflog.logic.solver.machine import Machine
from deepprooflog.syntax.terms import Atom, Float, Str, Term, Var, deref


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
