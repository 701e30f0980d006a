"""Success probabilities and the probabilities of answers, exact where a method ends in time.

How a query is written down is `infer.method`'s choice; here the equations are solved. When no
method ends within the budget the result is a pair of bounds, and says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deepprooflog.errors import Inexact, ProgramError, Rounded
from deepprooflog.graph.explore import RECURSION
from deepprooflog.graph.goalgraph import GoalGraph, goal_text
from deepprooflog.graph.schedule import schedule
from deepprooflog.infer.best import best_productions
from deepprooflog.infer.graphs.semiring import BooleanSemiring, evaluate
from deepprooflog.infer.graphs.values import log_evaluate, log_reach
from deepprooflog.infer.method import SolveRequest
from deepprooflog.infer.tables.precise import solve_closely
from deepprooflog.infer.tables.tabled import Tabled
from deepprooflog.logic.analysis.overlap import overlaps
from deepprooflog.logic.goal import Goal
from deepprooflog.logic.limits.gc_pause import gc_paused
from deepprooflog.logic.program import Program
from deepprooflog.score.fixed import Weigh, label_slack, steps_are_subprobabilities
from deepprooflog.syntax.terms import Term
from deepprooflog.syntax.writer import write_term

Floats = NDArray[np.float64]
# Labels may add up to a little more than 1, step after step: this far above 1 is still 1.
ABOVE_ONE = 1e-6
OVERLAP_HINT = (
    "let one clause at most apply to a call, by a test or by the outcomes they ask for, commit by "
    "a cut, or label them"
)
# Predicates whose overlapping clauses an error names.
MOST_NAMED = 3
# Rounding that a result may carry and be called exact: a share of the probability, or of its
# logarithm where the probability is below the range of floats.
ROUNDING = 1e-9
RANGE = 700.0


@dataclass(frozen=True)
class Success:
    """The success probability of a goal, or bounds on it.

    `error` bounds what rounding changed of the logarithm: a share of the probability. A result is
    `exact` when all derivations are counted and the error is at most 1e-9; one that is not
    has bounds, which hold the error.
    """

    log_lower: float
    log_upper: float | None
    exact: bool
    method: Literal["graph", "tabled"]
    goals: int
    stopped: str | None
    error: float = 0.0

    @property
    def lower(self) -> float:
        return math.exp(self.log_lower)

    @property
    def upper(self) -> float | None:
        return None if self.log_upper is None else math.exp(self.log_upper)


@gc_paused()
def success(asked: SolveRequest) -> Success:
    """p_success(goal), exact where a method ends within the budget, else bounded."""
    written = asked.write_down()
    if written.graph is None:
        return _by_table(written.table, asked)
    bounded = _by_graph(written.graph, asked.weigh, asked.goal)
    if written.table is None:
        return bounded
    tabled = _by_table(written.table, asked)
    lower = max(bounded.log_lower, tabled.log_lower)
    return replace(bounded, log_lower=lower, stopped=tabled.stopped)


@gc_paused()
def answer_weights(asked: SolveRequest) -> dict[tuple[Term, ...], float]:
    """The log probability of each answer; raises Inexact, with those found, when some may miss."""
    written, weigh = asked.write_down(track_answers=True), asked.weigh
    found: dict[tuple[Term, ...], tuple[float, float]] = {}
    if written.graph is not None:
        found = _answers_by_graph(written.graph, weigh)
    if written.table is not None:
        system = written.table.system
        close = solve_closely(system, weigh(written.table.calls, system.choices))
        for answer, unknown in written.table.answers.items():
            log, error = float(close.log[unknown]), float(close.error[unknown])
            if log > found.get(answer, (-math.inf, 0.0))[0]:
                found[answer] = log, error
    return _all_answers(found, written.stopped, written.goals, asked.program)


@gc_paused()
def has_proof(asked: SolveRequest) -> bool:
    """True when some derivation has a weight; raises Inexact when none was met in time."""
    written, weigh = asked.write_down(), asked.weigh
    if written.graph is not None:
        graph = written.graph
        weights = [bool(w > -math.inf) for w in weigh(graph, graph.choices)]
        if evaluate(schedule(graph), weights, BooleanSemiring())[int(graph.roots[0])]:
            return True
    if written.table is not None:
        table = written.table
        steps = weigh(table.calls, table.system.choices)
        for unknown in table.answers.values():
            if best_productions(table.system, steps, unknown) is not None:
                return True
    if written.complete:
        return False
    raise Inexact(
        f"no proof of {goal_text(asked.goal)} within the budget ({written.stopped})",
        lower=0.0,
        upper=None,
        hint=f"a larger {written.stopped}",
    )


def _all_answers(
    found: dict[tuple[Term, ...], tuple[float, float]],
    stopped: str | None,
    goals: int,
    program: Program,
) -> dict[tuple[Term, ...], float]:
    """The log probabilities from these and their errors, where all answers are exact."""
    logs: dict[tuple[Term, ...], float] = {}
    worst = 0.0
    for answer, (log, error) in found.items():
        check_one(log, f"the answer ({', '.join(map(write_term, answer))})", program)
        off = _told(log, error)
        worst = max(worst, off)
        logs[answer] = min(log, 0.0) - off
    if stopped is None and not worst:
        return logs
    lower = math.fsum(math.exp(v) for v in logs.values())
    if stopped is None:
        raise Rounded(
            f"rounding hides the probabilities of the answers: they may be off by {worst:.2g} of "
            "what they are",
            lower=lower,
            upper=None,
            hint="exact_fraction() computes without rounding, one answer at a time",
            found=logs,
        )
    raise Inexact(
        f"not all answers were found within the budget ({stopped}, {goals:,} goals)",
        lower=lower,
        upper=None,
        hint='method="tabled"' if stopped == RECURSION else f"a larger {stopped}",
        found=logs,
    )


def require_exact(result: Success, goal: Goal) -> float:
    """The log probability, or Inexact with bounds and what to raise."""
    if result.exact:
        return result.log_lower
    upper = result.upper
    shown = "unknown" if upper is None else f"{upper:.6g}"
    if result.stopped is None:
        raise Rounded(
            f"rounding hides the probability of {goal_text(goal)}: it is between "
            f"{result.lower:.9g} and {'unknown' if upper is None else f'{upper:.9g}'}",
            lower=result.lower,
            upper=upper,
            hint="success() gives these bounds; exact_fraction() computes without rounding",
        )
    raise Inexact(
        f"{goal_text(goal)} was not solved within the budget ({result.stopped}, "
        f"{result.goals:,} goals): probability between {result.lower:.6g} and {shown}",
        lower=result.lower,
        upper=upper,
        hint=f"a larger {result.stopped or 'max_goals'}",
    )


def _by_graph(graph: GoalGraph, weigh: Weigh, goal: Goal) -> Success:
    weights = weigh(graph, graph.choices)
    items = weights.tolist()
    slack = label_slack(graph.first, graph.choices, graph.program)
    root = int(graph.roots[0])
    if graph.complete:
        values = log_evaluate(schedule(graph), items, slack=slack)
        check_one(values.log[root], goal_text(goal), graph.program)
        return solved(values.log[root], values.error[root], "graph", graph.nodes)
    trues = graph.true_nodes()
    targets = np.asarray([*trues, *graph.open.tolist()], dtype=np.int64)
    plan = schedule(graph, targets)
    low = dict.fromkeys(targets.tolist(), -math.inf) | dict.fromkeys(trues, 0.0)
    values = log_evaluate(plan, items, low, slack)
    found, error = values.log[root], values.error[root]
    check_one(found, goal_text(goal), graph.program)
    lower, upper = min(0.0, found) - _told(found, error), None
    if steps_are_subprobabilities(graph, weights):
        values = log_evaluate(plan, items, slack=slack)
        above = values.log[root]
        upper = min(0.0, above + _told(above, values.error[root]))
    return Success(lower, upper, False, "graph", graph.nodes, graph.stopped, error)


def solved(value: float, error: float, method: Literal["graph", "tabled"], goals: int) -> Success:
    """The result of a method that ended: exact unless rounding may be off by more than 1e-9."""
    value = min(value, 0.0)
    if not _told(value, error):
        return Success(value, value, True, method, goals, None, error)
    upper = min(0.0, value + error) if error < math.inf else None
    return Success(value - error, upper, False, method, goals, None, error)


def _told(value: float, error: float) -> float:
    """The error of a log probability where it is too large to leave unsaid, else 0."""
    return error if error > ROUNDING * max(1.0, -value / RANGE) else 0.0


def _by_table(table: Tabled | None, asked: SolveRequest) -> Success:
    assert table is not None
    weights = asked.weigh(table.calls, table.system.choices)
    found = solve_closely(table.system, weights)
    unknowns = list(table.answers.values())
    value = float(found.log[unknowns].max(initial=-math.inf))
    error = float(found.error[unknowns].max(initial=0.0))
    goals = table.system.unknowns
    check_one(value, goal_text(asked.goal), asked.program)
    if table.complete:
        return solved(value, error, "tabled", goals)
    value -= _told(value, error)
    # Every equation that is missing would only add weight; that labels keep it below 1 is known
    # only of labelled alternatives, so no upper bound is claimed.
    return Success(min(value, 0.0), None, False, "tabled", goals, table.stopped)


def _answers_by_graph(
    graph: GoalGraph, weigh: Weigh
) -> dict[tuple[Term, ...], tuple[float, float]]:
    """log p of each answer, and a bound on its rounding error."""
    weights: list[float] = weigh(graph, graph.choices).tolist()
    slack = label_slack(graph.first, graph.choices, graph.program)
    reached, error = log_reach(schedule(graph), weights, int(graph.roots[0]), slack)
    return {graph.goals[n].answer: (log, error) for n, log in reached.items()}


def check_one(value: float, goal: str, program: Program | None = None) -> None:
    """Refuse a probability above 1, and name the program's clauses that overlap."""
    if value > ABOVE_ONE:
        pairs = [] if program is None else [pair.text(program) for pair in overlaps(program)]
        named = f" ({'; '.join(pairs[:MOST_NAMED])})" if pairs else ""
        raise ProgramError(
            f"{goal} has weight {math.exp(min(value, 700.0)):.6g}, more than 1: "
            f"overlapping unlabelled clauses{named} add up to a sum of weights, not a probability",
            hint=OVERLAP_HINT,
        )
