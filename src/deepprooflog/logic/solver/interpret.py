"""The reference way to resolve a call: unify each clause's head, put its body before the rest.

G' = ← (B₁, …, Bₘ, A₂, …, Aₙ)θ,   clauses in source order, the rest kept as a choice
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from deepprooflog.logic.clause import Clause, instantiate
from deepprooflog.logic.head import enter
from deepprooflog.logic.solver.machine import Args, ChoicePoint, Continuation, Machine, Origin, Run
from deepprooflog.logic.unify import undo
from deepprooflog.syntax.terms import Term

ClausesFor = Callable[[Args], Sequence[Clause]]


def interpreted(candidates: ClausesFor, origin: Callable[[Clause], Origin]) -> Run:
    """A procedure that looks its clauses up at each call."""

    def run(machine: Machine, args: Args, cont: Any) -> Continuation | None:
        clauses = candidates(args)
        return _try(machine, args, cont, clauses, 0) if clauses else None

    def _try(
        machine: Machine, args: Args, cont: Any, clauses: Sequence[Clause], i: int
    ) -> Continuation | None:
        trail, choices = machine.trail, machine.choices
        mark, height, last = len(trail), len(choices), len(clauses) - 1
        occurs_check = machine.code.occurs_check
        while True:
            clause = clauses[i]
            values = enter(clause, args, trail, occurs_check)
            if values is not None:
                if i < last:
                    choices.append((_retry, mark, cont, args, clauses, i + 1))
                if not clause.body:
                    frame: Continuation = cont
                    return frame
                where = origin(clause)
                body = [instantiate(b, values) for b in clause.body]
                return frames(machine, body, cont, height, where)
            if i == last:
                return None
            undo(trail, mark)
            i += 1

    def _retry(machine: Machine, choice: ChoicePoint) -> Continuation | None:
        _, _, cont, args, clauses, i = choice
        return _try(machine, args, cont, clauses, i)

    return run


def frames(
    machine: Machine, body: Sequence[Term], cont: Any, barrier: int, origin: Origin
) -> Continuation:
    """The frames that call the atoms of a body in order, then go on with `cont`."""
    goal = machine.goal
    for atom in reversed(body):
        cont = goal(atom, cont, barrier, origin)
    frame: Continuation = cont
    return frame


def enter_clause(clause: Clause, origin: Origin) -> Callable[[Machine, Args, Any, int], Any]:
    """One clause as a function of the call, for clauses not worth compiling."""
    body = clause.body

    def run(machine: Machine, args: Args, cont: Any, height: int) -> Continuation | None:
        values = enter(clause, args, machine.trail)
        if values is None:
            return None
        if not body:
            frame: Continuation = cont
            return frame
        return frames(machine, [instantiate(b, values) for b in body], cont, height, origin)

    return run
