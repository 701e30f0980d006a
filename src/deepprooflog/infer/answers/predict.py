"""The most probable answers of an open query, each with its best derivation.

    prefixes     A* over what answers begin with: exact, whatever the number of answers
    answers      all answers listed, where derivations go round without binding anything, or where
                 the goal graph has no end
    derivation   the answer of the best derivation (the max semiring), with its own probability

The most probable answer and the answer of the most probable derivation may differ: an answer's
probability is the sum over all derivations that end in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepprooflog.graph.explore import SHARE
from deepprooflog.graph.goalgraph import GoalGraph
from deepprooflog.graph.schedule import Schedule, schedule
from deepprooflog.infer.answers.ending import Ending, best_of, ending_in, log_weight
from deepprooflog.infer.answers.moves import BindsNothing, Moves
from deepprooflog.infer.answers.prefixes import PrefixSearch, Spent, substitute
from deepprooflog.infer.best import Settled, best_path
from deepprooflog.infer.graphs.values import log_evaluate
from deepprooflog.infer.method import SolveRequest, over_budget
from deepprooflog.infer.success import answer_weights, check_one
from deepprooflog.infer.tables.precise import solve_closely
from deepprooflog.infer.tables.tabled import Tabled
from deepprooflog.logic.choice import Choice
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.limits.budget import Budget, BudgetExceeded
from deepprooflog.logic.limits.gc_pause import gc_paused
from deepprooflog.score.fixed import Weigh, label_slack
from deepprooflog.syntax.terms import Term, Var, variables
from deepprooflog.syntax.writer import write_term

By = Literal["answer", "derivation"]
AnswerWay = Literal["prefixes", "answers", "derivation"]

# Goals that prefixes may be pushed through: some seconds of work.
STEPS = 200_000


@dataclass(frozen=True)
class Likely:
    """An answer, its log-probability, and its best derivation."""

    answer: tuple[Term, ...]
    log_prob: float
    certain: bool  # no answer that is not listed before it is more probable
    log_others: float  # no answer that is not listed at all is more probable than this
    method: AnswerWay
    choices: Sequence[Choice]  # of its best derivation
    log_weights: Sequence[float]


class Weighed(NamedTuple):
    """A complete goal graph, the log weights of its steps, and the order to solve it in."""

    graph: GoalGraph
    weights: NDArray[np.float64]
    plan: Schedule

    def ending_in(self, answer: tuple[Term, ...]) -> Ending:
        return ending_in(self.graph, self.weights, answer, self.plan.live.tolist())


@gc_paused()
def likely_answers(
    asked: SolveRequest, *, top: int = 1, by: By = "answer", steps: int = STEPS
) -> list[Likely]:
    """The `top` most probable answers, best first; fewer where there are fewer.

    When `steps` end the search early, what was found is followed by the best answer at hand, which
    is not certain to be the next one.
    """
    budget = (asked.budget or Budget()).start()
    asked = replace(asked, budget=budget)
    written, weigh, interner = asked.write_down(keep_bound=True), asked.weigh, asked.interner
    if not written.complete:
        raise over_budget(asked.goal, written.stopped)
    graph = written.graph
    if graph is None:
        assert written.table is not None
        return _tabled(written.table, weigh, top, by)
    whole = Weighed(graph, weigh(graph, graph.choices), schedule(graph))
    if by == "derivation":
        return _by_derivation(whole, interner)
    try:
        search = PrefixSearch(Moves(*whole), steps, budget.part(SHARE))
    except BindsNothing:
        found = answer_weights(asked)
        return _most_probable(_listed(whole, found, top + 1), top)
    return _by_prefixes(search, whole, interner, top)


def _by_prefixes(
    search: PrefixSearch, whole: Weighed, interner: Interner, top: int
) -> list[Likely]:
    found: list[tuple[tuple[Term, ...], float, bool]] = []
    try:
        for answer, log in search:
            found.append((_interned(answer, interner), log, True))
            search.listed()
            if len(found) == top:
                break
    except (Spent, BudgetExceeded):
        others = search.others
        guess = _guess(search, whole, interner, {a for a, _, _ in found})
        if guess is not None:
            found.append((*guess, guess[1] >= others))
    others = search.others
    return [
        _likely(whole, answer, log, certain, others, "prefixes") for answer, log, certain in found
    ]


def _guess(
    search: PrefixSearch, whole: Weighed, interner: Interner, listed: set[tuple[Term, ...]]
) -> tuple[tuple[Term, ...], float] | None:
    """The best answer at hand when a search ends early."""
    candidates = []
    dived = search.dive(whole.graph.nodes)
    if dived is not None:
        candidates.append((_interned(dived[0], interner), dived[1]))
    candidates += [(one.answer, one.log_prob) for one in _by_derivation(whole, interner)]
    fresh = [c for c in candidates if c[0] not in listed]
    return max(fresh, key=lambda c: c[1], default=None)


def _by_derivation(whole: Weighed, interner: Interner) -> list[Likely]:
    graph, weights, plan = whole
    path = best_path(graph, weights, int(graph.roots[0]))
    if path is None:
        return []
    answer = _interned(answer_along(graph, path), interner)
    log = log_weight(whole.ending_in(answer), graph, weights)
    # What all derivations weigh together bounds what is left for any other answer.
    slack = label_slack(graph.first, graph.choices, graph.program)
    total = log_evaluate(plan, weights.tolist(), slack=slack).log[int(graph.roots[0])]
    share = math.exp(min(log - total, 0.0))
    others = total + math.log1p(-share) if share < 1 else -math.inf
    steps = _steps(whole, path)
    return [Likely(answer, log, log >= others, others, "derivation", *steps)]


def answer_along(graph: GoalGraph, path: Sequence[int]) -> tuple[Term, ...]:
    """The answer that a derivation's steps bind the query's variables to."""
    assert graph.bound is not None
    answer: tuple[Term, ...] = ()
    for e in reversed(path):
        bound, going_on = graph.bound[e], graph.goals[int(graph.target[e])].answer
        if bound == going_on:
            continue
        values: dict[Term, Term] = dict(zip(going_on, answer, strict=True))
        # A variable that leaves the goal unbound must not meet one of a later goal.
        fresh = {v: values.get(v, Var()) for v in variables(*bound)}
        answer = tuple([substitute(t, fresh) for t in bound])
    return answer


def _most_probable(listed: list[Likely], top: int) -> list[Likely]:
    others = listed[top].log_prob if len(listed) > top else -math.inf
    return [replace(one, log_others=others) for one in listed[:top]]


def _listed(whole: Weighed, found: dict[tuple[Term, ...], float], top: int) -> list[Likely]:
    best = sorted(found.items(), key=lambda item: -item[1])[:top]
    return [_likely(whole, a, log, True, -math.inf, "answers") for a, log in best]


def _tabled(table: Tabled, weigh: Weigh, top: int, by: By) -> list[Likely]:
    """The most probable answers of those that tables list, or that of the best derivation."""
    system = table.system
    weights = weigh(table.calls, system.choices)
    log = solve_closely(system, weights).log
    listed = [(float(log[u]), u, a) for a, u in table.answers.items() if log[u] > -math.inf]
    listed.sort(key=lambda one: -one[0])
    for value, _, answer in listed[:1]:
        check_one(value, f"the answer ({', '.join(map(write_term, answer))})")
    settled = Settled(system, weights)

    def likely(place: int, certain: bool, others: float, method: AnswerWay) -> Likely:
        value, unknown, answer = listed[place]
        steps = settled.steps(unknown)
        assert steps is not None, "an answer of nonzero weight has a derivation"
        return Likely(answer, value, certain, others, method, *steps)

    if by == "derivation" and listed:
        best = max(range(len(listed)), key=lambda i: settled.value[listed[i][1]])
        others = max((one[0] for i, one in enumerate(listed) if i != best), default=-math.inf)
        return [likely(best, best == 0, others, "derivation")]
    others = listed[top][0] if len(listed) > top else -math.inf
    return [likely(i, True, others, "answers") for i in range(min(top, len(listed)))]


def _likely(
    whole: Weighed,
    answer: tuple[Term, ...],
    log: float,
    certain: bool,
    others: float,
    method: AnswerWay,
) -> Likely:
    check_one(log, f"the answer ({', '.join(map(write_term, answer))})", whole.graph.program)
    path = best_of(whole.ending_in(answer), whole.weights)
    assert path is not None, "an answer of nonzero weight has a derivation"
    return Likely(answer, log, certain, others, method, *_steps(whole, path))


def _steps(whole: Weighed, path: Sequence[int]) -> tuple[list[Choice], list[float]]:
    graph, weights, _ = whole
    return [graph.choices[e] for e in path], [float(weights[e]) for e in path]


def _interned(answer: tuple[Term, ...], interner: Interner) -> tuple[Term, ...]:
    return interner.goal((), answer).answer
