"""The standard order of terms: Var < Number < String < Atom < Slot < Compound.

Numbers compare by value, a float before an equal integer; compound terms by arity, name, then
arguments from the left. Variables have no age here, so each search numbers them as it first
compares them, which is an order that does not change while the search runs. Terms that contain
themselves are equal when the infinite trees they stand for are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cmp_to_key
from heapq import merge
from typing import Any

from deepprooflog.syntax.sharing import Classes
from deepprooflog.syntax.terms import MANY, Atom, Float, Slot, Str, Struct, Term, Var, variables

Ages = dict[Var, int]

SORTED_AT_ONCE = 1 << 19

_RANK: dict[type, int] = {Var: 0, Float: 1, int: 1, Str: 3, Atom: 4, Slot: 5, Struct: 6}


def compare(a: Term, b: Term, ages: Ages) -> int:
    """−1, 0 or 1 as a stands before, at or after b.

    >>> compare(Float(1.0), 1, {}), compare(Atom("b"), Atom("a"), {}), compare(2, Atom("a"), {})
    (-1, 1, -1)
    """
    stack: list[tuple[Term, Term]] = [(a, b)]
    visits = 0
    classes: Classes | None = None
    while stack:
        x, y = stack.pop()
        while type(x) is Var and x.ref is not None:
            x = x.ref
        while type(y) is Var and y.ref is not None:
            y = y.ref
        if x is y:
            continue
        if type(x) is Struct and type(y) is Struct:
            f, g = x.functor, y.functor
            if f is not g:
                if f.arity != g.arity:
                    return -1 if f.arity < g.arity else 1
                return -1 if f.name < g.name else 1
            if x.home is not None and x.home is y.home and x.ground and y.ground and x == y:
                continue
            visits += 1
            if visits > MANY:
                classes = classes or Classes()
                if not classes.join(x, y):
                    continue
            stack.extend(zip(reversed(x.args), reversed(y.args), strict=True))
            continue
        result = _compare_leaves(x, y, ages)
        if result:
            return result
    return 0


def _compare_leaves(x: Term, y: Term, ages: Ages) -> int:
    p, q = _RANK[type(x)], _RANK[type(y)]
    if p != q:
        return -1 if p < q else 1
    if p == 1:
        return _compare_numbers(x, y)
    if type(x) is Atom and type(y) is Atom:
        return -1 if x.name < y.name else 1
    if type(x) is Str and type(y) is Str:
        return (x.value > y.value) - (x.value < y.value)
    if type(x) is Slot and type(y) is Slot:
        return (x.number > y.number) - (x.number < y.number)
    assert type(x) is Var and type(y) is Var
    return -1 if ages.setdefault(x, len(ages)) < ages.setdefault(y, len(ages)) else 1


def _compare_numbers(x: Term, y: Term) -> int:
    u = x.value if type(x) is Float else x
    v = y.value if type(y) is Float else y
    assert isinstance(u, int | float) and isinstance(v, int | float)
    if u < v:
        return -1
    if u > v:
        return 1
    u_nan, v_nan = u != u, v != v
    if u_nan or v_nan:
        return v_nan - u_nan
    if type(x) is not type(y):
        return -1 if type(x) is Float else 1
    if u == 0 and type(x) is Float:
        s, t = math.copysign(1.0, u), math.copysign(1.0, v)
        return (s > t) - (s < t)
    return 0


def sort_key(ages: Ages) -> Callable[[Term], object]:
    """A key for `sorted` that follows the standard order."""
    return cmp_to_key(lambda a, b: compare(a, b, ages))


def sorted_terms(items: Iterable[Term], ages: Ages) -> list[Term]:
    """The terms in standard order, duplicates kept, equal ones in the order they came."""
    found = list(items)
    keys = [_atomic_key(t) for t in found]
    if None not in keys:
        return [found[i] for i in _order(keys)]
    note_ages(found, ages)
    return sorted(found, key=sort_key(ages))  # type: ignore[arg-type]


def _order(keys: list[Any]) -> list[int]:
    """Positions by their keys; long lists in parts, since one sort cannot be interrupted."""
    numbers = range(len(keys))
    if len(keys) <= SORTED_AT_ONCE:
        return sorted(numbers, key=keys.__getitem__)
    parts = [
        sorted(numbers[i : i + SORTED_AT_ONCE], key=keys.__getitem__)
        for i in range(0, len(keys), SORTED_AT_ONCE)
    ]
    return list(merge(*parts, key=keys.__getitem__))


def note_ages(terms: Iterable[Term], ages: Ages) -> None:
    """Let variables be as old as their place in the terms, so that sorting keeps their order."""
    for var in variables(*terms):
        ages.setdefault(var, len(ages))


def _atomic_key(t: Term) -> tuple[int, object, int] | None:
    """A Python key that orders atomic terms the same way, but faster; None for others."""
    if type(t) is int:
        return 1, t, 2
    if type(t) is Atom:
        return 4, t.name, 0
    if type(t) is Str:
        return 3, t.value, 0
    if type(t) is Float and t.value == t.value:
        return 1, t.value, 0 if math.copysign(1.0, t.value) < 0 else 1
    return None


def without_duplicates(items: list[Term], ages: Ages) -> list[Term]:
    """A sorted list with runs of equal terms cut down to their first."""
    result: list[Term] = []
    for item in items:
        if not result or compare(result[-1], item, ages):
            result.append(item)
    return result
