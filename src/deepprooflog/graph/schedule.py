"""The order in which to solve a goal graph: V = P V + t, component by component.

Goals that cannot reach True have value 0 and are left out. The rest falls into strongly connected
components; `components` lists them so that every edge leads into the same or an earlier component.
Nearly all have one goal without a loop and are solved by one sum; the others are *cyclic* and need
a linear solve (or, in other semirings, a closure). `levels` groups components that do not depend
on each other, for engines that do many at once. Every semiring runs on this one schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deepprooflog.graph.goalgraph import GoalGraph, Ints
from deepprooflog.logic.limits.gc_pause import gc_paused


def strong_components(
    successors: Sequence[Sequence[int]], wanted: Sequence[bool] | None = None
) -> list[list[int]]:
    """The components of a graph given by successor lists, successors first.

    >>> strong_components([[1], [2], [1], [0]])
    [[2, 1], [0], [3]]
    """
    n = len(successors)
    unseen = n + 1
    index = [unseen] * n
    low = [0] * n
    done = [False] * n
    components: list[list[int]] = []
    stack: list[int] = []
    count = 0
    for root in range(n):
        if index[root] != unseen or (wanted is not None and not wanted[root]):
            continue
        index[root] = low[root] = count
        count += 1
        stack.append(root)
        work = [(root, iter(successors[root]))]
        while work:
            node, rest = work[-1]
            for other in rest:
                if wanted is not None and not wanted[other]:
                    continue
                if index[other] == unseen:
                    index[other] = low[other] = count
                    count += 1
                    stack.append(other)
                    work.append((other, iter(successors[other])))
                    break
                if not done[other] and index[other] < low[node]:
                    low[node] = index[other]
            else:
                work.pop()
                if work and low[node] < low[work[-1][0]]:
                    low[work[-1][0]] = low[node]
                if low[node] == index[node]:
                    members = []
                    while True:
                        member = stack.pop()
                        done[member] = True
                        members.append(member)
                        if member == node:
                            break
                    components.append(members)
    return components


@dataclass(frozen=True)
class Arrows:
    """Nodes 0 … nodes−1; the edges of node n are first[n] … first[n + 1] − 1."""

    nodes: int
    source: Ints  # [E] ascending
    target: Ints  # [E]
    first: Ints  # [N + 1]


def arrows(nodes: int, source: Ints, target: Ints) -> Arrows:
    """A graph from edges that are sorted by source.

    >>> arrows(2, np.array([0, 0]), np.array([1, 1])).first.tolist()
    [0, 2, 2]
    """
    first = np.zeros(nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(source, minlength=nodes), out=first[1:])
    return Arrows(nodes, source, target, first)


@dataclass(frozen=True)
class Schedule:
    """Components of the goals that can reach a target, in an order in which they can be solved."""

    graph: GoalGraph | Arrows
    live: np.ndarray  # [N] bool: can reach a target
    targets: Ints  # the nodes whose value is given (True, or open ones when bounding)
    components: list[list[int]]  # successors first
    cyclic: list[bool]  # by component
    component_of: Ints  # [N]; −1 for dead nodes and targets

    @cached_property
    def levels(self) -> Ints:
        """[components] the level of each: 0 depends on targets only, k on levels below k."""
        level = np.zeros(len(self.components), dtype=np.int64)
        first, target = self.graph.first.tolist(), self.graph.target.tolist()
        of = self.component_of.tolist()
        for c, nodes in enumerate(self.components):
            best = 0
            for n in nodes:
                for e in range(first[n], first[n + 1]):
                    d = of[target[e]]
                    if d >= 0 and d != c and level[d] >= best:
                        best = int(level[d]) + 1
            level[c] = best
        return level


@gc_paused()
def schedule(graph: GoalGraph | Arrows, targets: Ints | None = None) -> Schedule:
    """Plan the solution of a goal graph; `targets` default to its True nodes."""
    if targets is None:
        assert isinstance(graph, GoalGraph), "a bare graph has no True nodes: give the targets"
        targets = np.asarray(graph.true_nodes(), dtype=np.int64)
    given = targets
    live = _can_reach(graph, given)
    is_target = np.zeros(graph.nodes, dtype=bool)
    is_target[given] = True
    components, component_of = _components(graph, live & ~is_target)
    target, source = graph.target, graph.source
    inside = (component_of[source] >= 0) & (component_of[source] == component_of[target])
    looped = set(component_of[source[inside]].tolist())
    cyclic = [c in looped for c in range(len(components))]
    return Schedule(graph, live, given, components, cyclic, component_of)


def _can_reach(graph: GoalGraph | Arrows, targets: Ints) -> np.ndarray:
    live = np.zeros(graph.nodes, dtype=bool)
    live[targets] = True
    order = np.argsort(graph.target, kind="stable")
    first = np.zeros(graph.nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(graph.target, minlength=graph.nodes), out=first[1:])
    sources, starts = graph.source[order].tolist(), first.tolist()
    stack = targets.tolist()
    alive = live.tolist()
    while stack:
        n = stack.pop()
        for i in range(starts[n], starts[n + 1]):
            s = sources[i]
            if not alive[s]:
                alive[s] = True
                stack.append(s)
    return np.asarray(alive, dtype=bool)


def _components(graph: GoalGraph | Arrows, wanted: np.ndarray) -> tuple[list[list[int]], Ints]:
    first, target = graph.first.tolist(), graph.target.tolist()
    successors = [target[first[n] : first[n + 1]] for n in range(graph.nodes)]
    components = strong_components(successors, wanted.tolist())
    component_of = np.full(graph.nodes, -1, dtype=np.int64)
    for c, members in enumerate(components):
        component_of[members] = c
    return components, component_of
