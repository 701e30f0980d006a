"""Bound-first body order: resolve the atoms that are most bound before those that would guess.

Goals of a relational program stay small when an atom that shares a bound argument comes before one
that does not. Within each run of user-defined atoms the one with the fewest unbound variables comes
first (ties as written), and its variables count as bound for the rest; builtins keep their places,
since arithmetic and tests depend on what stands before them.
"""

from __future__ import annotations

from collections.abc import Sequence

from deepprooflog.logic.program import Program
from deepprooflog.syntax.terms import Term, Var, functor_of, variables


def bound_first(program: Program, body: Sequence[Term]) -> list[Term]:
    """The body's atoms, bound first."""
    if len(body) < 2:
        return list(body)
    result: list[Term] = []
    run: list[Term] = []
    bound: set[Var] = set()
    for atom in body:
        functor = functor_of(atom)
        if functor is not None and program.defines(functor):
            run.append(atom)
            continue
        result.extend(_arrange(run, bound))
        run = []
        result.append(atom)
        bound.update(variables(atom))
    result.extend(_arrange(run, bound))
    return result


def _arrange(run: list[Term], bound: set[Var]) -> list[Term]:
    if len(run) < 2:
        for atom in run:
            bound.update(variables(atom))
        return run
    waiting = [(atom, set(variables(atom))) for atom in run]
    result: list[Term] = []
    while waiting:
        best = min(range(len(waiting)), key=lambda i: len(waiting[i][1] - bound))
        atom, free = waiting.pop(best)
        bound |= free
        result.append(atom)
    return result
