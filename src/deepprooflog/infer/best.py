"""The most probable derivation of a query, by its goal graph or by its tables."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deepprooflog.errors import Inexact
from deepprooflog.graph.goalgraph import GoalGraph, Ints, goal_text
from deepprooflog.graph.schedule import Arrows, schedule
from deepprooflog.infer.foremost import best_first
from deepprooflog.infer.graphs.semiring import MaxSemiring, evaluate
from deepprooflog.infer.method import Solvable, SolveRequest, over_budget, write_down
from deepprooflog.infer.tables.polynomial import System
from deepprooflog.infer.tables.tabled import ONE
from deepprooflog.logic.choice import Choice
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.limits.gc_pause import gc_paused
from deepprooflog.score.fixed import Weigh

Floats = NDArray[np.float64]

# Where neither graph nor tables end within so many goals, derivations are looked for best first,
# until as many goals are met; then graph and tables go on to the end of the budget.
SOME = 20_000


@dataclass(frozen=True)
class Best:
    """The steps of a best derivation, their log weights, and the method that found it."""

    choices: list[Choice]
    log_weights: list[float]
    method: Literal["graph", "tabled"]


@gc_paused()
def best_derivation(asked: SolveRequest) -> Best | None:
    """The most probable derivation of a goal; None when there is none.

    Raises `Inexact` when a better one than any that was met may lie outside the budget.
    """
    program, goal, interner, weigh = asked.program, asked.goal, asked.interner, asked.weigh
    budget = (asked.budget or Budget()).start()
    written: Solvable | None = None
    if asked.method == "auto" and asked.weighs_one and budget.max_depth is None:
        most = min(budget.max_goals or SOME, SOME)
        some = replace(budget.part(0.3), max_goals=most)
        written = write_down(program, goal, interner, budget=some)
        if not written.complete:
            # Best first an end may be found to a goal graph that has none.
            written = None
            with contextlib.suppress(Inexact):
                some = replace(budget.part(0.6), max_goals=most)
                first = best_first(program, goal, interner, weigh, some)
                return None if first is None else Best(*first, "graph")
    if written is None:
        written = replace(asked, budget=budget).write_down()
    if written.graph is not None:
        return _by_graph(written.graph, weigh)
    assert written.table is not None
    if not written.complete:
        raise over_budget(goal, written.stopped)
    system = written.table.system
    weights = weigh(written.table.calls, system.choices)
    unknown = next(iter(written.table.answers.values()), None)
    steps = None if unknown is None else best_steps(system, weights, unknown)
    return None if steps is None else Best(*steps, "tabled")


def _by_graph(graph: GoalGraph, weigh: Weigh) -> Best | None:
    weights = weigh(graph, graph.choices)
    path = best_path(graph, weights, int(graph.roots[0]))
    if path is None:
        return None
    return Best([graph.choices[e] for e in path], [float(weights[e]) for e in path], "graph")


def best_steps(
    system: System, weights: Floats, unknown: int
) -> tuple[list[Choice], list[float]] | None:
    """The resolution steps of the best derivation of an unknown, with their log weights."""
    return Settled(system, weights, unknown).steps(unknown)


def best_path(graph: GoalGraph, weights: Floats, root: int) -> list[int] | None:
    """The edges of the best derivation from `root` to True; None when there is none.

    By the max semiring; of derivations with equal weight the shortest is taken. In a graph that is
    not complete a derivation is returned only when none through an open goal can be better: no
    weight exceeds 1, so what an open goal could still give is bounded by the way to it. Otherwise
    `Inexact` says what was found.
    """
    trues = np.asarray(graph.true_nodes(), dtype=np.int64)
    path, found = best_edges(graph, weights, root, trues)
    if not graph.complete:
        _refuse_better_outside(graph, weights, root, found)
    return path


def best_edges(
    graph: GoalGraph | Arrows, weights: Floats, start: int, ends: Ints
) -> tuple[list[int] | None, float]:
    """The edges of the best way from a node to one of the ends, and its log weight."""
    if not len(ends):
        return None, -math.inf
    semiring = MaxSemiring()
    items = [(w, -1) for w in weights.tolist()]
    values = evaluate(schedule(graph, ends), items, semiring)
    found = values[start][0]
    if found == -math.inf:
        return None, found
    first, target, over = graph.first.tolist(), graph.target.tolist(), set(ends.tolist())
    path: list[int] = []
    node = start
    while node not in over:
        edges = range(first[node], first[node + 1])
        path.append(max(edges, key=lambda e: semiring.times(items[e], values[target[e]])))
        node = target[path[-1]]
    return path, found


def _refuse_better_outside(graph: GoalGraph, weights: Floats, root: int, found: float) -> None:
    _, outside = best_edges(graph, weights, root, graph.open)
    if outside > found:
        raise Inexact(
            f"{goal_text(graph.goals[root])}: a better proof may lie outside the budget "
            f"({graph.stopped}, {graph.nodes:,} goals)",
            lower=math.exp(found),
            upper=math.exp(outside),
            hint=f"a larger {graph.stopped}",
        )


def best_productions(system: System, weights: Floats, goal: int) -> list[int] | None:
    """The productions of the best derivation of an unknown, in the order of its steps."""
    return Settled(system, weights, goal).productions(goal)


class Settled:
    """The best derivations of a tabled system's unknowns: of all, or of those as good as a goal's.

    Knuth's generalisation of Dijkstra's algorithm: unknowns are settled best first. Weights may not
    exceed 1.
    """

    def __init__(self, system: System, weights: Floats, goal: int | None = None) -> None:
        self.system = system
        self.weights = weights
        self.value = [-math.inf] * system.unknowns
        self._chosen = [-1] * system.unknowns
        self._settled = [False] * system.unknowns
        self._settle(goal)

    def _settle(self, goal: int | None) -> None:
        system, value, settled = self.system, self.value, self._settled
        users: list[list[int]] = [[] for _ in range(system.unknowns)]
        missing: list[int] = []
        for p, (left, right) in enumerate(zip(system.left, system.right, strict=True)):
            factors = {f for f in (left, right) if f >= 0}
            missing.append(len(factors))
            for f in factors:
                users[f].append(p)
        heap: list[tuple[float, int]] = []
        w = self.weights.tolist()

        def offer(p: int) -> None:
            total = w[p] + sum(value[f] for f in (system.left[p], system.right[p]) if f >= 0)
            target = system.target[p]
            if total > value[target] and not settled[target]:
                value[target] = total
                self._chosen[target] = p
                heappush(heap, (-total, target))

        for p, count in enumerate(missing):
            if count == 0 and w[p] > -math.inf:
                offer(p)
        while heap and not (goal is not None and settled[goal]):
            _, u = heappop(heap)
            if settled[u]:
                continue
            settled[u] = True
            for p in users[u]:
                missing[p] -= 1
                if missing[p] == 0 and w[p] > -math.inf:
                    offer(p)

    def productions(self, unknown: int) -> list[int] | None:
        """The productions of an unknown's best derivation, in order; None when it has none."""
        return _unfold(self.system, self._chosen, unknown) if self._settled[unknown] else None

    def steps(self, unknown: int) -> tuple[list[Choice], list[float]] | None:
        """The resolution steps of an unknown's best derivation, with their log weights."""
        path = self.productions(unknown)
        if path is None:
            return None
        choices = self.system.choices
        path = [p for p in path if choices[p] is not ONE]
        return [choices[p] for p in path], [float(self.weights[p]) for p in path]


def _unfold(system: System, chosen: list[int], goal: int) -> list[int]:
    order: list[int] = []
    stack: list[tuple[int, bool]] = [(goal, False)]
    while stack:
        u, opened = stack.pop()
        p = chosen[u]
        if opened:
            order.append(p)
            continue
        # What comes before (left) and the call's own derivation (right), then the step itself.
        stack.append((u, True))
        for f in (system.right[p], system.left[p]):
            if f >= 0:
                stack.append((f, False))
    return order
