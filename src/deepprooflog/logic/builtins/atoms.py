"""Atoms and strings: lengths, concatenation, parts, conversions, split_string/4, term_to_atom/2."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from deepprooflog.errors import SyntaxProblem
from deepprooflog.logic.builtins.numbers import require_integer
from deepprooflog.logic.builtins.output import shown
from deepprooflog.logic.builtins.registry import Solutions, det, nondet
from deepprooflog.logic.builtins.terms import require_list
from deepprooflog.logic.builtins.text import any_text, atomic_text, chars, codes, require_text
from deepprooflog.logic.limits.room import require_text as require_length
from deepprooflog.logic.solver.iso_errors import (
    domain_error,
    instantiation_error,
    syntax_error,
    type_error,
)
from deepprooflog.logic.solver.machine import Machine
from deepprooflog.logic.unify import undo
from deepprooflog.syntax.reader import Flags, read_term
from deepprooflog.syntax.terms import (
    NIL,
    Atom,
    Str,
    Struct,
    Term,
    Var,
    deref,
    iter_list,
    list_tail,
    make_list,
)

Make = Callable[[str], Term]


def concatenations(m: Machine, args: Any, make: Make, expected: str) -> Solutions:
    """`left + right = whole`: computed, or every split of the whole from the left."""
    left, right, whole = (atomic_text(a) for a in args)
    for a in args:
        if type(deref(a)) is Struct:
            raise type_error(expected, deref(a))
    if left is not None and right is not None:
        require_length(len(left) + len(right))
        return _same(m, args[2], whole, left + right, make)
    if whole is None:
        raise instantiation_error("neither both parts nor the whole text is bound")
    if left is not None:
        return whole.startswith(left) and m.unify(args[1], make(whole[len(left) :]))
    if right is not None:
        end = len(whole) - len(right)
        return whole.endswith(right) and m.unify(args[0], make(whole[:end]))
    for i in range(len(whole) + 1):
        mark = len(m.trail)
        if m.unify(args[0], make(whole[:i])) and m.unify(args[1], make(whole[i:])):
            if i == len(whole):
                return True
            yield
        else:
            undo(m.trail, mark)
    return False


def _same(m: Machine, term: Term, text: str | None, wanted: str, make: Make) -> bool:
    return text == wanted if text is not None else m.unify(term, make(wanted))


def substrings(m: Machine, args: Any, make: Make, expected: str) -> Solutions:
    """`sub(Text, Before, Length, After, Sub)`: by position first, then by length."""
    text = require_text(args[0], expected)
    sub = deref(args[4])
    if type(sub) is not Var and atomic_text(sub) is None:
        raise type_error(expected, sub)
    before, length, after = (_known(a) for a in args[1:4])
    found = (
        _places(text, require_text(sub))
        if type(sub) is not Var
        else _ranges(len(text), before, length, after)
    )
    pending: tuple[int, int] | None = None
    for place in found:
        if pending is not None and _bind(m, args, text, pending, make):
            yield
        pending = place
    return pending is not None and _bind(m, args, text, pending, make)


def _known(term: Term) -> int | None:
    if type(deref(term)) is Var:
        return None
    number = require_integer(term)
    if number < 0:
        raise domain_error("not_less_than_zero", number)
    return number


def _places(text: str, sub: str) -> Iterator[tuple[int, int]]:
    at = text.find(sub)
    while at >= 0:
        yield at, len(sub)
        at = text.find(sub, at + 1) if at < len(text) else -1


def _ranges(
    size: int, before: int | None, length: int | None, after: int | None
) -> Iterator[tuple[int, int]]:
    if before is None and length is not None and after is not None:
        before = size - length - after
    starts = range(size + 1) if before is None else [before]
    for b in starts:
        if length is not None:
            lengths: Any = [length]
        elif after is not None:
            lengths = [size - b - after]
        else:
            lengths = range(size - b + 1)
        for n in lengths:
            rest = size - b - n
            if b >= 0 and n >= 0 and rest >= 0 and (after is None or rest == after):
                yield b, n


def _bind(m: Machine, args: Any, text: str, place: tuple[int, int], make: Make) -> bool:
    b, n = place
    mark = len(m.trail)
    sub = text[b : b + n]
    done = m.unify(args[1], b) and m.unify(args[2], n) and m.unify(args[3], len(text) - b - n)
    if done and (type(deref(args[4])) is not Var or m.unify(args[4], make(sub))):
        return True
    undo(m.trail, mark)
    return False


@det("atom_length", 2, iso=True)
@det("string_length", 2)
def atom_length(m: Machine, args: Any) -> bool:
    length = deref(args[1])
    text = require_text(args[0], "atom")
    if type(length) is not Var and require_integer(length) < 0:
        raise domain_error("not_less_than_zero", length)
    return m.unify(length, len(text))


@nondet("atom_concat", 3, iso=True)
def atom_concat(m: Machine, args: Any) -> Solutions:
    return (yield from concatenations(m, args, Atom, "atom"))


@nondet("sub_atom", 5, iso=True)
def sub_atom(m: Machine, args: Any) -> Solutions:
    return (yield from substrings(m, args, Atom, "atom"))


@det("upcase_atom", 2)
def upcase_atom(m: Machine, args: Any) -> bool:
    return m.unify(args[1], Atom(any_text(args[0]).upper()))


@det("downcase_atom", 2)
def downcase_atom(m: Machine, args: Any) -> bool:
    return m.unify(args[1], Atom(any_text(args[0]).lower()))


@det("atomic_list_concat", 2)
def atomic_list_concat(m: Machine, args: Any) -> bool:
    texts = [require_text(t) for t in require_list(args[0])]
    require_length(sum(map(len, texts)))
    return m.unify(args[1], Atom("".join(texts)))


@det("atomic_list_concat", 3)
def atomic_list_concat_separated(m: Machine, args: Any) -> bool:
    separator = require_text(args[1])
    texts = [None if type(t) is Var else require_text(t) for t in iter_list(args[0])]
    known = [t for t in texts if t is not None]
    if list_tail(args[0]) is NIL and len(known) == len(texts):
        require_length(sum(map(len, known)) + len(separator) * len(known))
        return m.unify(args[2], Atom(separator.join(known)))
    whole = atomic_text(args[2])
    if whole is None:
        raise instantiation_error("neither the parts nor the whole text is bound")
    if not separator:
        raise domain_error("non_empty_atom", Atom(""))
    return m.unify(args[0], make_list([Atom(part) for part in whole.split(separator)]))


@det("term_to_atom", 2)
def term_to_atom(m: Machine, args: Any) -> bool:
    return _between_term_and_text(m, args, Atom)


@det("term_string", 2)
def term_string(m: Machine, args: Any) -> bool:
    return _between_term_and_text(m, args, Str)


def _between_term_and_text(m: Machine, args: Any, make: Make) -> bool:
    if type(deref(args[0])) is Var:
        if type(deref(args[1])) is Var:
            raise instantiation_error("a term or its text must be bound")
        return m.unify(args[0], parse(m, any_text(args[1])))
    return m.unify(args[1], make(shown(m, args[0], quoted=True, numbervars=True)))


def parse(m: Machine, text: str) -> Term:
    """The term a text is, under the search's operators; a syntax error otherwise."""
    flags = Flags(double_quotes=m.flags["double_quotes"])
    try:
        return read_term(text, m.operators, flags=flags, end_optional=True).term
    except SyntaxProblem as problem:
        raise syntax_error("cannot_read", problem.message) from None


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
