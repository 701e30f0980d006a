"""Numbers: is/2, arithmetic comparison, between/3, succ/2, plus/3, divmod/4."""

from __future__ import annotations

import itertools
from typing import Any

from deepprooflog.logic.builtins.registry import Solutions, det, nondet
from deepprooflog.logic.solver.arithmetic import evaluate, floor_quotient, modulo, number_term
from deepprooflog.logic.solver.iso_errors import domain_error, instantiation_error, type_error
from deepprooflog.logic.solver.machine import Machine
from deepprooflog.syntax.terms import Atom, Term, Var, deref


@det("is", 2, iso=True)
def is_(m: Machine, args: Any) -> bool:
    return m.unify(args[0], number_term(evaluate(args[1])))


@det("=:=", 2, iso=True)
def equal(m: Machine, args: Any) -> bool:
    return evaluate(args[0]) == evaluate(args[1])


@det("=\\=", 2, iso=True)
def not_equal(m: Machine, args: Any) -> bool:
    return evaluate(args[0]) != evaluate(args[1])


@det("<", 2, iso=True)
def less(m: Machine, args: Any) -> bool:
    return evaluate(args[0]) < evaluate(args[1])


@det(">", 2, iso=True)
def greater(m: Machine, args: Any) -> bool:
    return evaluate(args[0]) > evaluate(args[1])


@det("=<", 2, iso=True)
def at_most(m: Machine, args: Any) -> bool:
    return evaluate(args[0]) <= evaluate(args[1])


@det(">=", 2, iso=True)
def at_least(m: Machine, args: Any) -> bool:
    return evaluate(args[0]) >= evaluate(args[1])


_INFINITE = (Atom("inf"), Atom("infinite"))


def require_integer(term: Term) -> int:
    """The integer a term is; ISO's errors otherwise."""
    term = deref(term)
    if type(term) is int:
        return term
    if type(term) is Var:
        raise instantiation_error("an integer is needed, not an unbound variable")
    raise type_error("integer", term)


def _is_between(m: Machine, args: Any) -> bool | None:
    low, high, x = (deref(a) for a in args)
    if type(low) is int and type(high) is int and type(x) is int:
        return low <= x <= high
    return None


@nondet("between", 3, quick=_is_between)
def between(m: Machine, args: Any) -> Solutions:
    low = require_integer(args[0])
    top = deref(args[1])
    high = None if top in _INFINITE else require_integer(top)
    x = deref(args[2])
    if type(x) is int:
        return low <= x and (high is None or x <= high)
    if type(x) is not Var:
        raise type_error("integer", x)
    for i in itertools.count(low) if high is None else range(low, high):
        x.ref = i
        m.trail.append(x)
        yield
    return high is not None and low <= high and m.unify(x, high)


@det("succ", 2)
def succ(m: Machine, args: Any) -> bool:
    x, y = deref(args[0]), deref(args[1])
    if type(x) is Var and type(y) is Var:
        raise instantiation_error("succ/2 needs one of its arguments")
    for n in (x, y):
        if type(n) is not Var:
            _require_natural(n)
    if type(x) is int:
        return m.unify(y, x + 1)
    assert type(y) is int
    return y > 0 and m.unify(x, y - 1)


def _require_natural(term: Term) -> None:
    if require_integer(term) < 0:
        raise domain_error("not_less_than_zero", term)


@det("plus", 3)
def plus(m: Machine, args: Any) -> bool:
    x, y, z = (deref(a) for a in args)
    if type(z) is Var:
        return m.unify(z, require_integer(x) + require_integer(y))
    if type(y) is Var:
        return m.unify(y, require_integer(z) - require_integer(x))
    if type(x) is Var:
        return m.unify(x, require_integer(z) - require_integer(y))
    return require_integer(x) + require_integer(y) == require_integer(z)


@det("divmod", 4)
def divmod_(m: Machine, args: Any) -> bool:
    x, y = require_integer(args[0]), require_integer(args[1])
    return m.unify(args[2], floor_quotient(x, y)) and m.unify(args[3], modulo(x, y))
