"""Terms as goals: what may be called, and variables in the place of goals.

A variable where a goal should stand is `call(Variable)`, decided when the body is made: a cut that
it is bound to later does not reach out of it.
"""

from __future__ import annotations

from functools import lru_cache

from deepprooflog.logic.clause import Clause
from deepprooflog.logic.raise_iso import instantiation_error, type_error
from deepprooflog.syntax.terms import COMMA, Atom, Functor, Struct, Term, Var

CALL = Functor("call", 1)
_CONTROL = frozenset({COMMA, Functor(";", 2), Functor("->", 2), Functor("*->", 2)})


def as_goal(term: Term) -> Term:
    """The goal a run-time term stands for; ISO's errors when it cannot be called."""
    while type(term) is Var and term.ref is not None:
        term = term.ref
    if type(term) is Struct:
        return term if term.functor not in _CONTROL else _convert(term)
    if type(term) is Var:
        raise instantiation_error("the goal to call is an unbound variable")
    if type(term) is not Atom:
        raise type_error("callable", term)
    return term


def _convert(root: Struct) -> Term:
    """The construct with its variables called; itself when there are none."""
    has_variables = False
    stack: list[Term] = [root]
    while stack:
        t = stack.pop()
        while type(t) is Var and t.ref is not None:
            t = t.ref
        if type(t) is Struct:
            if t.functor in _CONTROL:
                stack.extend(t.args)
        elif type(t) is Var:
            has_variables = True
        elif type(t) is not Atom:
            raise type_error("callable", root)
    return _call_variables(root) if has_variables else root


def _call_variables(root: Struct) -> Term:
    # Post-order: a construct waits on `open_` until its parts are done.
    open_: list[tuple[Struct, list[Term]]] = [(root, [])]
    while True:
        source, done = open_[-1]
        if len(done) < len(source.args):
            t = source.args[len(done)]
            while type(t) is Var and t.ref is not None:
                t = t.ref
            if type(t) is Struct and t.functor in _CONTROL:
                open_.append((t, []))
            else:
                done.append(Struct(CALL, (t,)) if type(t) is Var else t)
            continue
        open_.pop()
        result = Struct(source.functor, tuple(done))
        if not open_:
            return result
        open_[-1][1].append(result)


@lru_cache(maxsize=1 << 16)
def callable_body(clause: Clause) -> tuple[Term, ...]:
    """The clause's body with variables in the place of goals called."""
    return tuple(
        _call_variables(b) if type(b) is Struct and b.functor in _CONTROL and not b.ground else b
        for b in clause.body
    )
