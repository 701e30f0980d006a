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
from typing import Any

from deepprooflog.errors import ProofLogError
from deepprooflog.graph.explore import LOOK, SHARE
from deepprooflog.graph.goalgraph import CallGraph, CallStep
from deepprooflog.infer.tables.polynomial import System
from deepprooflog.logic.choice import Choice, WeightSource
from deepprooflog.logic.clause import Clause, Frame, instantiate
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.limits.budget import Budget, BudgetExceeded
from deepprooflog.logic.limits.counts import counts_here
from deepprooflog.logic.limits.gc_pause import gc_paused
from deepprooflog.logic.limits.watch import current, limit_reached
from deepprooflog.logic.program import Program
from deepprooflog.logic.resolve import Step, successors
from deepprooflog.syntax.terms import Struct, Term, Var, canonical_var, functor_of, variables

ONE = Choice(WeightSource.ONE)


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
    limits = (budget or Budget()).start().part(SHARE)
    tabulation = Tabulation(program, query, interner, limits)
    tabulation.advance()
    return tabulation.tabled()


class Tabulation:
    """Calls, items and answers met so far, and what is still to be done with them.

    Like an exploration it can be interrupted; its work is counted alike, in atoms written and
    equations found.
    """

    def __init__(
        self, program: Program, query: Goal, interner: Interner, budget: Budget | None = None
    ) -> None:
        self.program = program
        self.interner = interner
        self.budget = (budget or Budget()).start()
        self.watch = current()
        self.counts = counts_here()
        self.system = System()
        self.calls = CallGraph(program, [])
        # Productions and steps before the call that is being entered, while one is.
        self.entering: tuple[int, int] | None = None
        self.tables: list[_Table] = [_Table(query)]
        self.number: dict[Goal, int] = {}
        self.items: dict[tuple[int, Goal], int] = {}
        self.consumers: dict[int, tuple[Goal, list[Var]]] = {}
        self.clauses: dict[int, Clause] = {}  # the clause that an item is what is left of
        self.todo: deque[tuple[int, Goal, int]] = deque()
        self.atoms = 0
        self.stopped: str | None = None
        self.system.add(self._item(0, query), ONE)

    @property
    def work(self) -> int:
        """What has been done so far: equations found, and atoms written for their items."""
        return len(self.system.choices) + self.atoms

    @property
    def complete(self) -> bool:
        """True when no equation is missing."""
        return self.stopped is None and not self.todo

    @gc_paused()
    def advance(self, work: int | None = None) -> None:
        """Advance items until none is left, the budget is spent, or so much work is done."""
        try:
            self._advance_items(work)
        except BudgetExceeded as error:
            self.stopped = self._limit() or error.limit
            self._trim()

    def _advance_items(self, work: int | None) -> None:
        while self.todo and self.stopped is None:
            if work is not None and self.work >= work:
                return
            self.stopped = self._limit()
            if self.stopped is not None:
                return
            table, item, node = self.todo.popleft()
            try:
                self._advance(table, item, node)
            except BudgetExceeded:
                raise
            except ProofLogError as error:
                clause = self.clauses.get(node)
                if error.line is None and clause is not None and clause.place is not None:
                    error.file, error.line = clause.place.file, clause.place.line
                raise

    def _trim(self) -> None:
        """Drop a production that was not added in full, and a call that was not entered in full.

        Each production that stands makes sense by itself; of a call a scorer needs all clauses.
        """
        system = self.system
        columns: list[list[Any]] = [system.target, system.choices, system.left, system.right]
        whole = min(map(len, columns))
        if self.entering is not None:
            whole = min(whole, self.entering[0])
            del self.calls.steps[self.entering[1] :]
        for column in columns:
            del column[whole:]

    def tabled(self) -> Tabled:
        """The equations as far as they have been found."""
        return Tabled(self.system, self.tables[0].answers, self.calls, self.stopped)

    def _limit(self) -> str | None:
        if self.counts is not None:
            self.counts.update(calls=len(self.tables), items=len(self.items))
        return limit_reached(self.budget, self.watch, len(self.items), self.atoms)

    def _steps(self, goal: Goal) -> Iterator[Step]:
        """The steps out of a goal, while the budget lasts: a builtin may have no last solution."""
        remaining = self.budget.for_guard()
        steps = successors(self.program, goal, self.interner, remaining)
        for count, step in enumerate(steps, 1):
            yield step
            if not count % LOOK and self._limit() is not None:
                raise BudgetExceeded("a call has more successors than the budget allows")

    def _item(self, table: int, goal: Goal, clause: Clause | None = None) -> int:
        """The node of an item, made (and queued) when it is met first."""
        key = (table, goal)
        node = self.items.get(key)
        if node is None:
            node = self.items[key] = self.system.unknown()
            self.atoms += len(goal.atoms)
            if clause is not None:
                self.clauses[node] = clause
            self.todo.append((table, goal, node))
        return node

    def _advance(self, table: int, item: Goal, node: int) -> None:
        if not item.atoms:
            self.system.add(self._answer(table, item.answer), ONE, node)
            return
        functor = functor_of(item.leftmost)
        if functor is None or not self.program.defines(functor):
            clause = self.clauses.get(node)
            for step in self._steps(item):
                self.system.add(self._item(table, step.goal, clause), step.choice, node)
            return
        used = used_later(item)
        called = self._table(self.interner.goal(item.atoms[:1], used))
        waiting = (node, table)
        self.tables[called].waiting.append(waiting)
        self.consumers[node] = (item, used)
        for answer, unknown in list(self.tables[called].answers.items()):
            self._resume(waiting, answer, unknown)

    def _table(self, call: Goal) -> int:
        number = self.number.get(call)
        if number is None:
            number = self.number[call] = len(self.tables)
            self.tables.append(_Table(call))
            self.entering = len(self.system.choices), len(self.calls.steps)
            # All of a call's clauses or none: a scorer that normalises over some of them would
            # weigh these too high.
            for step in list(self._steps(call)):
                item = self._item(number, step.goal, step.choice.clause)
                if step.choice.weigher is WeightSource.SCORER:
                    production = len(self.system.choices)
                    self.calls.steps.append(CallStep(production, call, step.goal, step.choice))
                self.system.add(item, step.choice)
            self.entering = None
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
        item, used = self.consumers[node]
        # Variables that the call does not have stand for themselves; an answer's are fresh.
        frame: Frame = [canonical_var(i) for i in range(item.size)]
        for var, value in zip(used, _fresh(answer), strict=True):
            frame[var.index] = value
        goal = self.interner.resolvent((), item, frame)
        self.system.add(self._item(table, goal, self.clauses.get(node)), ONE, node, unknown)


def used_later(item: Goal) -> list[Var]:
    """The variables of an item's first atom that its other atoms or its answer have, too."""
    own = variables(item.leftmost)
    if not own:
        return own
    wanted = set(own)
    later: set[Var] = set()
    for term in (*item.atoms[1:], *item.answer):
        if type(term) is Struct and term.ground:
            continue
        later.update(v for v in variables(term) if v in wanted)
        if len(later) == len(wanted):
            break
    return [v for v in own if v in later]


def _fresh(answer: Sequence[Term]) -> list[Term]:
    size = max((v.index for v in variables(*answer)), default=-1) + 1
    frame: Frame = [None] * size
    return [instantiate(t, frame) for t in answer]
