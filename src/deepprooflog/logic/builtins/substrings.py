"""Concatenation and parts of a text, in every mode; shared by atoms and strings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from deepprooflog.logic.builtins.numbers import require_integer
from deepprooflog.logic.builtins.registry import Solutions
from deepprooflog.logic.builtins.text import atomic_text, require_text
from deepprooflog.logic.limits.room import require_text as require_length
from deepprooflog.logic.solver.iso_errors import domain_error, instantiation_error, type_error
from deepprooflog.logic.solver.machine import Machine
from deepprooflog.logic.unify import undo
from deepprooflog.syntax.terms import Struct, Term, Var, deref

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
