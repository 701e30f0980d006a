"""Type tests: var/1, atom/1, number/1 and the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deepprooflog.logic.builtins.registry import Test, det
from deepprooflog.logic.solver.machine import Machine
from deepprooflog.syntax.terms import (
    NIL,
    Atom,
    Float,
    Slot,
    Str,
    Struct,
    Term,
    Var,
    deref,
    is_acyclic,
    is_ground,
    list_tail,
    variables,
)

_ATOMIC = frozenset({Atom, int, Float, Str, Slot})


def _test(holds: Callable[[Term], bool]) -> Test:
    def test(m: Machine, args: Any) -> bool:
        return holds(deref(args[0]))

    return test


TESTS: dict[str, Callable[[Term], bool]] = {
    "var": lambda t: type(t) is Var,
    "nonvar": lambda t: type(t) is not Var,
    "atom": lambda t: type(t) is Atom,
    "number": lambda t: type(t) is int or type(t) is Float,
    "integer": lambda t: type(t) is int,
    "float": lambda t: type(t) is Float,
    "atomic": lambda t: type(t) in _ATOMIC,
    "compound": lambda t: type(t) is Struct,
    "callable": lambda t: type(t) is Atom or type(t) is Struct,
    "is_list": lambda t: list_tail(t) is NIL,
    "string": lambda t: type(t) is Str,
    "ground": lambda t: is_ground(t) or not variables(t),
    "acyclic_term": is_acyclic,
    "cyclic_term": lambda t: not is_acyclic(t),
}

# The library's own additions, which a program may redefine.
_NOT_ISO = frozenset({"is_list", "string", "cyclic_term"})

for _name, _holds in TESTS.items():
    det(_name, 1, iso=_name not in _NOT_ISO)(_test(_holds))
