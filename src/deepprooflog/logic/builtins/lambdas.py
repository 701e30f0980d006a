"""Anonymous predicates: `Parameters>>Body` and `{Shared}/Body`, called like any closure.

A lambda is copied before each call, so that its variables are its own; those in `{Shared}` are the
clause's. What was bound before the call is bound in the copy. The clauses that use these are in
the library: `'>>'(Ps, B, A1, …) :- '$lambda'(Ps, B, [A1, …], G), call(G)`.
"""

from __future__ import annotations

from typing import Any

from deepprooflog.logic.builtins.control import add_arguments
from deepprooflog.logic.builtins.registry import det
from deepprooflog.logic.builtins.terms import require_list
from deepprooflog.logic.solver.iso_errors import domain_error, instantiation_error, type_error
from deepprooflog.logic.solver.machine import Machine, copy_term
from deepprooflog.syntax.terms import CURLY, Atom, Functor, Struct, Term, Var, deref, iter_list

_LAMBDA = Functor(">>", 2)
_SHARED = Functor("/", 2)
_COPIED = Functor("$copied", 3)


@det("$lambda", 4)
def apply_lambda(m: Machine, args: Any) -> bool:
    """`'$lambda'(Parameters, Body, Arguments, Goal)`"""
    parameters, body = deref(args[0]), args[1]
    given = list(iter_list(args[2]))
    shared: Term = Atom("{}")
    if type(parameters) is Var:
        raise instantiation_error("the parameters of a lambda are not bound")
    if type(parameters) is Struct and parameters.functor is _SHARED:
        shared, parameters = _require_shared(parameters.args[0]), deref(parameters.args[1])
    require_list(parameters)
    own, copied = _copy(m, shared, parameters, body)
    formal = require_list(own)
    if len(formal) > len(given):
        raise domain_error("lambda_parameters", Struct(_LAMBDA, (args[0], body)))
    for parameter, argument in zip(formal, given, strict=False):
        if not m.unify(parameter, argument):
            return False
    return m.unify(args[3], add_arguments(copied, tuple(given[len(formal) :])))


@det("$shared", 4)
def apply_shared(m: Machine, args: Any) -> bool:
    """`'$shared'({Variables}, Body, Arguments, Goal)`"""
    shared = _require_shared(args[0])
    _, copied = _copy(m, shared, Atom("[]"), args[1])
    return m.unify(args[3], add_arguments(copied, tuple(iter_list(args[2]))))


def _require_shared(term: Term) -> Term:
    term = deref(term)
    if type(term) is Var:
        raise instantiation_error("the shared variables of a lambda are not bound")
    if term is Atom("{}") or (type(term) is Struct and term.functor is CURLY):
        return term
    raise type_error("lambda_free", term)


def _copy(m: Machine, shared: Term, parameters: Term, body: Term) -> tuple[Term, Term]:
    """Parameters and body with variables of their own, except those shared."""
    copied = copy_term(Struct(_COPIED, (shared, parameters, body)))
    assert type(copied) is Struct
    m.unify(copied.args[0], shared)
    return copied.args[1], copied.args[2]
