"""Exploration: the goal graph of some queries, breadth first from `successors`.

Every reachable goal is expanded once. What a budget leaves unexpanded is listed in `open`, so that
inference can bound what it does not know. A goal graph that can never end is noticed early: when a
call comes up again below itself with a longer continuation, the derivation between the two can
repeat for ever (`p :- p, p.`, a left-recursive grammar).

An `Exploration` can be interrupted: its work is counted in atoms written and steps found, so that
other methods can take turns with it, and the turns do not depend on the machine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from deepprooflog.errors import ProofLogError
from deepprooflog.graph.goalgraph import GoalGraph, Ints
from deepprooflog.logic.choice import Choice
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.limits.budget import Budget, BudgetExceeded
from deepprooflog.logic.limits.counts import counts_here
from deepprooflog.logic.limits.gc_pause import gc_paused
from deepprooflog.logic.limits.watch import current, limit_reached
from deepprooflog.logic.program import Program
from deepprooflog.logic.resolve import successors
from deepprooflog.syntax.terms import Term, Var, variables

# A goal's length at which its ancestors are searched for a repeating call; where none is found, the
# next search among its descendants waits for twice that length: rare enough to cost nothing, early
# enough that few goals have been met.
CHECK_LENGTH = 8

RECURSION = "growing recursion"

# The share of the time that is left in which goals are expanded: the rest is for evaluating them,
# which takes up to six tenths as long.
SHARE = 0.55

# Edges between two looks at the budget while one goal is expanded: a builtin such as
# `between(1, inf, X)` never ends.
LOOK = 1024


@gc_paused()
def explore(
    program: Program,
    roots: Sequence[Goal],
    interner: Interner,
    budget: Budget | None = None,
    *,
    track_answers: bool = False,
    keep_bound: bool = False,
) -> GoalGraph:
    """The goal graph reachable from `roots` within the budget.

    `keep_bound` keeps what each step binds, so that answers can be put together along a path.
    """
    limits = (budget or Budget()).start().part(SHARE)
    search = Exploration(
        program, roots, interner, limits, track_answers=track_answers, keep_bound=keep_bound
    )
    search.advance()
    return search.graph()


class Exploration:
    """The state of one exploration: nodes met, edges found, goals still to expand."""

    @gc_paused()
    def __init__(
        self,
        program: Program,
        roots: Sequence[Goal],
        interner: Interner,
        budget: Budget | None = None,
        *,
        track_answers: bool = False,
        keep_bound: bool = False,
    ) -> None:
        self.program = program
        self.interner = interner
        self.budget = (budget or Budget()).start()
        self.watch = current()
        self.counts = counts_here()
        self.track_answers = track_answers
        self.goals: list[Goal] = []
        self.number: dict[Goal, int] = {}
        self.parent: list[int] = []
        self.depth: list[int] = []
        # By node: the length at which its successors are searched, where it is not CHECK_LENGTH.
        self.check: dict[int, int] = {}
        self.source: list[int] = []
        self.target: list[int] = []
        self.choices: list[Choice] = []
        self.twin: list[int] = []
        self.bound: list[tuple[Term, ...]] | None = [] if keep_bound else None
        self.queue: deque[int] = deque()
        self.atoms = 0
        self.cut_by_depth: list[int] = []
        self.stopped: str | None = None
        self.roots = [self._node(self._project(g), -1) for g in roots]
        # Nodes and edges of goals expanded in full, and the next goal to expand: set as one, since
        # a watchdog may end the work between any two steps.
        self.whole = (len(self.goals), 0, 0)

    @property
    def work(self) -> int:
        """What has been done so far: steps found, and atoms written for the goals they lead to."""
        return len(self.choices) + self.atoms

    @property
    def ended(self) -> bool:
        """True when nothing is left to do, or nothing more may be done."""
        return self.stopped is not None or not self.queue

    @property
    def complete(self) -> bool:
        """True when every reachable goal is expanded."""
        return self.stopped is None and not self.queue

    @property
    def wide(self) -> bool:
        """True while a good part of the goals waits to be expanded: a graph that branches out."""
        return 8 * len(self.queue) > len(self.goals)

    @gc_paused()
    def advance(self, work: int | None = None) -> None:
        """Expand goals until the exploration has ended, or has done so much work."""
        try:
            self._search(work)
        except BudgetExceeded as error:
            self.stopped = self._limit() or error.limit
            self._forget()
        except ProofLogError as error:
            if error.line is None:
                self._blame(self.queue[0], error)
            raise
        if self.stopped is None and not self.queue and self.cut_by_depth:
            self.stopped = "max_depth"

    def _search(self, work: int | None) -> None:
        max_depth = self.budget.max_depth
        queue, goals, choices = self.queue, self.goals, self.choices
        while queue and self.stopped is None:
            if work is not None and len(choices) + self.atoms >= work:
                return
            stopped = self._limit()
            if stopped is not None:
                self.stopped = stopped
                return
            node = queue[0]
            grows = False
            if max_depth is not None and self.depth[node] >= max_depth:
                self.cut_by_depth.append(node)
            else:
                grows = self._expand(node)
            self.whole = (len(goals), len(choices), node + 1)
            queue.popleft()
            # A limit on depth ends what would repeat for ever.
            if grows and max_depth is None:
                self.stopped = RECURSION

    def _limit(self) -> str | None:
        if self.counts is not None and self.queue:
            self.counts.update(goals=len(self.goals), depth=self.depth[self.queue[0]])
        return limit_reached(self.budget, self.watch, len(self.goals), self.atoms)

    def _expand(self, node: int) -> bool:
        """Add the edges out of a node; True when the derivation above it can repeat for ever."""
        seen: dict[Goal | int, int] = {}
        grows = False
        check = self.check.get(node, CHECK_LENGTH)
        budget = self.budget.for_guard()
        for step in successors(self.program, self.goals[node], self.interner, budget):
            edge = len(self.choices)
            if not edge % LOOK and self._limit() is not None:
                raise BudgetExceeded(
                    "a goal has more successors than the budget allows", limit="max_goals"
                )
            goal = step.goal
            before = len(self.goals)
            projected = self._project(goal)
            target = self._node(projected, node)
            # Where nothing was projected away, the node's number stands for the goal.
            self.twin.append(seen.setdefault(target if projected is goal else goal, edge))
            self.source.append(node)
            self.target.append(target)
            self.choices.append(step.choice)
            if self.bound is not None:
                self.bound.append(goal.answer)
            if target >= before and len(goal.atoms) >= check:
                grows = grows or self._repeats(target)
        return grows

    def _forget(self) -> None:
        """Take back an expansion that did not end: a goal is expanded in full or not at all."""
        nodes, edges, following = self.whole
        del self.source[edges:], self.target[edges:], self.choices[edges:], self.twin[edges:]
        if self.bound is not None:
            del self.bound[edges:]
        del self.goals[nodes:], self.parent[nodes:], self.depth[nodes:]
        for node in [n for n in self.check if n >= nodes]:
            del self.check[node]
        # Goals are met, queued and expanded in the order of their numbers.
        self.queue = deque(n for n in range(following, nodes) if self.goals[n].atoms)
        max_depth = self.budget.max_depth
        if max_depth is not None:
            self.cut_by_depth = [
                n for n in range(following) if self.goals[n].atoms and self.depth[n] >= max_depth
            ]

    def _blame(self, node: int, error: ProofLogError) -> None:
        """Point an error at the clause that brought in the node's leftmost atom."""
        length = self._length(node)
        child, above = node, self.parent[node]
        while above >= 0:
            if self._length(above) <= length:
                edge = next(
                    e for e, ends in enumerate(zip(self.source, self.target, strict=True))
                    if ends == (above, child)
                )  # fmt: skip
                clause = self.choices[edge].clause
                if clause is not None and clause.place is not None:
                    error.file, error.line = clause.place.file, clause.place.line
                    return
                # A control construct was opened: its own clause is further up.
                length = self._length(above)
            child, above = above, self.parent[above]

    def _node(self, goal: Goal, parent: int) -> int:
        fresh = len(self.goals)
        number = self.number.setdefault(goal, fresh)
        if number == fresh:
            self.goals.append(goal)
            self.parent.append(parent)
            self.depth.append(0 if parent < 0 else self.depth[parent] + 1)
            if self.check and parent in self.check:
                self.check[fresh] = self.check[parent]
            self.atoms += len(goal.atoms)
            if goal.atoms:
                self.queue.append(number)
        return number

    def _project(self, goal: Goal) -> Goal:
        """Without answers to track, all that matters is which open variables are the query's."""
        if self.track_answers or not goal.answer:
            return goal
        if not goal.atoms:
            return Goal(())
        inside = set(variables(*goal.atoms))
        kept = [v for v in variables(*goal.answer) if v in inside]
        ordered: list[Var] = sorted(kept, key=_index)
        return Goal(goal.atoms, tuple(ordered), len(inside))

    def _repeats(self, node: int) -> bool:
        """True when one of the calls that wait above a node was made again below itself."""
        goals = self.goals
        self.check[node] = 2 * len(goals[node].atoms)
        lengths: dict[Goal, int] = {}
        shortest = self._length(node)
        above = node
        while above >= 0:
            length = self._length(above)
            # A step takes one atom away at most: while all goals in between are at least as long
            # as the ancestor, its continuation has not been touched.
            if length <= shortest:
                call = self.interner.goal(goals[above].atoms[:1])
                if length < lengths.setdefault(call, length):
                    return True
                shortest = length
            above = self.parent[above]
        return False

    def _length(self, node: int) -> int:
        return self.interner.pieces.length(self.goals[node].atoms)

    def graph(self) -> GoalGraph:
        """The goal graph as far as it has been explored."""
        stopped = self.stopped
        # What is behind an open goal is judged by all of its atoms.
        for n in [*self.cut_by_depth, *self.queue] if self.interner.pieces.all else ():
            self.goals[n] = self.interner.whole(self.goals[n])
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
            roots=_ints(self.roots),
            open=_ints([*self.cut_by_depth, *self.queue]) if stopped else _ints([]),
            first=first,
            stopped=stopped,
            bound=None if self.bound is None else [self.bound[i] for i in order.tolist()],
        )


def _ints(values: Sequence[int]) -> Ints:
    return np.asarray(values, dtype=np.int64)


def _index(var: Var) -> int:
    return var.index
