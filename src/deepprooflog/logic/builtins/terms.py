"""Taking terms apart and building them: functor/3, arg/3, =../2, copy_term/2 and the like."""

from __future__ import annotations

from typing import Any

from deepprooflog.logic.builtins.registry import Solutions, det, nondet
from deepprooflog.logic.limits.room import ARGUMENT, require_room
from deepprooflog.logic.solver.iso_errors import domain_error, instantiation_error, type_error
from deepprooflog.logic.solver.machine import Machine, copy_term
from deepprooflog.logic.unify import undo, unify
from deepprooflog.syntax.terms import (
    NIL,
    Atom,
    Functor,
    Struct,
    Term,
    Var,
    deref,
    iter_list,
    list_tail,
    make_list,
    variables,
)

_NUMBERED = Functor("$VAR", 1)


@det("functor", 3, iso=True)
def functor(m: Machine, args: Any) -> bool:
    term, name, arity = (deref(a) for a in args)
    if type(term) is Struct:
        return m.unify(name, Atom(term.functor.name)) and m.unify(arity, term.functor.arity)
    if type(term) is not Var:
        return m.unify(name, term) and m.unify(arity, 0)
    if type(name) is Var or type(arity) is Var:
        raise instantiation_error("functor/3 needs a term, or a name and an arity")
    if type(arity) is not int:
        raise type_error("integer", arity)
    if arity < 0:
        raise domain_error("not_less_than_zero", arity)
    if type(name) is Struct:
        raise type_error("atomic", name)
    if arity == 0:
        return m.unify(term, name)
    if type(name) is not Atom:
        raise type_error("atom", name)
    require_room(arity, ARGUMENT, f"a compound of {arity:,} arguments")
    fresh = tuple([Var() for _ in range(arity)])
    return m.unify(term, Struct(Functor(name.name, arity), fresh))


def _argument_at(m: Machine, args: Any) -> bool | None:
    number, term = deref(args[0]), deref(args[1])
    if type(number) is not int or type(term) is not Struct or number < 0:
        return None
    return 0 < number <= len(term.args) and m.unify(args[2], term.args[number - 1])


@nondet("arg", 3, iso=True, quick=_argument_at)
def arg(m: Machine, args: Any) -> Solutions:
    number, term, value = (deref(a) for a in args)
    if type(term) is Var:
        raise instantiation_error("arg/3 needs a compound term")
    if type(term) is not Struct:
        raise type_error("compound", term)
    if type(number) is int:
        if number < 0:
            raise domain_error("not_less_than_zero", number)
        return 0 < number <= len(term.args) and m.unify(value, term.args[number - 1])
    if type(number) is not Var:
        raise type_error("integer", number)
    for i, a in enumerate(term.args, 1):
        mark = len(m.trail)
        if m.unify(value, a) and m.unify(number, i):
            if i == len(term.args):
                return True
            yield
        else:
            undo(m.trail, mark)
    return False


@det("=..", 2, iso=True)
def univ(m: Machine, args: Any) -> bool:
    term, parts = deref(args[0]), deref(args[1])
    if type(term) is not Var:
        require_partial_list(parts)
    if type(term) is Struct:
        return m.unify(parts, make_list([Atom(term.functor.name), *term.args]))
    if type(term) is not Var:
        return m.unify(parts, make_list([term]))
    items = require_list(parts)
    if not items:
        raise domain_error("non_empty_list", NIL)
    head = items[0]
    if type(head) is Var:
        raise instantiation_error("the functor in =.. is not bound")
    if len(items) == 1:
        if type(head) is Struct:
            raise type_error("atomic", head)
        return m.unify(term, head)
    if type(head) is not Atom:
        raise type_error("atom", head)
    return m.unify(term, Struct(Functor(head.name, len(items) - 1), tuple(items[1:])))


def require_list(term: Term) -> list[Term]:
    """The elements of a proper list, dereferenced; ISO's errors otherwise."""
    tail = list_tail(term)
    if type(tail) is Var:
        raise instantiation_error("a list is not bound to its end")
    if tail is not NIL:
        raise type_error("list", deref(term))
    return list(iter_list(term))


def require_partial_list(term: Term) -> None:
    """Raise ISO's type error unless the term is a list or could become one."""
    tail = list_tail(term)
    if tail is not NIL and type(tail) is not Var:
        raise type_error("list", deref(term))


@det("copy_term", 2, iso=True)
def copy_term_(m: Machine, args: Any) -> bool:
    return m.unify(args[1], copy_term(args[0]))


@det("term_variables", 2, iso=True)
def term_variables(m: Machine, args: Any) -> bool:
    return m.unify(args[1], make_list(variables(args[0])))


@det("subsumes_term", 2, iso=True)
def subsumes_term(m: Machine, args: Any) -> bool:
    # The more special term's variables may neither be bound nor become one another.
    own = variables(args[1])
    mark = len(m.trail)
    met = unify(args[0], args[1], m.trail, True)
    after = [deref(var) for var in own]
    undo(m.trail, mark)
    return met and all(type(v) is Var for v in after) and len(set(map(id, after))) == len(own)


@det("numbervars", 3)
def numbervars(m: Machine, args: Any) -> bool:
    start = deref(args[1])
    if type(start) is Var:
        raise instantiation_error("numbervars/3 needs a number to start from")
    if type(start) is not int:
        raise type_error("integer", start)
    for var in variables(args[0]):
        var.ref = Struct(_NUMBERED, (start,), True)
        m.trail.append(var)
        start += 1
    return m.unify(args[2], start)


@det("numbervars", 1)
def numbervars_from_zero(m: Machine, args: Any) -> bool:
    return numbervars(m, (args[0], 0, Var()))
