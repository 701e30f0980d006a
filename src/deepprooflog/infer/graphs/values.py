"""log V of every goal of a graph, and how far rounding may have carried each.

    log V(G) = log Σ over steps G → G' of exp(w(step) + log V(G'))

A goal outside cycles adds a few units in the last place to the largest error among its successors;
a cycle what its elimination counts. `log_reach` runs the other way: from the query to where
derivations get, with what weight.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepprooflog.graph.schedule import Schedule
from deepprooflog.infer.cycles.component import (
    Closed,
    CycleSteps,
    close_cycle,
    given_error,
    rounding_error,
)
from deepprooflog.infer.cycles.elimination import UNIT, NoLimit, solve_transposed
from deepprooflog.infer.cycles.ordering import Ints, order_states
from deepprooflog.infer.cycles.scalar import OutOfRange, eliminate
from deepprooflog.infer.cycles.wide import Floats, from_log, segment_sum, to_log
from deepprooflog.infer.graphs.semiring import LogSemiring, divergent
from deepprooflog.score.fixed import DISTRIBUTION, Slack, unknown_slack

# Cycles of up to so many goals are solved one state at a time.
FEW = 64
# Logarithms this far from 0 are left to numbers of a wide range.
RANGE = 600.0

_log = LogSemiring()


@dataclass(frozen=True)
class Values:
    """log V by goal, and bounds on what rounding changed of it."""

    log: list[float]
    error: list[float]


@dataclass(frozen=True)
class Component:
    """A cyclic component of a schedule: its steps, and the graph's edges behind them."""

    steps: CycleSteps
    inner: Ints  # edges inside
    outer: Ints  # edges that leave, those into failure included
    alive: NDArray[np.bool_]  # of those, which lead to a goal that can succeed


def component(plan: Schedule, number: int) -> Component:
    """One cyclic component of a schedule, ready to be solved under any weights."""
    graph = plan.graph
    members = np.asarray(plan.components[number], dtype=np.int64)
    begin = graph.first[members]
    counts = graph.first[members + 1] - begin
    segment = np.repeat(np.arange(len(members)), counts)
    offset = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    edges = np.repeat(begin, counts) + offset
    target = graph.target[edges]
    inside = plan.component_of[target] == number
    order = np.argsort(members, kind="stable")
    position = order[np.searchsorted(members[order], target[inside])]
    source = segment[inside]
    steps = CycleSteps(
        order_states(len(members), source, position), source, position, segment[~inside]
    )
    return Component(steps, edges[inside], edges[~inside], plan.live[target[~inside]])


def log_evaluate(
    plan: Schedule,
    weights: Sequence[float],
    given: Mapping[int, float] | None = None,
    slack: Slack = unknown_slack,
) -> Values:
    """The log value of every goal; `given` are those of the plan's targets (0 when left out)."""
    return _evaluate(plan, weights, given, slack, None)


def _evaluate(
    plan: Schedule,
    weights: Sequence[float],
    given: Mapping[int, float] | None,
    slack: Slack,
    kept: dict[int, tuple[Component, Closed]] | None,
) -> Values:
    """As `log_evaluate`; the cycles, solved, are kept in `kept`."""
    graph = plan.graph
    first, target = graph.first.tolist(), graph.target.tolist()
    live = plan.live.tolist()
    values = [-math.inf] * graph.nodes
    error = [0.0] * graph.nodes
    for n in plan.targets.tolist():
        values[n] = 0.0 if given is None else given[n]
    every: Floats | None = None
    for number, nodes in enumerate(plan.components):
        if plan.cyclic[number]:
            small = None
            if kept is None and len(nodes) <= FEW:
                small = _solve_small(plan, number, weights, values, error, slack)
            if small is not None:
                for n, v in zip(nodes, small[0], strict=True):
                    values[n] = v
                    error[n] = small[1]
                continue
            if every is None:
                every = np.asarray(weights, dtype=np.float64)
            part = component(plan, number)
            closed, bound = _solve_cycle(plan, number, part, every, values, error, slack)
            if kept is not None:
                kept[number] = part, closed
            log = to_log(closed.x)[:, 0]
            for n, v, off in zip(nodes, log.tolist(), bound.tolist(), strict=True):
                values[n] = v
                error[n] = off
            continue
        n = nodes[0]
        begin, end = first[n], first[n + 1]
        if end - begin == 1:
            t = target[begin]
            w = weights[begin]
            value = values[t] + w
            values[n] = value
            if value > -math.inf:
                error[n] = error[t] if w == 0.0 else error[t] + UNIT * (2 + abs(w) + abs(value))
            continue
        items = []
        off = low = 0.0
        for e in range(begin, end):
            t = target[e]
            if live[t]:
                items.append(weights[e] + values[t])
                if error[t] > off:
                    off = error[t]
                if weights[e] < low:
                    low = weights[e]
        top = max(items)
        if top > -math.inf:
            values[n] = top + math.log(math.fsum([math.exp(x - top) for x in items]))
            # Roundings: the weight as it came, its sum with V, exp, the sum, log.
            error[n] = off + UNIT * (6 + abs(top) + (-low if low > -math.inf else 0.0))
    return Values(values, error)


def _solve_small(
    plan: Schedule,
    number: int,
    weights: Sequence[float],
    values: Sequence[float],
    error: Sequence[float],
    slack: Slack,
) -> tuple[list[float], float] | None:
    """A small cycle one state at a time; None where it takes the wide range or the residual."""
    graph, nodes = plan.graph, plan.components[number]
    position = {n: i for i, n in enumerate(nodes)}
    escapes: list[float] = slack(nodes).tolist()
    right = [0.0] * len(nodes)
    steps: list[tuple[int, int, float]] = []
    inputs = off = top = 0.0
    for i, n in enumerate(nodes):
        begin, end = int(graph.first[n]), int(graph.first[n + 1])
        if escapes[i] == DISTRIBUTION:
            total = math.fsum(map(math.exp, weights[begin:end]))
            if abs(total - 1) > 4 * UNIT * (end - begin + 1):
                return None
            escapes[i] = 0.0
        elif escapes[i] != escapes[i]:
            # Weights of 1 are known as well as labels; one alone leaves nothing.
            if end - begin > 1 or weights[begin] != 0.0:
                return None
            escapes[i] = 0.0
        row = 0.0
        for e in range(begin, end):
            t = int(graph.target[e])
            w = weights[e]
            if w < -RANGE:
                return None
            p = math.exp(w)
            row = max(row, 1 - w if w else 0.0)
            j = position.get(t)
            if j is not None:
                steps.append((i, j, p))
                continue
            escapes[i] += p
            v = values[t]
            if v > -math.inf:
                if v < -RANGE:
                    return None
                right[i] += math.exp(w + v)
                off = max(off, error[t])
                top = max(top, -(w + v))
        if escapes[i] < 0:
            return None
        inputs += 2 * row + end - begin
    if not any(right):
        return None
    try:
        found = eliminate(steps, escapes, right)
    except OutOfRange:
        return None
    if found is None:
        raise divergent(plan, nodes)
    x, roundings = found
    if not all(x):
        return None
    log = [math.log(v) for v in x]
    return log, off + UNIT * (roundings + inputs + top + 6 + max(map(abs, log)))


def _solve_cycle(
    plan: Schedule,
    number: int,
    part: Component,
    weights: Floats,
    values: Sequence[float],
    error: Sequence[float],
    slack: Slack,
) -> tuple[Closed, Floats]:
    members = plan.components[number]
    leaving = part.outer[part.alive]
    ends = plan.graph.target[leaving].tolist()
    items = weights[leaving] + np.asarray([values[t] for t in ends], dtype=np.float64)
    right = _logsumexp(items, part.steps.outer_source[part.alive], len(members))[:, None]
    inner, outer = weights[part.inner][:, None], weights[part.outer][:, None]
    try:
        closed = close_cycle(part.steps, inner, outer, right, slack(members))
    except NoLimit:
        raise divergent(plan, members) from None
    before = max((error[t] for t in ends), default=0.0)
    sums = UNIT * (6 + float(np.max(np.abs(items), where=items > -np.inf, initial=0.0)))
    given = given_error(part.steps.inner_source, inner[:, 0], len(members))
    given += given_error(part.steps.outer_source, outer[:, 0], len(members))
    return closed, rounding_error(part.steps, closed, given) + before + sums


def log_reach(
    plan: Schedule, weights: Sequence[float], root: int, slack: Slack = unknown_slack
) -> tuple[dict[int, float], float]:
    """The log weight of all ways from `root` to each target, and a bound on the rounding error.

    A target that is not reached is left out.
    """
    kept: dict[int, tuple[Component, Closed]] = {}
    values = _evaluate(plan, weights, None, slack, kept)
    if values.log[root] == -math.inf:
        return {}, 0.0
    first, target = plan.graph.first.tolist(), plan.graph.target.tolist()
    every = np.asarray(weights, dtype=np.float64)
    arriving: dict[int, list[float]] = {root: [0.0]}
    for number in range(len(plan.components) - 1, -1, -1):
        nodes = plan.components[number]
        if not plan.cyclic[number]:
            n = nodes[0]
            if n not in arriving:
                continue
            here = _log.total(arriving.pop(n))
            for e in range(first[n], first[n + 1]):
                t = target[e]
                if values.log[t] > -math.inf and weights[e] > -math.inf:
                    arriving.setdefault(t, []).append(here + weights[e])
            continue
        begin = np.asarray([_log.total(arriving.pop(n, [])) for n in nodes])
        if not (begin > -np.inf).any():
            continue
        part, closed = kept[number]
        # Walks that begin where nothing can be reached are none.
        begin[closed.x.m[:, 0] == 0] = -np.inf
        visits = to_log(solve_transposed(closed.factors, from_log(begin[:, None])))[:, 0]
        leaving, source = part.outer[part.alive], part.steps.outer_source[part.alive]
        for t, w in zip(
            plan.graph.target[leaving].tolist(), (visits[source] + every[leaving]).tolist(),
            strict=True,
        ):  # fmt: skip
            if w > -math.inf and values.log[t] > -math.inf:
                arriving.setdefault(t, []).append(w)
    return {n: _log.total(items) for n, items in arriving.items()}, 2 * values.error[root]


def _logsumexp(items: Floats, segment: Ints, segments: int) -> Floats:
    """log Σ exp over the items of each segment, ascending; −inf for an empty one."""
    result = np.full(segments, -np.inf)
    if len(segment):
        start = np.flatnonzero(np.concatenate([[True], segment[1:] != segment[:-1]]))
        result[segment[start]] = to_log(segment_sum(from_log(items), start))
    return result
