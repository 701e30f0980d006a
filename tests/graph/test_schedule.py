"""Schedules: components in an order that can be solved, cycles found, dead goals dropped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprooflog.graph.goalgraph import GoalGraph
from deepprooflog.graph.schedule import schedule, strong_components
from graph.exploring import graph_of
from logic.stepping import goal_text


def named(graph: GoalGraph, nodes: list[int]) -> set[str]:
    return {goal_text(graph.goals[n]) for n in nodes}


CYCLE = "a :- b. a. b :- a. b :- dead. dead :- dead. c :- a. c :- d. d. self :- self. self :- c."


def test_components_and_cycles() -> None:
    graph = graph_of(CYCLE, "self")
    plan = schedule(graph)
    found = [
        (named(graph, c), cyclic) for c, cyclic in zip(plan.components, plan.cyclic, strict=True)
    ]
    assert ({"a", "b"}, True) in found
    assert ({"self"}, True) in found
    assert ({"c"}, False) in found
    assert ({"d"}, False) in found
    assert len(found) == 4


def test_goals_that_cannot_reach_true_are_left_out() -> None:
    graph = graph_of(CYCLE, "self")
    plan = schedule(graph)
    dead = [n for n in range(graph.nodes) if not plan.live[n]]
    assert named(graph, dead) == {"dead"}
    assert all(plan.component_of[n] == -1 for n in dead)


def test_every_edge_leads_into_the_same_or_an_earlier_component() -> None:
    graph = graph_of(CYCLE, "self")
    plan = schedule(graph)
    for s, t in zip(graph.source.tolist(), graph.target.tolist(), strict=True):
        if plan.component_of[s] >= 0 and plan.component_of[t] >= 0:
            assert plan.component_of[t] <= plan.component_of[s]


def test_levels() -> None:
    graph = graph_of(CYCLE, "self")
    plan = schedule(graph)
    level = {
        name: int(plan.levels[c])
        for c, nodes in enumerate(plan.components)
        for name in named(graph, nodes)
    }
    assert level == {"a": 0, "b": 0, "d": 0, "c": 1, "self": 2}


def test_targets_can_be_given() -> None:
    """Bounding takes open goals for targets: what leads there is live."""
    graph = graph_of("a :- b. b :- c. c :- d. d.", "a", max_depth=2)
    assert not schedule(graph).live.any()
    plan = schedule(graph, graph.open)
    assert plan.live.all()
    assert len(plan.components) == 2


# -- strongly connected components -----------------------------------------------------------------


def reachable(successors: list[list[int]]) -> list[set[int]]:
    """By Warshall's closure, for comparison."""
    n = len(successors)
    matrix = [[i == j or j in successors[i] for j in range(n)] for i in range(n)]
    for k in range(n):
        for i in range(n):
            if matrix[i][k]:
                matrix[i] = [a or b for a, b in zip(matrix[i], matrix[k], strict=True)]
    return [{j for j in range(n) if matrix[i][j]} for i in range(n)]


graphs = st.integers(1, 9).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=3), min_size=n, max_size=n)
)


@given(graphs)
def test_components_are_the_classes_of_mutual_reachability(successors: list[list[int]]) -> None:
    found = strong_components(successors)
    reach = reachable(successors)
    expected = {frozenset(j for j in reach[i] if i in reach[j]) for i in range(len(successors))}
    assert {frozenset(c) for c in found} == expected
    assert sum(map(len, found)) == len(successors)
    place = {n: i for i, c in enumerate(found) for n in c}
    assert all(place[t] <= place[s] for s, out in enumerate(successors) for t in out)


@given(graphs, st.lists(st.booleans(), min_size=9, max_size=9))
def test_unwanted_nodes_are_ignored(successors: list[list[int]], flags: list[bool]) -> None:
    wanted = flags[: len(successors)]
    kept = [
        [t for t in out if wanted[t]] if w else []
        for out, w in zip(successors, wanted, strict=True)
    ]
    expected = {frozenset(c) for c in strong_components(kept) if wanted[c[0]]}
    assert {frozenset(c) for c in strong_components(successors, wanted)} == expected


@pytest.mark.parametrize("size", [100_000])
def test_long_chains_and_cycles(size: int) -> None:
    chain = [[i + 1] for i in range(size - 1)] + [[]]
    assert strong_components(chain) == [[i] for i in reversed(range(size))]
    ring = [[(i + 1) % size] for i in range(size)]
    (component,) = strong_components(ring)
    assert sorted(component) == list(range(size))
