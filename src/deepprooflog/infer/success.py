"""Success probabilities by whichever exact method ends: goal graph first, then tabling.

The method is chosen as it goes: the goal graph, unless a call recurs below itself with a longer
continuation (the graph has no end) or the graph outgrows its budget; then tabling by atom, where
the scorer is local. When neither ends within the budget the result is a pair of bounds, and says
so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deepprooflog.errors import Inexact, ProgramError
from deepprooflog.graph.calls import CallGraph
from deepprooflog.graph.describe import goal_text
from deepprooflog.graph.explore import RECURSION, explore
from deepprooflog.graph.goalgraph import GoalGraph
from deepprooflog.graph.schedule import schedule
from deepprooflog.graph.turned import turned
from deepprooflog.infer.polynomial import solve
from deepprooflog.infer.semiring import LogSemiring, evaluate
from deepprooflog.infer.tabled import Tabled, tabulate
from deepprooflog.infer.upper import at_most_one
from deepprooflog.logic.budget import Budget
from deepprooflog.logic.choice import Choice
from deepprooflog.logic.garbage import no_collection
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.program import Program
from deepprooflog.syntax.terms import Term
from deepprooflog.syntax.writer import write_term

Floats = NDArray[np.float64]
Method = Literal["auto", "graph", "tabled"]
Weigh = Callable[[GoalGraph | CallGraph, Sequence[Choice]], Floats]
"""Log weights of the edges of a graph, or of tabled productions."""

# Limits that hold for the query as a whole: tables have no depth, and time is gone.
SPENT = ("max_depth", "max_seconds")

# Rounding may carry a sum of probabilities this far above 1.
ABOVE_ONE = 1e-6


@dataclass(frozen=True)
class Success:
    """The success probability of a goal, or bounds on it."""

    log_lower: float
    log_upper: float | None
    exact: bool
    method: Literal["graph", "tabled"]
    goals: int
    stopped: str | None

    @property
    def lower(self) -> float:
        return math.exp(self.log_lower)

    @property
    def upper(self) -> float | None:
        return None if self.log_upper is None else math.exp(self.log_upper)


@no_collection()
def success(
    program: Program,
    goal: Goal,
    interner: Interner,
    weigh: Weigh,
    *,
    local: bool = True,
    budget: Budget | None = None,
    method: Method = "auto",
) -> Success:
    """p_success(goal), exact where a method ends within the budget, else bounded."""
    if method == "tabled":
        _require_local(local)
        return _by_table(tabulate(program, _closed(goal), interner, budget), weigh, goal)
    graph = explore(program, [goal], interner, budget)
    refuse_growing(graph, local)
    if graph.complete or method == "graph" or not local or graph.stopped in SPENT:
        return _by_graph(graph, weigh, goal)
    tabled = _by_table(tabulate(program, _closed(goal), interner, budget), weigh, goal)
    if tabled.exact:
        return tabled
    bounded = _by_graph(graph, weigh, goal)
    lower = max(bounded.log_lower, tabled.log_lower)
    return replace(bounded, log_lower=lower, stopped=tabled.stopped)


@no_collection()
def answer_weights(
    program: Program,
    goal: Goal,
    interner: Interner,
    weigh: Weigh,
    *,
    local: bool = True,
    budget: Budget | None = None,
    method: Method = "auto",
) -> dict[tuple[Term, ...], float]:
    """The log probability of each answer; raises Inexact, with those found, when some may miss."""
    if method == "tabled":
        _require_local(local)
    else:
        graph = explore(program, [goal], interner, budget, track_answers=True)
        refuse_growing(graph, local)
        if graph.complete or method == "graph" or not local or graph.stopped in SPENT:
            return _all_answers(_answers_by_graph(graph, weigh), graph.stopped, graph.nodes)
    table = tabulate(program, goal, interner, budget)
    log = solve(table.system, weigh(table.calls, table.system.choices))
    found = {a: float(log[u]) for a, u in table.answers.items() if log[u] > -math.inf}
    return _all_answers(found, table.stopped, table.system.unknowns)


def _closed(goal: Goal) -> Goal:
    """The goal with its answers left out: only whether it succeeds."""
    return Goal(goal.atoms, (), goal.size)


def _require_local(local: bool) -> None:
    if not local:
        raise ProgramError(
            "tabling needs a scorer that reads only the leftmost atom",
            hint='method="graph", or labels and networks on terms instead of embeddings',
        )


def _all_answers(
    found: dict[tuple[Term, ...], float], stopped: str | None, goals: int
) -> dict[tuple[Term, ...], float]:
    for answer, log in found.items():
        check_one(log, f"the answer ({', '.join(map(write_term, answer))})")
    if stopped is None:
        return found
    raise Inexact(
        f"not all answers were found within the budget ({stopped}, {goals:,} goals)",
        lower=math.fsum(math.exp(v) for v in found.values()),
        upper=None,
        hint='method="tabled"' if stopped == RECURSION else f"a larger {stopped}",
        found=dict(found),
    )


def require_exact(result: Success, goal: Goal) -> float:
    """The log probability, or Inexact with bounds and what to raise."""
    if result.exact:
        return result.log_lower
    upper = result.upper
    shown = "unknown" if upper is None else f"{upper:.6g}"
    raise Inexact(
        f"{goal_text(goal)} was not solved within the budget ({result.stopped}, "
        f"{result.goals:,} goals): probability between {result.lower:.6g} and {shown}",
        lower=result.lower,
        upper=upper,
        hint=f"a larger {result.stopped or 'max_goals'}",
    )


def _by_graph(graph: GoalGraph, weigh: Weigh, goal: Goal) -> Success:
    weights = weigh(graph, graph.choices)
    root = int(graph.roots[0])
    if graph.complete:
        plan = schedule(graph)
        value = evaluate(plan, weights.tolist(), LogSemiring())[root]
        check_one(value, goal_text(goal))
        return Success(value, value, True, "graph", graph.nodes, None)
    trues = graph.true_nodes()
    targets = np.asarray([*trues, *graph.open.tolist()], dtype=np.int64)
    plan = schedule(graph, targets)
    items = weights.tolist()
    low = dict.fromkeys(targets.tolist(), -math.inf) | dict.fromkeys(trues, 0.0)
    lower = evaluate(plan, items, LogSemiring(), low)[root]
    upper: float | None = None
    if at_most_one(graph, weights):
        upper = min(0.0, evaluate(plan, items, LogSemiring())[root])
    return Success(lower, upper, False, "graph", graph.nodes, graph.stopped)


def _by_table(table: Tabled, weigh: Weigh, goal: Goal) -> Success:
    weights = weigh(table.calls, table.system.choices)
    log = solve(table.system, weights)
    value = max((float(log[u]) for u in table.answers.values()), default=-math.inf)
    check_one(value, goal_text(goal))
    exact = table.complete
    # Every equation that is missing would only add weight; that labels keep it below 1 is known
    # only of labelled alternatives, so no upper bound is claimed.
    upper = value if exact else None
    return Success(value, upper, exact, "tabled", table.system.unknowns, table.stopped)


def _answers_by_graph(graph: GoalGraph, weigh: Weigh) -> dict[tuple[Term, ...], float]:
    weights = np.append(weigh(graph, graph.choices), 0.0)
    around, edge, target = turned(graph, int(graph.roots[0]))
    plan = schedule(around, np.asarray([target], dtype=np.int64))
    values = evaluate(plan, weights[edge].tolist(), LogSemiring())
    return {graph.goals[n].answer: values[n] for n in graph.true_nodes() if values[n] > -math.inf}


def refuse_growing(graph: GoalGraph, local: bool) -> None:
    """Goals without bound under a scorer that reads whole goals: no method applies."""
    if graph.stopped == RECURSION and not local:
        raise ProgramError(
            f"{goal_text(graph.goals[int(graph.roots[0])])} has goals of unbounded length: a call "
            "recurs in front of an ever longer continuation, and this scorer reads whole goals",
            hint="use labels or networks on terms, which can be tabled, or bound the recursion",
        )


def check_one(value: float, goal: str) -> None:
    """Refuse a probability above 1."""
    if value > ABOVE_ONE:
        raise ProgramError(
            f"{goal} has weight {math.exp(min(value, 700.0)):.6g}, more than 1: "
            "overlapping unlabelled clauses add up to a sum of weights, not a probability",
            hint="label the clauses that can match the same call",
        )
