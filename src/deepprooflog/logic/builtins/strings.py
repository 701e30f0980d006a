"""String objects: conversions, string_concat/3, split_string/4, sub_string/5."""

from __future__ import annotations

from typing import Any

from deepprooflog.logic.builtins.registry import Solutions, det, nondet
from deepprooflog.logic.builtins.substrings import concatenations, substrings
from deepprooflog.logic.builtins.text import any_text, chars, codes
from deepprooflog.logic.solver.machine import Machine
from deepprooflog.syntax.terms import Atom, Str, Var, deref, make_list


@det("atom_string", 2)
def atom_string(m: Machine, args: Any) -> bool:
    if type(deref(args[0])) is not Var:
        return m.unify(args[1], Str(any_text(args[0]))) or _same_text(args)
    return m.unify(args[0], Atom(any_text(args[1])))


def _same_text(args: Any) -> bool:
    return type(deref(args[1])) is not Var and any_text(args[0]) == any_text(args[1])


@det("string_to_atom", 2)
def string_to_atom(m: Machine, args: Any) -> bool:
    if type(deref(args[0])) is not Var:
        return m.unify(args[1], Atom(any_text(args[0])))
    return m.unify(args[0], Str(any_text(args[1])))


@det("string_chars", 2)
def string_chars(m: Machine, args: Any) -> bool:
    if type(deref(args[0])) is not Var:
        return m.unify(args[1], chars(any_text(args[0])))
    return m.unify(args[0], Str(any_text(args[1])))


@det("string_codes", 2)
def string_codes(m: Machine, args: Any) -> bool:
    if type(deref(args[0])) is not Var:
        return m.unify(args[1], codes(any_text(args[0])))
    return m.unify(args[0], Str(any_text(args[1])))


@nondet("string_concat", 3)
def string_concat(m: Machine, args: Any) -> Solutions:
    return (yield from concatenations(m, args, Str, "atomic"))


@nondet("sub_string", 5)
def sub_string(m: Machine, args: Any) -> Solutions:
    return (yield from substrings(m, args, Str, "string"))


@det("string_upper", 2)
def string_upper(m: Machine, args: Any) -> bool:
    return m.unify(args[1], Str(any_text(args[0]).upper()))


@det("string_lower", 2)
def string_lower(m: Machine, args: Any) -> bool:
    return m.unify(args[1], Str(any_text(args[0]).lower()))


@det("split_string", 4)
def split_string(m: Machine, args: Any) -> bool:
    text, separators, padding = (any_text(a) for a in args[:3])
    text = text.strip(padding) if padding else text
    parts: list[str] = []
    at, size = 0, len(text)
    while True:
        # Padding goes before the next separator is looked for: adjacent ones that are also
        # padding count as one.
        while at < size and text[at] in padding:
            at += 1
        end = at
        while end < size and text[end] not in separators:
            end += 1
        parts.append(text[at:end].rstrip(padding) if padding else text[at:end])
        if end == size:
            return m.unify(args[3], make_list([Str(p) for p in parts]))
        at = end + 1
