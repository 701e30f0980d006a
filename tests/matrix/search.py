"""Derivations enumerated by hand, step by step through `successors`, most probable first."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from fractions import Fraction

from deepprooflog.logic.choice import Choice
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.program import Program
from deepprooflog.logic.resolve import start, successors
from deepprooflog.score.edges import fractions


def weight(choice: Choice) -> Fraction:
    """A step's weight: its label, or 1."""
    return Fraction(fractions([choice])[0])


def weighed_steps(
    program: Program, goal: Goal, interner: Interner
) -> Iterator[tuple[Goal, Fraction]]:
    """Each successor with its weight; one goal may come several times."""
    for step in successors(program, goal, interner):
        yield step.goal, weight(step.choice)


def best_derivation(program: Program, query: str, most: int = 50_000) -> Fraction | None:
    """The weight of the most probable derivation; None where there is none.

    No step weighs more than 1, so that the first derivation to reach True in the order of weight is
    the best, and a goal met before need not be met again.
    """
    interner, number = Interner(), itertools.count()
    heap = [(-Fraction(1), next(number), start(program.query(query).atoms, interner))]
    met: set[Goal] = set()
    while heap:
        negative, _, goal = heapq.heappop(heap)
        if goal.is_true:
            return -negative
        if goal in met:
            continue
        met.add(goal)
        assert len(met) < most, "the search does not end"
        for after, factor in weighed_steps(program, goal, interner):
            if factor:
                heapq.heappush(heap, (negative * factor, next(number), after))
    return None
