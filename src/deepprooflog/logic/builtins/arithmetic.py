"""is/2 and arithmetic comparison."""

from __future__ import annotations

from typing import Any

from deepprooflog.logic.builtins.registry import det
from deepprooflog.logic.solver.arithmetic import evaluate, number_term
from deepprooflog.logic.solver.machine import Machine


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
