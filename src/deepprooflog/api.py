"""Functions on programs without parameters: `prob`, `answers`, `bounds`, `solve`, exact fractions.

They need no network and no torch. For programs with networks or an embedding scorer there is
`Model`, which has the same questions as methods.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from deepprooflog.errors import Notice, ProgramError
from deepprooflog.graph.explore import explore
from deepprooflog.graph.schedule import schedule
from deepprooflog.infer.method import Method
from deepprooflog.infer.semiring import FractionSemiring, evaluate
from deepprooflog.infer.success import (
    Success,
    answer_weights,
    has_proof,
    require_exact,
    success,
)
from deepprooflog.logic.answers import bindings_text, probability
from deepprooflog.logic.answers import log_answers as answers_by_log
from deepprooflog.logic.body import conjunction
from deepprooflog.logic.budget import Budget, BudgetExceeded, Spending
from deepprooflog.logic.garbage import no_collection
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.logic.resolve import start
from deepprooflog.logic.solver import Solver
from deepprooflog.logic.watch import resident, watched
from deepprooflog.score.edges import fractions
from deepprooflog.score.fixed import fixed_weights
from deepprooflog.syntax.terms import variables


@no_collection()
def prob(
    program: Program,
    query: str | Query,
    *,
    budget: Budget | None = None,
    method: Method = "auto",
) -> float:
    """p_success(query): the sum over its successful derivations of the product of their labels.

    >>> prob(Program("0.3 :: p(a). 0.7 :: p(b). q(X) :- p(X), p(X)."), "q(a)")
    0.09

    Raises `Inexact`, with bounds, when the budget ends first.
    """
    return probability(log_prob(program, query, budget=budget, method=method))


@no_collection()
def log_prob(
    program: Program,
    query: str | Query,
    *,
    budget: Budget | None = None,
    method: Method = "auto",
) -> float:
    """log p_success(query), for probabilities below the smallest float too; −inf for 0.

    >>> log_prob(Program("1/10^400 :: p."), "p")
    -921.0340371976182
    """
    result, goal = _measure(program, query, budget, method)
    return require_exact(result, goal)


@no_collection()
def measure(
    program: Program,
    query: str | Query,
    *,
    budget: Budget | None = None,
    method: Method = "auto",
) -> Success:
    """p_success(query) with its bounds, the method used and the number of goals."""
    return _measure(program, query, budget, method)[0]


@no_collection()
def bounds(
    program: Program,
    query: str | Query,
    budget: Budget | None = None,
) -> tuple[float, float | None]:
    """Lower and upper bound on p_success(query) within the budget; equal when it is exact.

    The upper bound is None where unlabelled alternatives may add up to more than 1.

    >>> bounds(Program("0.5 :: p :- p. 0.25 :: p."), "p", Budget(max_goals=100))
    (0.5, 0.5)
    """
    result, _ = _measure(program, query, budget, "auto")
    return result.lower, result.upper


@no_collection()
def answers(
    program: Program,
    query: str | Query,
    *,
    budget: Budget | None = None,
    method: Method = "auto",
) -> dict[str, float]:
    """The probability of each answer to an open query, as Prolog text, most probable first.

    The probability of an answer is the weight of the derivations of the open query that end in it.

    >>> answers(Program("0.3 :: p(a). 0.7 :: p(b)."), "p(X)")
    {'p(b)': 0.7, 'p(a)': 0.3}
    """
    found = log_answers(program, query, budget=budget, method=method)
    return {text: probability(log) for text, log in found.items()}


@no_collection()
def log_answers(
    program: Program,
    query: str | Query,
    *,
    budget: Budget | None = None,
    method: Method = "auto",
) -> dict[str, float]:
    """The logarithm of the probability of each answer, which no answer is too improbable for.

    >>> log_answers(Program("1/10^400 :: p(a). 1 :: p(b)."), "p(X)")
    {'p(b)': 0.0, 'p(a)': -921.0340371976182}
    """
    with watched(budget) as limits:
        parsed, goal, interner = _begin(program, query)
        weights = answer_weights(
            program, goal, interner, fixed_weights(program), budget=limits, method=method
        )
        return answers_by_log(parsed, program, weights)


@no_collection()
def exact_fraction(
    program: Program, query: str | Query, *, budget: Budget | None = None
) -> Fraction:
    """p_success(query) as an exact fraction, where labels are constant and the goal graph finite.

    >>> exact_fraction(Program("1/3 :: p :- p. 1/3 :: p."), "p")
    Fraction(1, 2)
    """
    with watched(budget) as limits:
        parsed, goal, interner = _begin(program, query)
        graph = explore(program, [goal], interner, limits)
        if not graph.complete:
            raise ProgramError(
                f"the goal graph of {parsed} is not finite within the budget ({graph.stopped})",
                hint="exact fractions need a finite goal graph; prob() can table",
            )
        weights = fractions(graph.choices)
        return evaluate(schedule(graph), weights, FractionSemiring())[int(graph.roots[0])]


@no_collection()
def provable(program: Program, query: str | Query, *, budget: Budget | None = None) -> bool:
    """True when some derivation with nonzero weight succeeds.

    >>> provable(Program("p :- p. p :- q. q."), "p")
    True
    """
    with watched(budget) as limits:
        _, goal, interner = _begin(program, query)
        return has_proof(program, goal, interner, fixed_weights(program), budget=limits)


def solve(
    program: Program, query: str | Query, *, budget: Budget | None = None
) -> Iterator[dict[str, str]]:
    """The answers in plain SLD order, labels ignored: a dictionary from variable to Prolog text.

    Of the budget's seconds only those count in which an answer is searched for. Plain resolution
    has no tables: where the query reaches a predicate with a `table` directive, a warning says so.

    >>> list(solve(Program("p(a). p(b)."), "p(X)"))
    [{'X': 'a'}, {'X': 'b'}]
    """
    limits = budget or Budget()
    spending = Spending(limits)
    since = resident() if limits.max_memory is not None else None
    began = time.monotonic()
    with watched(limits, since):
        parsed = program.query(query)
        _say_untabled(program, parsed)
        solver = Solver(program, occurs_check=program.occurs_check, budget=spending)
        search = solver.run(conjunction(parsed.atoms))
        open_ = variables(*parsed.atoms)
    left = None if limits.max_seconds is None else limits.max_seconds - time.monotonic() + began
    try:
        while True:
            began = time.monotonic()
            # A budget whose clock was started elsewhere has its own deadline.
            if left is not None and limits.deadline is None:
                spending.resume(began + left)
                watch = watched(replace(limits, deadline=began + left), since)
            else:
                watch = watched(limits, since)
            with watch:
                answer = None
                for _ in search:
                    answer = bindings_text(parsed, program)
                    break
            if answer is None:
                return
            if left is not None:
                left -= time.monotonic() - began
            yield answer
    finally:
        # However the search was ended, the query's own variables are free again.
        search.close()
        for var in open_:
            var.ref = None


def _say_untabled(program: Program, query: Query) -> None:
    untabled = program.table_below(query.atoms)
    if untabled is not None:
        place = program.tabled[untabled]
        warnings.warn(
            f"{place.file}:{place.line}: solve has no tables: it takes {untabled} as it is written",
            Notice,
            stacklevel=3,
        )


def _begin(program: Program, query: str | Query) -> tuple[Query, Goal, Interner]:
    parsed = program.query(query)
    interner = Interner()
    return parsed, start(parsed.atoms, interner), interner


def _measure(
    program: Program, query: str | Query, budget: Budget | None, method: Method
) -> tuple[Success, Goal]:
    goal: Goal | None = None
    try:
        with watched(budget) as limits:
            _, goal, interner = _begin(program, query)
            return _success(program, goal, interner, limits, method), goal
    except BudgetExceeded as error:
        if goal is None:
            raise
        # The watchdog ended what cannot be ended half-way: nothing is known.
        return Success(-math.inf, None, False, "graph", 0, error.limit), goal


def _success(
    program: Program, goal: Goal, interner: Interner, budget: Budget | None, method: Method
) -> Success:
    return success(program, goal, interner, fixed_weights(program), budget=budget, method=method)
