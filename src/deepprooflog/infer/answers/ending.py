"""The derivations of an open query that end in one answer: their total weight, and the best.

The goal graph is walked with the answer in hand: beside each goal stands what its open variables
must become, and a step that binds one of them to anything else is left out. What remains is a graph
of its own, on which every semiring runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepprooflog.graph.goalgraph import GoalGraph, Ints
from deepprooflog.graph.schedule import Arrows, arrows, schedule
from deepprooflog.infer.best import best_edges
from deepprooflog.infer.graphs.values import log_evaluate
from deepprooflog.score.fixed import label_slack
from deepprooflog.syntax.terms import Struct, Term, Var

Floats = NDArray[np.float64]
PlaceInAnswer = tuple[int, tuple[Term, ...], frozenset[Var]]
"""A goal, what its open variables must become, and the answer's variables that are spoken for."""


@dataclass(frozen=True)
class Ending:
    """The part of a goal graph whose derivations end in one answer; it starts at node 0."""

    graph: Arrows
    edge: Ints  # [E] the goal graph's edge behind each of its edges
    true: Ints  # nodes that are True with this answer


def ending_in(
    graph: GoalGraph, weights: Floats, answer: tuple[Term, ...], live: Sequence[bool]
) -> Ending:
    """The derivations of a graph's query that end in `answer` (a variant of it).

    `live` are the goals that reach True at all.
    """
    assert graph.bound is not None
    first, target = graph.first.tolist(), graph.target.tolist()
    items = weights.tolist()
    root = int(graph.roots[0])
    begin: PlaceInAnswer = (root, answer, frozenset())
    number: dict[PlaceInAnswer, int] = {begin: 0}
    queue = [begin]
    source: list[int] = []
    aim: list[int] = []
    edge: list[int] = []
    true: list[int] = []
    for n, (node, wanted, used) in enumerate(queue):
        if graph.goals[node].is_true:
            true.append(n)
            continue
        for e in range(first[node], first[node + 1]):
            t = target[e]
            if not live[t] or items[e] == -math.inf:
                continue
            after = _match(graph.bound[e], wanted, graph.goals[t].answer, used)
            if after is None:
                continue
            place = (t, *after)
            fresh = len(queue)
            m = number.setdefault(place, fresh)
            if m == fresh:
                queue.append(place)
            source.append(n)
            aim.append(m)
            edge.append(e)
    made = arrows(len(queue), _ints(source), _ints(aim))
    return Ending(made, _ints(edge), _ints(true))


def log_weight(ending: Ending, graph: GoalGraph, weights: Floats) -> float:
    """log of the sum over all derivations: the answer's probability."""
    if not len(ending.true):
        return -math.inf
    plan = schedule(ending.graph, ending.true)
    items: list[float] = weights[ending.edge].tolist()

    def slack(nodes: Sequence[int]) -> Floats:
        own = [graph.choices[e] for e in ending.edge.tolist()]
        return label_slack(ending.graph.first, own, graph.program)(nodes)

    return log_evaluate(plan, items, slack=slack).log[0]


def best_of(ending: Ending, weights: Floats) -> list[int] | None:
    """The edges, in the goal graph, of the best derivation; None when there is none."""
    path, _ = best_edges(ending.graph, weights[ending.edge], 0, ending.true)
    return None if path is None else ending.edge[path].tolist()


def _match(
    bound: tuple[Term, ...], wanted: tuple[Term, ...], going_on: tuple[Term, ...],
    used: frozenset[Var],
) -> tuple[tuple[Term, ...], frozenset[Var]] | None:  # fmt: skip
    """What the target's open variables must become for `bound` to become `wanted`; None if never.

    A variable that leaves the goal unbound stays one in the answer: it needs a variable there, and
    one that no other stands for.
    """
    if bound == going_on:
        return wanted, used
    values: dict[Var, Term] = {}
    stack = list(zip(bound, wanted, strict=True))
    while stack:
        pattern, term = stack.pop()
        if type(pattern) is Var:
            if values.setdefault(pattern, term) != term:
                return None
        elif type(pattern) is Struct:
            if type(term) is not Struct or pattern.functor is not term.functor:
                return None
            stack.extend(zip(pattern.args, term.args, strict=True))
        elif type(pattern) is not type(term) or pattern != term:
            return None
    for v, term in values.items():
        if v in going_on:
            continue
        if type(term) is not Var or term in used:
            return None
        used = used | {term}
    return tuple([values[v] for v in going_on]), used  # type: ignore[index]


def _ints(values: list[int]) -> Ints:
    return np.asarray(values, dtype=np.int64)
