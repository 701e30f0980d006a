"""Functions on programs without parameters: `prob`, `answers`, `bounds`, `solve`, exact fractions.

They need no network and no torch. For programs with networks or an embedding scorer there is
`Model`, which has the same questions as methods.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from fractions import Fraction

from deepprooflog.infer.answers.predict import STEPS, By
from deepprooflog.infer.method import Method
from deepprooflog.infer.success import Success
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.logic.search import search
from deepprooflog.proof.build import Prediction
from deepprooflog.questions import ProgramQuestions


def prob(
    program: Program,
    query: str | Query,
    budget: Budget | None = None,
    *,
    method: Method = "auto",
) -> float:
    """p_success(query): the sum over its successful derivations of the product of their labels.

    >>> prob(Program("0.3 :: p(a). 0.7 :: p(b). q(X) :- p(X), p(X)."), "q(a)")
    0.09

    Raises `Inexact`, with bounds, when the budget ends first.
    """
    return ProgramQuestions(program).prob(query, budget, method=method)


def log_prob(
    program: Program,
    query: str | Query,
    budget: Budget | None = None,
    *,
    method: Method = "auto",
) -> float:
    """log p_success(query), for probabilities below the smallest float too; −inf for 0.

    >>> log_prob(Program("1/10^400 :: p."), "p")
    -921.0340371976182
    """
    return ProgramQuestions(program).query_log_prob(query, budget, method=method)


def success(
    program: Program,
    query: str | Query,
    budget: Budget | None = None,
    *,
    method: Method = "auto",
) -> Success:
    """p_success(query) with its bounds, the method used and the number of goals.

    >>> result = success(Program("0.4 :: p :- p, p. 0.6 :: p."), "p")
    >>> result.exact, result.method, result.lower
    (True, 'tabled', 1.0)
    """
    return ProgramQuestions(program).success(query, budget, method=method)


def measure(
    program: Program,
    query: str | Query,
    budget: Budget | None = None,
    *,
    method: Method = "auto",
) -> Success:
    """The former name of `success`."""
    warnings.warn("dpl.measure is now called dpl.success", DeprecationWarning, stacklevel=2)
    return success(program, query, budget, method=method)


def bounds(
    program: Program,
    query: str | Query,
    budget: Budget | None = None,
    *,
    method: Method = "auto",
) -> tuple[float, float | None]:
    """Lower and upper bound on p_success(query) within the budget; equal when it is exact.

    The upper bound is None where unlabelled alternatives may add up to more than 1.

    >>> bounds(Program("0.5 :: p :- p. 0.25 :: p."), "p", budget=Budget(max_goals=100))
    (0.5, 0.5)
    """
    return ProgramQuestions(program).bounds(query, budget, method=method)


def answers(
    program: Program,
    query: str | Query,
    budget: Budget | None = None,
    *,
    method: Method = "auto",
) -> dict[str, float]:
    """The probability of each answer to an open query, as Prolog text, most probable first.

    The probability of an answer is the weight of the derivations of the open query that end in it.

    >>> answers(Program("0.3 :: p(a). 0.7 :: p(b)."), "p(X)")
    {'p(b)': 0.7, 'p(a)': 0.3}
    """
    return ProgramQuestions(program).answers(query, budget, method=method)


def log_answers(
    program: Program,
    query: str | Query,
    budget: Budget | None = None,
    *,
    method: Method = "auto",
) -> dict[str, float]:
    """The logarithm of the probability of each answer, which no answer is too improbable for.

    >>> log_answers(Program("1/10^400 :: p(a). 1 :: p(b)."), "p(X)")
    {'p(b)': 0.0, 'p(a)': -921.0340371976182}
    """
    return ProgramQuestions(program).log_answers(query, budget, method=method)


def predict(
    program: Program,
    query: str | Query,
    top: int = 1,
    *,
    by: By = "answer",
    steps: int = STEPS,
    budget: Budget | None = None,
    method: Method = "auto",
) -> list[Prediction]:
    """The most probable answers of an open query, best first, each with its best proof.

    >>> program = Program("0.4 :: p(a). 0.3 :: p(b). 0.3 :: p(X) :- q(X). 1 :: q(b).")
    >>> [(found.answer, found.probability) for found in predict(program, "p(X)")]
    [('p(b)', 0.6)]
    """
    asked = ProgramQuestions(program)
    return asked.predict(query, top, by=by, steps=steps, budget=budget, method=method)


def exact_fraction(program: Program, query: str | Query, budget: Budget | None = None) -> Fraction:
    """p_success(query) as an exact fraction, where labels are constant and the goal graph finite.

    >>> exact_fraction(Program("1/3 :: p :- p. 1/3 :: p."), "p")
    Fraction(1, 2)
    """
    return ProgramQuestions(program).exact_fraction(query, budget)


def provable(
    program: Program,
    query: str | Query,
    budget: Budget | None = None,
    *,
    method: Method = "auto",
) -> bool:
    """True when some derivation with nonzero weight succeeds.

    >>> provable(Program("p :- p. p :- q. q."), "p")
    True
    """
    return ProgramQuestions(program).provable(query, budget, method=method)


def solve(
    program: Program, query: str | Query, budget: Budget | None = None
) -> Iterator[dict[str, str]]:
    """The answers in plain SLD order, labels ignored: a dictionary from variable to Prolog text.

    Of the budget's seconds only those count in which an answer is searched for. Plain resolution
    has no tables: where the query reaches a predicate with a `table` directive, a warning says so.

    >>> list(solve(Program("p(a). p(b)."), "p(X)"))
    [{'X': 'a'}, {'X': 'b'}]
    """
    found = search(program, query, budget)
    try:
        for solution in found:
            yield dict(solution.bindings)
    finally:
        found.close()
