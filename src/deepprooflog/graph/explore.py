"""Exploration: the goal graph of some queries, breadth first from `successors`.

Every reachable goal is expanded once. What a budget leaves unexpanded is listed in `open`, so that
inference can bound what it does not know. A goal graph that can never end is noticed early: when a
call comes up again below itself with a longer continuation, the derivation between the two can
repeat for ever (`p :- p, p.`, a left-recursive grammar).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence

import numpy as np

from deepprooflog.graph.goalgraph import GoalGraph, Ints
from deepprooflog.logic.budget import Budget, BudgetExceeded
from deepprooflog.logic.choice import Choice
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.program import Program
from deepprooflog.logic.resolve import successors
from deepprooflog.syntax.terms import Var, variables

# A goal's length at which its ancestors are searched for a repeating call; where none is found, the
# next search waits for twice that length: rare enough to cost nothing, early enough to save the
# budget.
CHECK_LENGTH = 12

RECURSION = "growing recursion"


def explore(
    program: Program,
    roots: Sequence[Goal],
    interner: Interner,
    budget: Budget | None = None,
    *,
    track_answers: bool = False,
) -> GoalGraph:
    """The goal graph reachable from `roots` within the budget."""
    return _Exploration(program, interner, budget or Budget(), track_answers).run(roots)


class _Exploration:
    """The state of one exploration: nodes met, edges found, goals still to expand."""

    def __init__(
        self, program: Program, interner: Interner, budget: Budget, track_answers: bool
    ) -> None:
        self.program = program
        self.interner = interner
        self.budget = budget
        self.track_answers = track_answers
        self.goals: list[Goal] = []
        self.number: dict[Goal, int] = {}
        self.parent: list[int] = []
        self.depth: list[int] = []
        self.source: list[int] = []
        self.target: list[int] = []
        self.choices: list[Choice] = []
        self.twin: list[int] = []
        self.queue: deque[int] = deque()
        self.atoms = 0
        self.check_length = CHECK_LENGTH
        self.cut_by_depth: list[int] = []
        self.deadline = (
            None if budget.max_seconds is None else time.monotonic() + budget.max_seconds
        )

    def run(self, roots: Sequence[Goal]) -> GoalGraph:
        numbers = [self._node(self._project(g), -1) for g in roots]
        stopped = None
        while self.queue:
            stopped = self._limit()
            if stopped is not None:
                break
            node = self.queue.popleft()
            max_depth = self.budget.max_depth
            if max_depth is not None and self.depth[node] >= max_depth:
                self.cut_by_depth.append(node)
                continue
            edges = len(self.choices)
            try:
                grows = self._expand(node)
            except BudgetExceeded:
                # A guard did not end: the goal counts as not expanded.
                del self.source[edges:], self.target[edges:], self.choices[edges:]
                del self.twin[edges:]
                self.queue.appendleft(node)
                stopped = "max_seconds" if self._late() else "max_steps"
                break
            if grows:
                stopped = RECURSION
                break
        if stopped is None and self.cut_by_depth:
            stopped = "max_depth"
        return self._graph(numbers, stopped)

    def _limit(self) -> str | None:
        limit = self.budget.max_goals
        if limit is not None and len(self.goals) > limit:
            return "max_goals"
        limit = self.budget.max_atoms
        if limit is not None and self.atoms > limit:
            return "max_atoms"
        return "max_seconds" if self._late() else None

    def _late(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    def _expand(self, node: int) -> bool:
        """Add the edges out of a node; True when the derivation above it can repeat for ever."""
        seen: dict[Goal, int] = {}
        grows = False
        budget = self.budget.remaining(self.deadline)
        for step in successors(self.program, self.goals[node], self.interner, budget):
            edge = len(self.choices)
            goal = step.goal
            self.twin.append(seen.setdefault(goal, edge))
            before = len(self.goals)
            target = self._node(self._project(goal), node)
            self.source.append(node)
            self.target.append(target)
            self.choices.append(step.choice)
            if target >= before and len(goal.atoms) >= self.check_length:
                grows = grows or self._repeats(target)
        return grows

    def _node(self, goal: Goal, parent: int) -> int:
        number = self.number.get(goal)
        if number is None:
            number = self.number[goal] = len(self.goals)
            self.goals.append(goal)
            self.parent.append(parent)
            self.depth.append(0 if parent < 0 else self.depth[parent] + 1)
            self.atoms += len(goal.atoms)
            if goal.atoms:
                self.queue.append(number)
        return number

    def _project(self, goal: Goal) -> Goal:
        """Without answers to track, what matters of them is which open variables are the query's."""
        if self.track_answers or not goal.answer:
            return goal
        if not goal.atoms:
            return Goal(())
        inside = set(variables(*goal.atoms))
        kept = [v for v in variables(*goal.answer) if v in inside]
        return Goal(goal.atoms, tuple(sorted(kept, key=_index)), len(inside))

    def _repeats(self, node: int) -> bool:
        """True when an ancestor makes the same call in front of a shorter, unchanged continuation."""
        atoms = self.goals[node].atoms
        self.check_length = 2 * len(atoms)
        call = self.interner.goal(atoms[:1])
        above = self.parent[node]
        while above >= 0:
            other = self.goals[above].atoms
            n = len(other) - 1
            if (
                n < len(atoms) - 1
                and self.interner.goal(other[:1]) == call
                and self.interner.goal(other[1:]) == self.interner.goal(atoms[len(atoms) - n :])
            ):
                return True
            above = self.parent[above]
        return False

    def _graph(self, roots: list[int], stopped: str | None) -> GoalGraph:
        n = len(self.goals)
        source = _ints(self.source)
        # A goal is expanded at once, so edges come grouped by source, but not in its order.
        order = np.argsort(source, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        first = np.zeros(n + 1, dtype=np.int64)
        np.cumsum(np.bincount(source, minlength=n), out=first[1:])
        return GoalGraph(
            program=self.program,
            goals=self.goals,
            source=source[order],
            target=_ints(self.target)[order],
            choices=[self.choices[i] for i in order.tolist()],
            twin=place[_ints(self.twin)[order]],
            roots=_ints(roots),
            open=_ints([*self.cut_by_depth, *self.queue]) if stopped else _ints([]),
            first=first,
            stopped=stopped,
        )


def _ints(values: Sequence[int]) -> Ints:
    return np.asarray(values, dtype=np.int64)


def _index(var: Var) -> int:
    return var.index

