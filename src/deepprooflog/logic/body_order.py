"""Bound-first body order: resolve the atoms that are most bound before those that would guess.

Goals of a relational program stay small when an atom that shares a bound argument comes before one
that does not. Within each run of user-defined atoms the one with the fewest unbound variables comes
first (ties as written), and its variables count as bound for the rest; builtins keep their places,
since arithmetic and tests depend on what stands before them.
"""

from __future__ import annotations

from collections.abc import Sequence

from deepprooflog.logic.program import Program
from deepprooflog.syntax.terms import Struct, Term, Var, args_of, functor_of, variables


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
        bound.update(_free(atom))
    result.extend(_arrange(run, bound))
    return result


def _arrange(run: list[Term], bound: set[Var]) -> list[Term]:
    waiting = [(atom, _free(atom)) for atom in run]
    result: list[Term] = []
    while waiting:
        best, fewest = 0, len(waiting[0][1] - bound)
        for i in range(1, len(waiting)):
            if not fewest:
                break
            count = len(waiting[i][1] - bound)
            if count < fewest:
                best, fewest = i, count
        atom, free = waiting.pop(best)
        bound |= free
        result.append(atom)
    return result


def _free(atom: Term) -> set[Var]:
    """The unbound variables of an atom."""
    free: set[Var] = set()
    for a in args_of(atom):
        while type(a) is Var and a.ref is not None:
            a = a.ref
        if type(a) is Var:
            free.add(a)
        elif type(a) is Struct and not a.ground:
            return set(variables(atom))
    return free
