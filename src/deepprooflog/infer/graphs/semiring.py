"""Semirings on one schedule: the reference evaluation, one goal at a time.

    value(G) = ⊕ over steps G → G' of  weight(step) ⊗ value(G')      value(True) = 1

A semiring says what ⊕ and ⊗ are and how to close a cycle. Probabilities in log space, best
derivations, provability and exact fractions all run through `evaluate`; the batched tensor engine
is tested against it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from typing import Generic, TypeVar

import numpy as np

from deepprooflog.errors import ProgramError
from deepprooflog.graph.goalgraph import GoalGraph
from deepprooflog.graph.schedule import Schedule
from deepprooflog.infer.cycles.component import CycleSteps, close_cycle
from deepprooflog.infer.cycles.elimination import NoLimit
from deepprooflog.infer.cycles.ordering import order_states
from deepprooflog.infer.cycles.scalar import eliminate
from deepprooflog.infer.cycles.wide import to_log

W = TypeVar("W")

Inner = list[tuple[int, int, W]]
"""Edges inside a cyclic component: (position of source, position of target, weight)."""


class Semiring(ABC, Generic[W]):
    """⊕, ⊗, 0, 1 and the closure of a cycle."""

    zero: W
    one: W

    @abstractmethod
    def total(self, items: Sequence[W]) -> W:
        """⊕ over items."""

    @abstractmethod
    def times(self, a: W, b: W) -> W:
        """a ⊗ b."""

    @abstractmethod
    def close(self, inner: Inner[W], outer: Sequence[W]) -> Sequence[W] | None:
        """The least solution of x = A x ⊕ b on a cyclic component; None when there is none."""


class LogSemiring(Semiring[float]):
    """Sums of probabilities, in log space."""

    zero = -math.inf
    one = 0.0

    def total(self, items: Sequence[float]) -> float:
        top = max(items, default=-math.inf)
        if top == -math.inf:
            return top
        return top + math.log(math.fsum(math.exp(x - top) for x in items))

    def times(self, a: float, b: float) -> float:
        return a + b

    def close(self, inner: Inner[float], outer: Sequence[float]) -> Sequence[float] | None:
        # What is lost apart from the weights is not known here: `values.log_evaluate` is told.
        n = len(outer)
        edges = sorted(inner)
        source = np.asarray([i for i, _, _ in edges], dtype=np.int64)
        target = np.asarray([j for _, j, _ in edges], dtype=np.int64)
        weights = np.asarray([[w] for _, _, w in edges])
        lost = np.asarray(1.0 - np.bincount(source, np.exp(weights[:, 0]), n), dtype=np.float64)
        empty = np.zeros(0, dtype=np.int64)
        steps = CycleSteps(order_states(n, source, target), source, target, empty)
        right = np.asarray(outer, dtype=np.float64)[:, None]
        try:
            closed = close_cycle(steps, weights, np.zeros((0, 1)), right, lost)
        except NoLimit:
            return None
        values: list[float] = to_log(closed.x)[:, 0].tolist()
        return values


class FractionSemiring(Semiring[Fraction]):
    """Sums of probabilities, exact."""

    zero = Fraction(0)
    one = Fraction(1)

    def total(self, items: Sequence[Fraction]) -> Fraction:
        return sum(items, Fraction(0))

    def times(self, a: Fraction, b: Fraction) -> Fraction:
        return a * b

    def close(self, inner: Inner[Fraction], outer: Sequence[Fraction]) -> Sequence[Fraction] | None:
        steps = _productive(inner, outer, self.zero)
        escapes = [self.one] * len(outer)
        for i, _, w in steps:
            escapes[i] -= w
        found = eliminate(steps, escapes, list(outer))
        return None if found is None else found[0]


class BooleanSemiring(Semiring[bool]):
    """Provability."""

    zero = False
    one = True

    def total(self, items: Sequence[bool]) -> bool:
        return any(items)

    def times(self, a: bool, b: bool) -> bool:
        return a and b

    def close(self, inner: Inner[bool], outer: Sequence[bool]) -> Sequence[bool] | None:
        into: list[list[int]] = [[] for _ in outer]
        for i, j, w in inner:
            if w:
                into[j].append(i)
        found = list(outer)
        todo = [i for i, b in enumerate(found) if b]
        while todo:
            for i in into[todo.pop()]:
                if not found[i]:
                    found[i] = True
                    todo.append(i)
        return found


class MaxSemiring(Semiring[tuple[float, int]]):
    """The best derivation: its log weight, and among equals the one with the fewest steps.

    A value is (log weight, −steps), so that following best edges always comes to an end, also
    around a cycle of weight 1. A weight above 1 on a cycle has no best derivation.
    """

    zero = (-math.inf, 0)
    one = (0.0, 0)

    def total(self, items: Sequence[tuple[float, int]]) -> tuple[float, int]:
        return max(items, default=self.zero)

    def times(self, a: tuple[float, int], b: tuple[float, int]) -> tuple[float, int]:
        return (a[0] + b[0], a[1] + b[1])

    def close(
        self, inner: Inner[tuple[float, int]], outer: Sequence[tuple[float, int]]
    ) -> Sequence[tuple[float, int]] | None:
        into: list[list[tuple[int, tuple[float, int]]]] = [[] for _ in outer]
        for i, j, w in inner:
            if w[0] > 0:
                return None
            into[j].append((i, w))
        best = list(outer)
        heap = sorted((-b[0], -b[1], i) for i, b in enumerate(best))
        done = [False] * len(best)
        while heap:
            cost, steps, j = heappop(heap)
            if done[j] or cost == math.inf:
                continue
            done[j] = True
            for i, w in into[j]:
                better = (w[0] - cost, w[1] - steps)
                if better > best[i]:
                    best[i] = better
                    heappush(heap, (-better[0], -better[1], i))
        return best


def _productive(inner: Inner[W], outer: Sequence[W], zero: W) -> Inner[W]:
    """The edges into goals that reach True by steps of nonzero weight.

    The other goals have value 0, but a cycle of theirs would make the matrix singular.
    """
    edges = [edge for edge in inner if edge[2] != zero]
    into: list[list[int]] = [[] for _ in outer]
    for i, j, _ in edges:
        into[j].append(i)
    todo = [i for i, b in enumerate(outer) if b != zero]
    found = set(todo)
    while todo:
        fresh = [i for i in into[todo.pop()] if i not in found]
        found.update(fresh)
        todo.extend(fresh)
    return [edge for edge in edges if edge[1] in found]


def evaluate(
    plan: Schedule,
    weights: Sequence[W],
    semiring: Semiring[W],
    given: Mapping[int, W] | None = None,
) -> list[W]:
    """The value of every goal: `weights` by edge, `given` the values of the plan's targets."""
    graph = plan.graph
    first, target = graph.first.tolist(), graph.target.tolist()
    live = plan.live.tolist()
    values: list[W] = [semiring.zero] * graph.nodes
    for n in plan.targets.tolist():
        values[n] = semiring.one if given is None else given[n]
    times, total = semiring.times, semiring.total
    for nodes, cyclic in zip(plan.components, plan.cyclic, strict=True):
        if not cyclic:
            n = nodes[0]
            values[n] = total(
                [
                    times(weights[e], values[target[e]])
                    for e in range(first[n], first[n + 1])
                    if live[target[e]]
                ]
            )
            continue
        position = {n: i for i, n in enumerate(nodes)}
        inner: Inner[W] = []
        outer: list[W] = []
        for i, n in enumerate(nodes):
            leaving: list[W] = []
            for e in range(first[n], first[n + 1]):
                t = target[e]
                if t in position:
                    inner.append((i, position[t], weights[e]))
                elif live[t]:
                    leaving.append(times(weights[e], values[t]))
            outer.append(total(leaving))
        solved = semiring.close(inner, outer)
        if solved is None:
            raise divergent(plan, nodes)
        for n, v in zip(nodes, solved, strict=True):
            values[n] = v
    return values


def divergent(plan: Schedule, nodes: Sequence[int]) -> ProgramError:
    """A cycle whose weights reach 1 on average: the sum over its derivations has no limit."""
    from deepprooflog.graph.goalgraph import goal_text

    graph = plan.graph
    if not isinstance(graph, GoalGraph):
        return ProgramError("the derivations of a query go round a cycle without losing weight")
    inside = set(nodes)
    clauses = {
        str(c.place.line)
        for n in nodes
        for e in range(int(graph.first[n]), int(graph.first[n + 1]))
        if int(graph.target[e]) in inside
        and (c := graph.choices[e].clause) is not None
        and c.place is not None
    }
    lines = f" (clauses at lines {', '.join(sorted(clauses, key=int))})" if clauses else ""
    return ProgramError(
        f"the derivations of {goal_text(graph.goals[nodes[0]])} go round a cycle without losing "
        f"weight, so their sum has no limit{lines}",
        hint="label the clauses on the cycle, so that each turn has a probability below 1",
    )
