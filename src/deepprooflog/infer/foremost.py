"""The best derivation of a goal, best first: where the goal graph has no end, or is very large.

    goals are taken up in the order of  max over ways to them of Π p(step)

No step weighs more than 1, so that the first time True comes up, no other derivation can be better,
however many goals are still open. Goals are expanded and weighed in small batches; one that a later
batch finds a better way to is taken up again. Needs labels: no scorer is asked.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush

from deepprooflog.errors import Inexact
from deepprooflog.graph.explore import LOOK
from deepprooflog.graph.goalgraph import CallGraph, goal_text
from deepprooflog.logic.choice import Choice
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.limits.budget import Budget, BudgetExceeded
from deepprooflog.logic.limits.counts import note
from deepprooflog.logic.limits.gc_pause import gc_paused
from deepprooflog.logic.program import Program
from deepprooflog.logic.resolve import successors
from deepprooflog.score.fixed import Weigh

# Goals that are expanded and weighed together at most.
WIDTH = 64

ChosenSteps = tuple[list[Choice], list[float]]
"""The steps of a derivation, in order, and their log weights."""


@gc_paused()
def best_first(
    program: Program, goal: Goal, interner: Interner, weigh: Weigh, budget: Budget | None = None
) -> ChosenSteps | None:
    """The most probable derivation of a goal, of equally probable ones the shortest.

    None when there is no derivation; `Inexact` when the budget ends first, with the probability of
    the best derivation met so far and of the best that may still come.
    """
    search = _Search(program, interner, (budget or Budget()).start())
    return search.run(Goal(goal.atoms, (), goal.size), weigh)


class _Search:
    """Goals met, the best way to each, and those still to be taken up."""

    def __init__(self, program: Program, interner: Interner, budget: Budget) -> None:
        self.program = program
        self.interner = interner
        self.budget = budget
        self.goals: list[Goal] = []
        self.atoms = 0
        self.number: dict[Goal, int] = {}
        self.way: list[tuple[float, int]] = []  # −log p and length of the best way to each goal
        self.last: list[tuple[int, Choice, float] | None] = []  # its last step
        self.edges: dict[int, list[tuple[Choice, float, int]]] = {}
        self.heap: list[tuple[float, int, bool, int]] = []
        self.true: int | None = None
        # Goals that have left the heap and whose steps are not all offered: a watchdog may come.
        self.taken: list[int] = []
        self.weight: dict[Choice, float] = {}
        self.nothing = CallGraph(program, [])  # no step is the scorer's to weigh

    def run(self, root: Goal, weigh: Weigh) -> ChosenSteps | None:
        self._offer(root, 0.0, 0, None)
        try:
            while self.heap:
                self._take()
                if not self.taken:
                    return self._steps(self.heap[0][3]) if self.heap else None
                self._expand([n for n in self.taken if n not in self.edges], weigh)
                for node in self.taken:
                    cost, length = self.way[node]
                    for choice, w, target in self.edges[node]:
                        self._offer(self.goals[target], cost - w, length + 1, (node, choice, w))
                self.taken = []
        except BudgetExceeded as error:
            lower, upper = self._best_so_far()
            if self.true is not None and lower >= upper:
                return self._steps(self.true)
            raise Inexact(
                f"{goal_text(root)}: a better proof may lie outside the budget "
                f"({error.limit}, {len(self.goals):,} goals)",
                lower=lower,
                upper=upper,
                hint=f"a larger {error.limit}",
            ) from None
        return None

    def _take(self) -> None:
        """Take up the best goals together; none when True is the best."""
        width = min(WIDTH, 1 + len(self.edges) // 8)
        while self.heap and len(self.taken) < width:
            cost, length, _, node = self.heap[0]
            if (cost, length) == self.way[node]:
                if self.goals[node].is_true:
                    break
                self.taken.append(node)
            heappop(self.heap)

    def _expand(self, nodes: list[int], weigh: Weigh) -> None:
        steps: list[tuple[int, Choice, int]] = []
        for node in nodes:
            found = successors(
                self.program, self.goals[node], self.interner, self.budget.for_guard()
            )
            for step in found:
                steps.append((node, step.choice, self._node(step.goal)))
                if not len(steps) % LOOK:
                    self._look()
            self._look()
        fresh = list(dict.fromkeys(c for _, c, _ in steps if c not in self.weight))
        if fresh:
            self.weight.update(zip(fresh, weigh(self.nothing, fresh).tolist(), strict=True))
        edges: dict[int, list[tuple[Choice, float, int]]] = {node: [] for node in nodes}
        for node, choice, target in steps:
            if self.weight[choice] > -math.inf:
                edges[node].append((choice, self.weight[choice], target))
        self.edges.update(edges)

    def _look(self) -> None:
        note(goals=len(self.goals))
        limit = self.budget.max_goals
        if limit is not None and len(self.goals) > limit:
            raise BudgetExceeded("too many goals", limit="max_goals")
        limit = self.budget.max_atoms
        if limit is not None and self.atoms > limit:
            raise BudgetExceeded("too many atoms", limit="max_atoms")
        if self.budget.late:
            raise BudgetExceeded("the time is up", limit="max_seconds")

    def _node(self, goal: Goal) -> int:
        fresh = len(self.goals)
        number = self.number.setdefault(goal, fresh)
        if number == fresh:
            self.goals.append(goal)
            self.atoms += len(goal.atoms)
            self.way.append((math.inf, 0))
            self.last.append(None)
        return number

    def _offer(
        self, goal: Goal, cost: float, length: int, last: tuple[int, Choice, float] | None
    ) -> None:
        node = self._node(goal)
        if (cost, length) < self.way[node]:
            self.way[node] = (cost, length)
            self.last[node] = last
            # Of what is equally good True comes first: anything else would take further steps.
            heappush(self.heap, (cost, length, not goal.is_true, node))
            if goal.is_true:
                self.true = node

    def _steps(self, node: int) -> ChosenSteps:
        choices: list[Choice] = []
        weights: list[float] = []
        while (last := self.last[node]) is not None:
            node, choice, w = last
            choices.append(choice)
            weights.append(w)
        return choices[::-1], weights[::-1]

    def _best_so_far(self) -> tuple[float, float]:
        """The probability of the best derivation met, and of the best that may still come."""
        found = math.inf if self.true is None else self.way[self.true][0]
        waiting = [self.way[n][0] for n in self.taken]
        waiting += [cost for cost, _, _, n in self.heap if n != self.true]
        return math.exp(-found), math.exp(-min(waiting, default=math.inf))
