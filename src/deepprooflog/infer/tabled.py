"""Tabling by atom: exact inference where the goal graph has no end.

A scorer that reads only the leftmost atom (labels, networks on terms) gives every call the same
distribution over answers wherever the call stands. So instead of whole goals, tabulate calls:

    x[call, answer]   the weight of all derivations of `call` that end in `answer`
    y[item]           the weight of reaching an item: what is left of a clause of the call

    y[item]  += w(clause)                                entering a clause
    y[item'] += y[item] · x[A₁, answer]                  A₁, the item's first atom, is answered
    x[call, answer] += y[item]                           nothing is left

An answer keeps only the variables that are used later. The system is polynomial with nonnegative
coefficients; its least solution is found by `polynomial.solve`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from deepprooflog.graph.calls import CallGraph, CallStep
from deepprooflog.graph.explore import LOOK
from deepprooflog.infer.polynomial import System
from deepprooflog.logic.budget import Budget, BudgetExceeded
from deepprooflog.logic.choice import Choice, Weigher
from deepprooflog.logic.clause import Frame, instantiate
from deepprooflog.logic.goal import Goal, Interner, rename
from deepprooflog.logic.program import Program
from deepprooflog.logic.resolve import Step, successors
from deepprooflog.logic.unify import Trail, unify
from deepprooflog.syntax.terms import Term, functor_of, variables

ONE = Choice(Weigher.ONE)


@dataclass(slots=True)
class _Table:
    """One call: its answers so far and the items that wait for them."""

    call: Goal
    answers: dict[tuple[Term, ...], int] = field(default_factory=dict)
    waiting: list[tuple[int, int]] = field(default_factory=list)  # (item's node, table)


@dataclass(frozen=True)
class Tabled:
    """The equations of a query: `root` answers are the query's, with their unknowns."""

    system: System
    answers: dict[tuple[Term, ...], int]
    calls: CallGraph  # the steps that a scorer weighs
    stopped: str | None

    @property
    def complete(self) -> bool:
        return self.stopped is None


def tabulate(
    program: Program, query: Goal, interner: Interner, budget: Budget | None = None
) -> Tabled:
    """The equations for a query's answers, by call and answer."""
    return _Tabulation(program, interner, (budget or Budget()).start()).run(query)


class _Tabulation:
    """Calls, items and answers met so far, and what is still to be done with them."""

    def __init__(self, program: Program, interner: Interner, budget: Budget) -> None:
        self.program = program
        self.interner = interner
        self.budget = budget
        self.system = System()
        self.calls = CallGraph(program, [])
        self.tables: list[_Table] = []
        self.number: dict[Goal, int] = {}
        self.items: dict[tuple[int, Goal], int] = {}
        self.consumers: dict[int, Goal] = {}
        self.todo: deque[tuple[int, Goal, int]] = deque()

    def run(self, query: Goal) -> Tabled:
        root = _Table(query)
        self.tables.append(root)
        start = self._item(0, query)
        self.system.add(start, ONE)
        stopped = None
        while self.todo:
            stopped = self._limit()
            if stopped is not None:
                break
            table, item, node = self.todo.popleft()
            try:
                self._advance(table, item, node)
            except BudgetExceeded:
                stopped = self._limit() or "max_steps"
                break
        return Tabled(self.system, root.answers, self.calls, stopped)

    def _limit(self) -> str | None:
        limit = self.budget.max_goals
        if limit is not None and len(self.items) > limit:
            return "max_goals"
        return "max_seconds" if self.budget.late else None

    def _steps(self, goal: Goal) -> Iterator[Step]:
        """The steps out of a goal, while the budget lasts: a builtin may have no last solution."""
        remaining = self.budget.for_guard()
        steps = successors(self.program, goal, self.interner, remaining)
        for count, step in enumerate(steps, 1):
            yield step
            if not count % LOOK and self._limit() is not None:
                raise BudgetExceeded("a call has more successors than the budget allows")

    def _item(self, table: int, goal: Goal) -> int:
        """The node of an item, made (and queued) when it is met first."""
        key = (table, goal)
        node = self.items.get(key)
        if node is None:
            node = self.items[key] = self.system.unknown()
            self.todo.append((table, goal, node))
        return node

    def _advance(self, table: int, item: Goal, node: int) -> None:
        if not item.atoms:
            self.system.add(self._answer(table, item.answer), ONE, node)
            return
        functor = functor_of(item.atoms[0])
        if functor is None or not self.program.defines(functor):
            for step in self._steps(item):
                self.system.add(self._item(table, step.goal), step.choice, node)
            return
        atoms, answer_terms = rename(item)
        later = set(variables(*atoms[1:], *answer_terms))
        used = [v for v in variables(atoms[0]) if v in later]
        called = self._table(self.interner.goal(atoms[:1], used))
        waiting = (node, table)
        self.tables[called].waiting.append(waiting)
        self.consumers[node] = item
        for answer, unknown in list(self.tables[called].answers.items()):
            self._resume(waiting, answer, unknown)

    def _table(self, call: Goal) -> int:
        number = self.number.get(call)
        if number is None:
            number = self.number[call] = len(self.tables)
            self.tables.append(_Table(call))
            # All of a call's clauses or none: a scorer that normalises over some of them would
            # weigh these too high.
            for step in list(self._steps(call)):
                if step.choice.weigher is Weigher.SCORER:
                    production = len(self.system.choices)
                    self.calls.steps.append(CallStep(production, call, step.goal, step.choice))
                self.system.add(self._item(number, step.goal), step.choice)
        return number

    def _answer(self, table: int, answer: tuple[Term, ...]) -> int:
        """The unknown of an answer; a new one is handed to everyone who waits for it."""
        known = self.tables[table].answers
        unknown = known.get(answer)
        if unknown is None:
            unknown = known[answer] = self.system.unknown()
            for waiting in list(self.tables[table].waiting):
                self._resume(waiting, answer, unknown)
        return unknown

    def _resume(self, waiting: tuple[int, int], answer: tuple[Term, ...], unknown: int) -> None:
        node, table = waiting
        atoms, answer_terms = rename(self.consumers[node])
        later = set(variables(*atoms[1:], *answer_terms))
        used = [v for v in variables(atoms[0]) if v in later]
        trail: Trail = []
        for var, value in zip(used, _fresh(answer), strict=True):
            if not unify(var, value, trail, self.program.occurs_check):
                return
        goal = self.interner.goal(atoms[1:], answer_terms)
        self.system.add(self._item(table, goal), ONE, node, unknown)


def _fresh(answer: Sequence[Term]) -> list[Term]:
    size = max((v.index for v in variables(*answer)), default=-1) + 1
    frame: Frame = [None] * size
    return [instantiate(t, frame) for t in answer]
