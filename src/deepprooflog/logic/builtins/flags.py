"""What a program sees of itself: operators and flags, which change for one search, and clauses."""

from __future__ import annotations

from typing import Any

from deepprooflog.errors import PrologError
from deepprooflog.logic.body import conjunction
from deepprooflog.logic.builtins.registry import CONTROL, DET, NONDET, Solutions, det, nondet
from deepprooflog.logic.clause import instantiate
from deepprooflog.logic.solver.iso_errors import (
    ERROR,
    domain_error,
    indicator,
    instantiation_error,
    permission_error,
    type_error,
)
from deepprooflog.logic.solver.library import library_clauses
from deepprooflog.logic.solver.machine import Machine
from deepprooflog.logic.unify import undo
from deepprooflog.syntax.operators import TYPES
from deepprooflog.syntax.reader import DOUBLE_QUOTES
from deepprooflog.syntax.terms import Atom, Functor, Struct, Term, Var, args_of, deref, functor_of

_FIXED: dict[str, Term] = {
    "bounded": Atom("false"),
    "integer_rounding_function": Atom("toward_zero"),
    "max_arity": Atom("unbounded"),
    "occurs_check": Atom("false"),
}
# Flags that a goal may set, with their values; the first is the default.
_SETTABLE = {
    "debug": ("off", "on"),
    "double_quotes": DOUBLE_QUOTES,
    "unknown": ("error", "fail", "warning"),
}


@det("op", 3, iso=True)
def op(m: Machine, args: Any) -> bool:
    table = m.operators.copy()
    try:
        table.declare(*args)
    except PrologError as error:
        term: Any = error.term
        if type(term) is not Struct or term.functor is not ERROR:
            error.term = Struct(ERROR, (term, Var()))
        raise
    m.operators = table
    return True


@nondet("current_op", 3, iso=True)
def current_op(m: Machine, args: Any) -> Solutions:
    priority, kind, name = (deref(a) for a in args)
    if type(priority) is not Var and (type(priority) is not int or not 0 <= priority <= 1200):
        raise domain_error("operator_priority", priority)
    if type(kind) is not Var and (type(kind) is not Atom or kind.name not in TYPES):
        raise domain_error("operator_specifier", kind)
    if type(name) is not Var and type(name) is not Atom:
        raise type_error("atom", name)
    for p, t, n in list(m.operators):
        mark = len(m.trail)
        if m.unify(priority, p) and m.unify(kind, Atom(t)) and m.unify(name, Atom(n)):
            yield
        else:
            undo(m.trail, mark)
    return False


def _values(m: Machine) -> dict[str, Term]:
    values: dict[str, Term] = {
        name: Atom(m.flags.get(name, known[0])) for name, known in _SETTABLE.items()
    }
    values |= _FIXED
    if m.code.occurs_check:
        values["occurs_check"] = Atom("true")
    return values


@det("set_prolog_flag", 2, iso=True)
def set_prolog_flag(m: Machine, args: Any) -> bool:
    name, value = deref(args[0]), deref(args[1])
    if type(name) is Var or type(value) is Var:
        raise instantiation_error("set_prolog_flag/2 needs a flag and a value")
    if type(name) is not Atom:
        raise type_error("atom", name)
    if name.name in _FIXED:
        raise permission_error("modify", "flag", name, "the flag cannot be changed")
    if name.name not in _SETTABLE:
        raise domain_error("prolog_flag", name)
    if type(value) is not Atom or value.name not in _SETTABLE[name.name]:
        raise domain_error("flag_value", Struct(Functor("+", 2), (name, value)))
    m.flags[name.name] = value.name
    return True


@nondet("current_prolog_flag", 2, iso=True)
def current_prolog_flag(m: Machine, args: Any) -> Solutions:
    name = deref(args[0])
    if type(name) is not Var and type(name) is not Atom:
        raise type_error("atom", name)
    values = _values(m)
    if type(name) is Atom:
        return name.name in values and m.unify(args[1], values[name.name])
    for flag, value in values.items():
        mark = len(m.trail)
        if m.unify(name, Atom(flag)) and m.unify(args[1], value):
            yield
        else:
            undo(m.trail, mark)
    return False


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
