"""Unification by binding variables in place, with a trail to take bindings back.

    θ = mgu(a, b)   is the set of bindings made between two marks of the trail

Iterative, so that terms of any depth unify; no occurs check unless asked for, as in ISO. Terms that
contain themselves, or hold a part in many places, unify in time linear in their distinct parts.

`enter` unifies a clause's head with a call while renaming it apart: θ = mgu(A₁, head(C)) with C's
variables fresh. They live in a frame; a variable met first against an argument simply takes it, so
that the common case neither makes nor binds a variable.
"""

from __future__ import annotations

from collections.abc import Sequence

from deepprooflog.logic.clause import Clause, Frame, instantiate
from deepprooflog.syntax.sharing import Classes, variables_once
from deepprooflog.syntax.terms import MANY, Struct, Term, Var

Trail = list[Var]


def undo(trail: Trail, mark: int) -> None:
    """Take back every binding made since the trail was `mark` long."""
    while len(trail) > mark:
        trail.pop().ref = None


def unify(a: Term, b: Term, trail: Trail, occurs_check: bool = False) -> bool:
    """Make a and b equal; True on success. On failure bindings stay until `undo`.

    >>> x, trail = Var("X"), []
    >>> unify(x, 3, trail), x.ref
    (True, 3)
    """
    stack: list[Term] = [a, b]
    visits = 0
    classes: Classes | None = None
    while stack:
        y = stack.pop()
        x = stack.pop()
        while type(x) is Var and x.ref is not None:
            x = x.ref
        while type(y) is Var and y.ref is not None:
            y = y.ref
        if x is y:
            continue
        if type(x) is Var:
            if occurs_check and occurs(x, y):
                return False
            x.ref = y
            trail.append(x)
        elif type(y) is Var:
            if occurs_check and occurs(y, x):
                return False
            y.ref = x
            trail.append(y)
        elif type(x) is Struct:
            if type(y) is not Struct or x.functor is not y.functor:
                return False
            if x.home is not None and x.home is y.home and x.ground and y.ground:
                return False
            visits += 1
            if visits > MANY:
                classes = classes or Classes()
                if not classes.join(x, y):
                    continue
            for pair in zip(x.args, y.args, strict=True):
                stack.extend(pair)
        elif type(x) is not type(y) or x != y:
            return False
    return True


def occurs(var: Var, term: Term) -> bool:
    """True when the unbound variable occurs in the term."""
    stack = [term]
    visits = 0
    while stack:
        t = stack.pop()
        while type(t) is Var and t.ref is not None:
            t = t.ref
        if t is var:
            return True
        if type(t) is Struct and not t.ground:
            visits += 1
            if visits > MANY:
                return var in variables_once([term])
            stack.extend(t.args)
    return False


def enter(
    clause: Clause, args: Sequence[Term], trail: Trail, occurs_check: bool = False
) -> Frame | None:
    """Unify the clause's head arguments with `args`; its frame, or None when they do not unify.

    Bindings of the call's variables are on the trail, also after a failure.
    """
    frame: Frame = [None] * clause.size
    for pattern, arg in zip(clause.args, args, strict=True):
        if not unify_head(pattern, arg, frame, trail, occurs_check):
            return None
    return frame


def unify_head(
    pattern: Term, term: Term, frame: Frame, trail: Trail, occurs_check: bool = False
) -> bool:
    """Unify a clause's pattern (over canonical variables) with a run-time term."""
    stack: list[tuple[Term, Term]] = [(pattern, term)]
    while stack:
        p, t = stack.pop()
        if type(p) is Var:
            value = frame[p.index]
            if value is None:
                frame[p.index] = t
            elif not unify(value, t, trail, occurs_check):
                return False
            continue
        while type(t) is Var and t.ref is not None:
            t = t.ref
        if t is p:
            continue
        if type(t) is Var:
            value = instantiate(p, frame)
            if occurs_check and occurs(t, value):
                return False
            t.ref = value
            trail.append(t)
        elif type(p) is Struct:
            if type(t) is not Struct or t.functor is not p.functor:
                return False
            if p.ground:
                if not unify(p, t, trail, occurs_check):
                    return False
            else:
                stack.extend(zip(reversed(p.args), reversed(t.args), strict=True))
        elif type(p) is not type(t) or p != t:
            return False
    return True
