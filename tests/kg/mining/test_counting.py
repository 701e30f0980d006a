"""The parts of the miner, each against loops over a small graph."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.mining import identity as of_identity
from deepprooflog.kg.mining.acyclic import example_of
from deepprooflog.kg.mining.adjacency import DirectedGraph, directed_graph
from deepprooflog.kg.mining.closed import PathCounter, Thresholds
from deepprooflog.kg.mining.connections import codes_of_three, supports_of_one, supports_of_two
from deepprooflog.kg.mining.found import CLOSED, FREE, FoundRule
from deepprooflog.kg.mining.identity import pairs_without
from deepprooflog.kg.mining.reach import stripes, walked
from deepprooflog.kg.mining.search import path_of
from kg.mining.brute_force import Facts, counts, predictions, walks
from kg.mining.random_graphs import Triples, triples


def facts_of(graph: Graph, identity: bool) -> Facts:
    return {(h, r, t) for h, r, t in graph.train.tolist() if not identity or h != t}


def closed(relation: int, path: tuple[int, ...]) -> FoundRule:
    return FoundRule(relation, path, FREE, FREE, CLOSED, 0, 0, 0)


@given(triples(), st.booleans())
@settings(max_examples=12)
def test_supports_of_short_paths(rows: Triples, identity: bool) -> None:
    graph = graph_of(rows)
    edges = directed_graph(graph, identity)
    for relation in range(edges.relations):
        for length, found in (
            (1, supports_of_one(edges, relation)),
            (2, supports_of_two(edges, relation, identity)),
        ):
            expected = {}
            for path in product(range(edges.directed), repeat=length):
                support = counts(graph, closed(relation, path), identity)[0]
                if support:
                    expected[path] = support
            paths = [path_of(code, length, edges.directed) for code in found.codes.tolist()]
            assert dict(zip(paths, found.counts.tolist(), strict=True)) == expected


@given(triples(), st.booleans())
@settings(max_examples=12)
def test_paths_of_three_between_two_entities(rows: Triples, identity: bool) -> None:
    graph = graph_of(rows)
    edges, facts = directed_graph(graph, identity), facts_of(graph, identity)
    draw = np.random.default_rng(0)
    x, y = (graph.entity_ids[graph.entities[n]] for n in (0, -1))
    codes = codes_of_three(edges, x, y, identity, draw)
    expected = set()
    for path in product(range(edges.directed), repeat=3):
        for stops in walks(graph, facts, path):
            different = len(set(stops)) == 4 and x != y
            if (stops[0], stops[-1]) == (x, y) and (different or not identity):
                expected.add(path)
    if not identity or x != y:
        assert {path_of(code, 3, edges.directed) for code in codes.tolist()} == expected


@given(triples(entities=4, most=14), st.sampled_from((1, 16)), st.integers(0, 3))
@settings(max_examples=24)
def test_pairs_that_are_connected_only_by_meeting_an_entity_twice(
    rows: Triples, tried: int, own: int
) -> None:
    """By a few walks, or by all where these are not enough; of every x, or of one."""
    graph = graph_of(rows)
    edges, facts = directed_graph(graph, True), facts_of(graph, True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(of_identity, "FEW_WALKS", tried)
        only_by_meeting(graph, edges, facts, own % len(graph.entities))


def only_by_meeting(graph: Graph, edges: DirectedGraph, facts: Facts, own: int) -> None:
    one = np.arange(edges.entities) == own
    for path in product(range(edges.directed), repeat=3):
        good = predictions(graph, facts, closed(0, path), True)
        x, y = pairs_without(edges, *path)
        dropped = set(zip(x.tolist(), y.tolist(), strict=True))
        of_one = zip(*(p.tolist() for p in pairs_without(edges, *path, of=one)), strict=True)
        assert set(of_one) == {(source, target) for source, target in dropped if source == own}
        adjacencies = [edges.by_relation[d] for d in path]
        reached = {
            (int(source), int(target))
            for low, high in stripes(adjacencies[0])
            for reach in [walked(adjacencies, low, high, True)]
            for row, column in np.argwhere(reach.reached(reach.sources))
            for source, target in [(reach.sources[column], reach.targets[row])]
        }
        assert reached - dropped == good


@given(triples())
@settings(max_examples=12)
def test_the_least_predictions_are_no_more_than_the_predictions(rows: Triples) -> None:
    graph = graph_of(rows)
    for identity, length in product((True, False), (1, 2, 3)):
        edges = directed_graph(graph, identity)
        counter = PathCounter(edges, identity, Thresholds(1, 0.0))
        for path in product(range(edges.directed), repeat=length):
            known = counts(graph, closed(0, path), identity)[1]
            assert counter.least_predictions(path) <= known


def test_a_domain_of_several_stripes() -> None:
    """5,000 sources are counted as one would be."""
    rows = [(f"a{n}", "p", f"b{n % 7}") for n in range(5000)]
    rows += [(f"b{n}", "q", "c") for n in range(7)] + [(f"a{n}", "r", "c") for n in range(4000)]
    graph = graph_of(rows)
    edges = directed_graph(graph, True)
    counter = PathCounter(edges, True, Thresholds(1, 0.0, constants=False))
    (rule,) = counter.rules((0, 1), [2])
    assert (rule.support, rule.predictions, rule.pca_predictions) == (4000, 5000, 4000)
    assert counter.least_predictions((0, 1)) <= 5000


def test_examples_of_acyclic_rules() -> None:
    rows = [("a", "p", "c"), ("b", "p", "c"), ("b", "q", "d"), ("c", "q", "b"), ("a", "q", "c")]
    edges = directed_graph(graph_of(rows), True)
    names = {name: number for number, name in enumerate("acbd")}
    a, b, c, d = (names[name] for name in "abcd")
    assert example_of(edges, FoundRule(0, (1,), FREE, c, d, 1, 1, 1)) == (b, c)
    # a has q(a, c) alone, and Z is not c.
    assert example_of(edges, FoundRule(0, (1,), FREE, c, FREE, 1, 1, 1)) == (b, c)
    assert example_of(edges, FoundRule(1, (2,), a, FREE, FREE, 1, 1, 1)) == (a, c)
