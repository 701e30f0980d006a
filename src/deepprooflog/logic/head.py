"""Entering a clause: unify its head with a call while renaming it apart.

    θ = mgu(A₁, head(C))   with C's variables fresh

The clause's variables live in a frame; a variable met first against an argument simply takes it,
so that the common case neither makes nor binds a variable.
"""

from __future__ import annotations

from collections.abc import Sequence

from deepprooflog.logic.clause import Clause, Frame, instantiate
from deepprooflog.logic.unify import Trail, occurs, unify
from deepprooflog.syntax.terms import Struct, Term, Var


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
