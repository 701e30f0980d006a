"""Unification and comparison of terms."""

from __future__ import annotations

from typing import Any

from deepprooflog.logic.builtins.registry import det
from deepprooflog.logic.clause import abstract
from deepprooflog.logic.solver.iso_errors import domain_error, type_error
from deepprooflog.logic.solver.machine import Machine
from deepprooflog.logic.solver.standard_order import compare as standard_order
from deepprooflog.logic.unify import undo, unify
from deepprooflog.syntax.terms import Atom, Var, deref

_ORDERS = {-1: Atom("<"), 0: Atom("="), 1: Atom(">")}


@det("=", 2, iso=True)
def equals(m: Machine, args: Any) -> bool:
    return m.unify(args[0], args[1])


@det("\\=", 2, iso=True)
def not_unifiable(m: Machine, args: Any) -> bool:
    mark = len(m.trail)
    done = m.unify(args[0], args[1])
    undo(m.trail, mark)
    return not done


@det("unify_with_occurs_check", 2, iso=True)
def unify_soundly(m: Machine, args: Any) -> bool:
    return unify(args[0], args[1], m.trail, True)


@det("==", 2, iso=True)
def identical(m: Machine, args: Any) -> bool:
    return standard_order(args[0], args[1], m.ages) == 0


@det("\\==", 2, iso=True)
def not_identical(m: Machine, args: Any) -> bool:
    return standard_order(args[0], args[1], m.ages) != 0


@det("=@=", 2)
def variants(m: Machine, args: Any) -> bool:
    return bool(abstract(args[0], {}) == abstract(args[1], {}))


@det("\\=@=", 2)
def not_variants(m: Machine, args: Any) -> bool:
    return not variants(m, args)


@det("@<", 2, iso=True)
def before(m: Machine, args: Any) -> bool:
    return standard_order(args[0], args[1], m.ages) < 0


@det("@>", 2, iso=True)
def after(m: Machine, args: Any) -> bool:
    return standard_order(args[0], args[1], m.ages) > 0


@det("@=<", 2, iso=True)
def not_after(m: Machine, args: Any) -> bool:
    return standard_order(args[0], args[1], m.ages) <= 0


@det("@>=", 2, iso=True)
def not_before(m: Machine, args: Any) -> bool:
    return standard_order(args[0], args[1], m.ages) >= 0


@det("compare", 3, iso=True)
def compare(m: Machine, args: Any) -> bool:
    wanted = deref(args[0])
    if type(wanted) is not Var:
        if type(wanted) is not Atom:
            raise type_error("atom", wanted)
        if wanted not in _ORDERS.values():
            raise domain_error("order", wanted)
    return m.unify(wanted, _ORDERS[standard_order(args[1], args[2], m.ages)])
