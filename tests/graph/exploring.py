"""Goal graphs of small programs, as text."""

from __future__ import annotations

from typing import Any

from deepprooflog import Budget, Program
from deepprooflog.graph.explore import explore
from deepprooflog.graph.goalgraph import GoalGraph
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.query import parse_query
from deepprooflog.logic.resolve import start
from logic.stepping import goal_text


def graph_of(
    program: str | Program, *queries: str, answers: bool = False, **limits: Any
) -> GoalGraph:
    """The goal graph of some queries under a budget."""
    if isinstance(program, str):
        program = Program(program)
    interner = Interner()
    roots = [start(parse_query(q, program.operators).atoms, interner) for q in queries]
    budget = Budget(**limits) if limits else None
    return explore(program, roots, interner, budget, track_answers=answers)


def edges(graph: GoalGraph) -> list[str]:
    """The steps as `goal -> goal`, in order."""
    shown = [goal_text(g) for g in graph.goals]
    ends = zip(graph.source.tolist(), graph.target.tolist(), strict=True)
    return [f"{shown[s]} -> {shown[t]}" for s, t in ends]


def open_goals(graph: GoalGraph) -> list[str]:
    """The goals that were met but not expanded."""
    return [goal_text(graph.goals[n]) for n in graph.open.tolist()]
