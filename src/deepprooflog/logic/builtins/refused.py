"""What a program may not do: change itself, or end the process.

Arguments are checked as ISO says, so that a mistake in them is named first. Every predicate is
static, and a change of one is the error that ISO has for static predicates.
"""

from __future__ import annotations

from typing import Any

from deepprooflog.errors import PrologError
from deepprooflog.logic.body import as_goal
from deepprooflog.logic.builtins.numbers import require_integer
from deepprooflog.logic.builtins.registry import det
from deepprooflog.logic.solver.iso_errors import (
    domain_error,
    indicator,
    instantiation_error,
    permission_error,
    type_error,
)
from deepprooflog.logic.solver.machine import Machine
from deepprooflog.syntax.terms import Atom, Functor, Struct, Term, Var, deref, functor_of

_NECK = Functor(":-", 2)
_SLASH = Functor("/", 2)
_IMMUTABLE = "not supported: a program is immutable, pass state as arguments"
_PROCESS = "not supported: a goal cannot end the process that runs it"
_REFUSED = (
    ("nb_setval", 2), ("nb_getval", 2), ("b_setval", 2), ("b_getval", 2), ("setarg", 3),
    ("nb_setarg", 3), ("consult", 1),
)  # fmt: skip


def _refusal(functor: Functor, why: str) -> PrologError:
    return permission_error("execute", "procedure", indicator(functor), why)


def _refuse(name: str, arity: int) -> None:
    def refuse(m: Machine, args: Any) -> bool:
        raise _refusal(Functor(name, arity), _IMMUTABLE)

    det(name, arity)(refuse)


for _name, _arity in _REFUSED:
    _refuse(_name, _arity)


@det("assert", 1)
@det("asserta", 1)
@det("assertz", 1)
def add_clause(m: Machine, args: Any) -> bool:
    head, body = _parts(args[0])
    if type(body) is not Var:
        as_goal(body)
    raise _static(_head(head))


@det("retract", 1)
def remove_clause(m: Machine, args: Any) -> bool:
    raise _static(_head(_parts(args[0])[0]))


@det("retractall", 1)
def remove_clauses(m: Machine, args: Any) -> bool:
    raise _static(_head(args[0]))


@det("abolish", 1)
def abolish(m: Machine, args: Any) -> bool:
    spec = deref(args[0])
    if type(spec) is Var:
        raise instantiation_error("abolish/1 needs a name and an arity")
    if type(spec) is not Struct or spec.functor is not _SLASH:
        raise type_error("predicate_indicator", spec)
    name, arity = deref(spec.args[0]), deref(spec.args[1])
    if type(name) is Var or type(arity) is Var:
        raise instantiation_error("abolish/1 needs a name and an arity")
    if type(name) is not Atom:
        raise type_error("atom", name)
    if require_integer(arity) < 0:
        raise domain_error("not_less_than_zero", arity)
    raise _static(Functor(name.name, require_integer(arity)))


@det("halt", 0)
def halt(m: Machine, args: Any) -> bool:
    raise _refusal(Functor("halt", 0), _PROCESS)


@det("halt", 1)
def halt_with(m: Machine, args: Any) -> bool:
    require_integer(args[0])
    raise _refusal(Functor("halt", 1), _PROCESS)


def _parts(clause: Term) -> tuple[Term, Term]:
    clause = deref(clause)
    if type(clause) is Struct and clause.functor is _NECK:
        return deref(clause.args[0]), deref(clause.args[1])
    return clause, Atom("true")


def _head(term: Term) -> Functor:
    term = deref(term)
    if type(term) is Var:
        raise instantiation_error("the head of the clause is not bound")
    functor = functor_of(term)
    if functor is None:
        raise type_error("callable", term)
    return functor


def _static(functor: Functor) -> PrologError:
    return permission_error("modify", "static_procedure", indicator(functor), _IMMUTABLE)
