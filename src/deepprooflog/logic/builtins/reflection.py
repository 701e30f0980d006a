"""Programs that read themselves: clause/2 and current_predicate/1."""

from __future__ import annotations

from typing import Any

from deepprooflog.logic.body import conjunction
from deepprooflog.logic.builtins.registry import CONTROL, DET, NONDET, Solutions, nondet
from deepprooflog.logic.clause import instantiate
from deepprooflog.logic.solver.iso_errors import (
    indicator,
    instantiation_error,
    permission_error,
    type_error,
)
from deepprooflog.logic.solver.library import library_clauses
from deepprooflog.logic.solver.machine import Machine
from deepprooflog.logic.unify import undo
from deepprooflog.syntax.terms import Atom, Functor, Struct, Term, Var, args_of, deref, functor_of

_SLASH = Functor("/", 2)


@nondet("clause", 2)
def clause(m: Machine, args: Any) -> Solutions:
    head, body = deref(args[0]), deref(args[1])
    if type(head) is Var:
        raise instantiation_error("clause/2 needs a head")
    functor = functor_of(head)
    if functor is None:
        raise type_error("callable", head)
    if type(body) is not Var and functor_of(body) is None:
        raise type_error("callable", body)
    program = m.code.program
    if not program.defines(functor):
        if _is_built_in(functor):
            why = "clauses of builtins cannot be looked at"
            raise permission_error("access", "private_procedure", indicator(functor), why)
        return False
    if program.is_stochastic(functor):
        why = "the clauses of a labelled or neural predicate are a random choice: call it"
        raise permission_error("access", "private_procedure", indicator(functor), why)
    for found in program.candidates(functor, args_of(head)):
        mark = len(m.trail)
        frame: list[Any] = [None] * found.size
        goal = conjunction([instantiate(atom, frame) for atom in found.body])
        if m.unify(head, instantiate(found.head, frame)) and m.unify(body, goal):
            yield
        else:
            undo(m.trail, mark)
    return False


def _is_built_in(functor: Functor) -> bool:
    known = functor in DET or functor in NONDET or functor in CONTROL
    return known or library_clauses(functor) is not None


@nondet("current_predicate", 1)
def current_predicate(m: Machine, args: Any) -> Solutions:
    spec = deref(args[0])
    name: Term = Var()
    arity: Term = Var()
    if type(spec) is Struct and spec.functor is _SLASH:
        name, arity = deref(spec.args[0]), deref(spec.args[1])
    elif type(spec) is not Var:
        raise type_error("predicate_indicator", spec)
    if type(name) not in (Var, Atom) or type(arity) not in (Var, int):
        raise type_error("predicate_indicator", spec)
    for functor in list(getattr(m.code.program, "predicates", ())):
        mark = len(m.trail)
        if m.code.program.size(functor) and m.unify(spec, indicator(functor)):
            yield
        else:
            undo(m.trail, mark)
    return False
