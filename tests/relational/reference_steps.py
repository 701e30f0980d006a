"""What the reference engine says: the root of a query, a goal's successors and their clauses."""

from __future__ import annotations

from collections.abc import Sequence

from deepprooflog.logic.clause import Clause
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.program import Program
from deepprooflog.logic.resolve import start, successors
from deepprooflog.syntax.terms import Term


def roots(program: Program, queries: Sequence[str]) -> list[Goal]:
    """The goals that the reference engine starts from."""
    return [start(program.query(q).atoms, Interner()) for q in queries]


State = tuple[tuple[Term, ...], tuple[Term, ...]]


def state(goal: Goal) -> State:
    """A goal and its answer; canonical, so equal exactly for variants."""
    return goal.atoms, goal.answer


def reference(program: Program, goal: Goal) -> list[tuple[State, Clause]]:
    """What `logic.resolve.successors` finds, and by which clause; nothing for True."""
    if goal.is_true:
        return []
    steps = list(successors(program, goal, Interner()))
    return [(state(s.goal), s.choice.clause) for s in steps if s.choice.clause is not None]
