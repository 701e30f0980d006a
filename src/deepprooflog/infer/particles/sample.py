"""Derivations drawn at random, step by step, from the transition model.

    G_{i+1} ~ p(· | G_i);   the mass that a step's weights leave over is failing

Where the alternatives of a step weigh more than 1 together (unlabelled clauses), they are drawn in
proportion and the derivation's `log_factor` takes up what they exceed 1 by, so that

    p_success = E[ exp(log_factor) · succeeded ]

whatever the weights. With `memory`, steps into goals the derivation has visited are not taken and
the weights that are left are scaled up to their old sum: another process, and the sample says so.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from deepprooflog.graph.explore import RECURSION, explore
from deepprooflog.graph.goalgraph import GoalGraph
from deepprooflog.logic.choice import Choice
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.limits.budget import Budget, BudgetExceeded
from deepprooflog.logic.program import Program
from deepprooflog.syntax.terms import Term

WeighGoals = Callable[[GoalGraph, Sequence[Choice]], NDArray[np.float64]]


@dataclass(frozen=True)
class Sample:
    """One derivation: how it ended and with what probability it was drawn."""

    succeeded: bool
    cut_off: bool  # stopped at max_depth, neither proved nor failed
    choices: tuple[Choice, ...]
    log_prob: float  # of the drawn steps under the process
    log_factor: float  # log of the weights' excess over 1, summed over steps
    answer: tuple[Term, ...]
    memory: bool


def sample(
    program: Program,
    goal: Goal,
    interner: Interner,
    weigh: WeighGoals,
    n: int,
    *,
    seed: int | None = None,
    max_depth: int = 10_000,
    memory: bool = False,
    budget: Budget | None = None,
) -> list[Sample]:
    """Draw n derivations; the steps out of each goal are found and weighed once.

    When the budget ends first, `BudgetExceeded` holds those drawn so far in `found`.
    """
    limits = (budget or Budget()).start()
    one_step = replace(limits, max_depth=1, max_goals=None)
    rng = random.Random(seed)
    known: dict[Goal, tuple[GoalGraph, list[float]]] = {}

    def steps(state: Goal) -> tuple[GoalGraph, list[float]]:
        found = known.get(state)
        if found is None:
            graph = explore(program, [state], interner, one_step, track_answers=True)
            if graph.stopped not in (None, "max_depth", RECURSION):
                raise BudgetExceeded(
                    f"the steps of a goal were not found within {graph.stopped}",
                    hint=f"a larger {graph.stopped}", limit=graph.stopped,
                )  # fmt: skip
            found = known[state] = (graph, np.exp(weigh(graph, graph.choices)).tolist())
        return found

    drawn: list[Sample] = []
    try:
        while len(drawn) < n:
            if limits.late:
                raise BudgetExceeded(
                    f"{limits.max_seconds:g} s have gone", hint="a larger max_seconds",
                    limit="max_seconds",
                )  # fmt: skip
            drawn.append(_draw(goal, steps, rng, max_depth, memory))
    except BudgetExceeded as error:
        raise BudgetExceeded(
            f"{len(drawn):,} of {n:,} derivations were drawn: {error.message}",
            hint=error.hint, limit=error.limit, found=drawn,
        ) from None  # fmt: skip
    return drawn


def _draw(
    goal: Goal,
    steps: Callable[[Goal], tuple[GoalGraph, list[float]]],
    rng: random.Random,
    max_depth: int,
    memory: bool,
) -> Sample:
    choices: list[Choice] = []
    log_prob = log_factor = 0.0
    visited = {goal}
    while not goal.is_true and len(choices) < max_depth:
        graph, weights = steps(goal)
        total = math.fsum(weights)
        if memory:
            weights = [
                0.0 if graph.goals[t] in visited else w
                for w, t in zip(weights, graph.target.tolist(), strict=True)
            ]
            left = math.fsum(weights)
            weights = [w * total / left for w in weights] if left > 0 else weights
            total = total if left > 0 else 0.0
        scale = max(1.0, total)
        pick = rng.random() * scale
        edge = -1
        for e, w in enumerate(weights):
            pick -= w
            if pick < 0:
                edge = e
                break
        if edge < 0:
            return Sample(False, False, tuple(choices), log_prob, log_factor, (), memory)
        choices.append(graph.choices[edge])
        log_prob += math.log(weights[edge] / scale)
        log_factor += math.log(scale)
        goal = graph.goals[int(graph.target[edge])]
        visited.add(goal)
    return Sample(
        goal.is_true, not goal.is_true, tuple(choices), log_prob, log_factor, goal.answer, memory
    )
