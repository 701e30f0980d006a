"""Lists whose cost matters: length/2, memberchk/2, nth0/3, nth1/3, sums and extremes."""

from __future__ import annotations

import itertools
from typing import Any

from deepprooflog.logic.builtins.numbers import require_integer
from deepprooflog.logic.builtins.registry import Solutions, det, nondet
from deepprooflog.logic.builtins.terms import require_list
from deepprooflog.logic.limits.room import CELL, require_room
from deepprooflog.logic.solver.arithmetic import Number, add, evaluate, number_term
from deepprooflog.logic.solver.iso_errors import domain_error, resource_error, type_error
from deepprooflog.logic.solver.machine import Machine
from deepprooflog.logic.solver.standard_order import compare, note_ages
from deepprooflog.logic.unify import undo
from deepprooflog.syntax.terms import (
    CONS,
    NIL,
    Struct,
    Term,
    Var,
    deref,
    iter_list,
    list_spine,
    make_list,
)


@nondet("length", 2)
def length(m: Machine, args: Any) -> Solutions:
    count, tail = list_spine(args[0])
    n = deref(args[1])
    if type(n) is not Var and type(n) is not int:
        raise type_error("integer", n)
    if type(n) is int and n < 0 and (tail is NIL or type(tail) is Var):
        raise domain_error("not_less_than_zero", n)
    if tail is NIL:
        return m.unify(n, count)
    if type(tail) is not Var:
        raise type_error("list", deref(args[0]))
    if type(n) is int:
        require_room(n - count, CELL, f"a list of {n:,} elements")
        return n >= count and m.unify(tail, make_list([Var() for _ in range(n - count)]))
    if tail is n:
        raise resource_error("memory", "the list would be as long as itself")
    for extra in itertools.count():
        m.unify(tail, make_list([Var() for _ in range(extra)]))
        m.unify(n, count + extra)
        yield
    return False


@det("memberchk", 2)
def memberchk(m: Machine, args: Any) -> bool:
    item = args[0]
    t = deref(args[1])
    mark = len(m.trail)
    while type(t) is Struct and t.functor is CONS:
        if m.unify(item, t.args[0]):
            return True
        undo(m.trail, mark)
        t = deref(t.args[1])
    if type(t) is Var:
        return m.unify(t, Struct(CONS, (item, Var())))
    if t is not NIL:
        raise type_error("list", t)
    return False


def _nth(m: Machine, args: Any, base: int) -> Solutions:
    index, items, item = deref(args[0]), args[1], args[2]
    if type(index) is not Var:
        return _at(m, items, require_integer(index) - base, item)
    at = base
    t = deref(items)
    while type(t) is Struct and t.functor is CONS:
        mark = len(m.trail)
        rest = deref(t.args[1])
        if m.unify(item, t.args[0]) and m.unify(index, at):
            if rest is NIL:
                return True
            yield
        else:
            undo(m.trail, mark)
        at += 1
        t = rest
    if type(t) is not Var:
        return False
    # Backtracking takes the list's new end back each time, so it is made anew.
    for extra in itertools.count():
        m.unify(t, make_list([*(Var() for _ in range(extra)), item], Var()))
        m.unify(index, at + extra)
        yield
    return False


def _at(m: Machine, items: Term, steps: int, item: Term) -> bool:
    if steps < 0:
        return False
    t = deref(items)
    while True:
        if type(t) is Var:
            require_room(steps, CELL, f"a list of {steps:,} elements")
            m.unify(t, Struct(CONS, (Var(), Var())))
            t = deref(t)
        if type(t) is not Struct or t.functor is not CONS:
            return False
        if steps == 0:
            return m.unify(item, t.args[0])
        steps -= 1
        t = deref(t.args[1])


@nondet("nth0", 3)
def nth0(m: Machine, args: Any) -> Solutions:
    return (yield from _nth(m, args, 0))


@nondet("nth1", 3)
def nth1(m: Machine, args: Any) -> Solutions:
    return (yield from _nth(m, args, 1))


@det("sum_list", 2)
@det("sumlist", 2)
def sum_list(m: Machine, args: Any) -> bool:
    total: Number = 0
    for item in require_list(args[0]):
        total = add(total, evaluate(item))
    return m.unify(args[1], number_term(total))


def _extreme(m: Machine, args: Any, pick: Any) -> bool:
    values = [evaluate(item) for item in require_list(args[0])]
    return bool(values) and m.unify(args[1], number_term(pick(values)))


@det("max_list", 2)
def max_list(m: Machine, args: Any) -> bool:
    return _extreme(m, args, max)


@det("min_list", 2)
def min_list(m: Machine, args: Any) -> bool:
    return _extreme(m, args, min)


def _extreme_member(m: Machine, args: Any, sign: int) -> bool:
    best: Term | None = None
    note_ages(iter_list(args[1]), m.ages)
    for item in iter_list(args[1]):
        if best is None or sign * compare(item, best, m.ages) > 0:
            best = item
    return best is not None and m.unify(args[0], best)


@det("max_member", 2)
def max_member(m: Machine, args: Any) -> bool:
    return _extreme_member(m, args, 1)


@det("min_member", 2)
def min_member(m: Machine, args: Any) -> bool:
    return _extreme_member(m, args, -1)


@det("numlist", 3)
def numlist(m: Machine, args: Any) -> bool:
    low, high = require_integer(args[0]), require_integer(args[1])
    if low > high:
        return False
    require_room(high - low, CELL, f"a list of {high - low:,} elements")
    # Built from its end, number by number: one call for all of them could not be interrupted.
    result: Term = NIL
    for number in range(high, low - 1, -1):
        result = Struct(CONS, (number, result), True)
    return m.unify(args[2], result)
