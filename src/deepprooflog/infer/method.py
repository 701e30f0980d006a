"""Which way a query is solved: by its goal graph or by tables, decided in one place, by one clock.

    graph    every goal the query reaches; needed by scorers that read whole goals, and by depths
    tabled   every call and answer; needs a scorer that reads only the leftmost atom

Some programs have a small graph and large tables (a long list of answers), others small tables and
a graph that is exponentially large (most grammars) or has no end (left recursion). Which it is
shows only on the way, so the two take turns:

    the graph goes first, for `FIRST` units of work: most queries end there
    then each turn doubles what the graph may do, and tables may do as much while the graph
    branches out, a `NARROW` share of it while it does not
    whichever is complete first is the answer

A query that reaches a predicate with a `table` directive is tabled at once.

Work is counted in atoms written and steps found, not in seconds: the choice does not depend on the
machine. A budget's limits hold for each of the two, and its clock for both together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from deepprooflog.errors import Inexact, ProgramError
from deepprooflog.graph.explore import RECURSION, SHARE, Exploration
from deepprooflog.graph.goalgraph import GoalGraph, goal_text
from deepprooflog.infer.tables.tabled import Tabled, Tabulation
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.long_body import LONG
from deepprooflog.logic.program import Program
from deepprooflog.score.fixed import Weigh

Method = Literal["auto", "graph", "tabled"]

# The first turn of a goal graph: some hundredths of a second.
FIRST = 4_000

# A graph that does not branch out is likely to end: tables get one unit of work for so many of its
# own.
NARROW = 128


@dataclass(frozen=True)
class Solvable:
    """A query's derivations, written down by the method that ended; by both where neither did.

    One of `graph` and `table` is complete and alone, or there is a graph that the budget left
    incomplete, and tables that were left so where tables apply.
    """

    graph: GoalGraph | None
    table: Tabled | None

    @property
    def complete(self) -> bool:
        return self.stopped is None

    @property
    def stopped(self) -> str | None:
        """The limit that ended the search; None when a method is complete."""
        if self.table is not None:
            return self.table.stopped
        assert self.graph is not None
        return self.graph.stopped

    @property
    def method(self) -> Literal["graph", "tabled"]:
        return "tabled" if self.graph is None else "graph"

    @property
    def goals(self) -> int:
        """How many goals the graph has, or how many items and answers the tables have."""
        if self.graph is not None:
            return self.graph.nodes
        assert self.table is not None
        return self.table.system.unknowns


@dataclass(frozen=True)
class SolveRequest:
    """A query to solve: its first goal, who weighs the steps, and what may be spent on it.

    A `local` weigher reads only the leftmost atom, so that its calls can be tabled; one that
    `weighs_one` leaves unlabelled clauses their weight of 1.
    """

    program: Program
    goal: Goal
    interner: Interner
    weigh: Weigh
    local: bool = True
    weighs_one: bool = True
    budget: Budget | None = None
    method: Method = "auto"

    def write_down(self, *, track_answers: bool = False, keep_bound: bool = False) -> Solvable:
        """The query's goal graph, its tables, or both."""
        return write_down(
            self.program, self.goal, self.interner, local=self.local, budget=self.budget,
            method=self.method, track_answers=track_answers, keep_bound=keep_bound,
        )  # fmt: skip


def write_down(
    program: Program,
    goal: Goal,
    interner: Interner,
    *,
    local: bool = True,
    budget: Budget | None = None,
    method: Method = "auto",
    track_answers: bool = False,
    keep_bound: bool = False,
    first: int = FIRST,
) -> Solvable:
    """The goal graph of a query or its tables, whichever is complete first within the budget.

    With `track_answers` answers are told apart by either method, with `keep_bound` by tables, and a
    graph keeps what its steps bind.
    """
    budget = (budget or Budget()).start().part(SHARE)
    if method not in ("auto", "graph", "tabled"):
        raise ProgramError(f"there is no method {method!r}", hint="auto, graph or tabled")
    interner.in_pieces = local and program.longest_body > LONG
    closed = goal if track_answers or keep_bound else Goal(goal.atoms, (), goal.size)
    if method == "tabled":
        _require_local(local)
        _require_no_depth(budget)
        return Solvable(None, _tables(program, closed, interner, budget))
    exploration = Exploration(
        program, [goal], interner, budget, track_answers=track_answers, keep_bound=keep_bound
    )
    # Tables know no depth: where it is limited, derivations have to be counted one by one.
    if method == "graph" or not local or budget.max_depth is not None:
        exploration.advance()
        _refuse_growing(exploration, local)
        return Solvable(exploration.graph(), None)
    declared = program.table_below(goal.atoms) is not None
    if not declared:
        exploration.advance(first)
        if exploration.complete:
            return Solvable(exploration.graph(), None)
    tabulation = Tabulation(program, closed, interner, budget)
    if declared:
        tabulation.advance()
    return _turns(exploration, tabulation, first)


def _turns(exploration: Exploration, tabulation: Tabulation, work: int) -> Solvable:
    while not exploration.complete:
        share = work if exploration.wide else work // NARROW
        # Where the graph may not go on, tables go to their end.
        tabulation.advance(None if exploration.ended else share)
        if tabulation.complete:
            return Solvable(None, tabulation.tabled())
        work *= 2
        # And the other way round.
        exploration.advance(None if tabulation.stopped is not None else work)
        if exploration.ended and tabulation.stopped is not None:
            break
    table = None if exploration.complete else tabulation.tabled()
    return Solvable(exploration.graph(), table)


def _tables(program: Program, goal: Goal, interner: Interner, budget: Budget) -> Tabled:
    tabulation = Tabulation(program, goal, interner, budget)
    tabulation.advance()
    return tabulation.tabled()


def _require_local(local: bool) -> None:
    if not local:
        raise ProgramError(
            "tabling needs a scorer that reads only the leftmost atom",
            hint='method="graph", or labels and networks on terms instead of embeddings',
        )


def _require_no_depth(budget: Budget) -> None:
    if budget.max_depth is not None:
        raise ProgramError(
            "tables know no depth: a call stands for its derivations of any length",
            hint='method="graph" with max_depth, or max_goals and max_seconds for tables',
        )


def _refuse_growing(exploration: Exploration, local: bool) -> None:
    """Goals without bound under a scorer that reads whole goals: no method applies."""
    if exploration.stopped == RECURSION and not local:
        raise ProgramError(
            f"{goal_text(exploration.goals[exploration.roots[0]])} has goals of unbounded length: "
            "a call recurs in front of an ever longer continuation, and this scorer reads whole "
            "goals",
            hint="use labels or networks on terms, which can be tabled, or bound the recursion",
        )


def over_budget(goal: Goal, stopped: str | None) -> Inexact:
    """The error that no method ended within the budget."""
    wider = "a larger budget" if stopped in (None, RECURSION) else f"a larger {stopped}"
    return Inexact(
        f"{goal_text(goal)} was not solved within the budget ({stopped})",
        lower=0.0,
        upper=None,
        hint=f"{wider}, or Model.bounds for what can be said within the budget",
    )
