"""Hiding facts of the entities asked about: which ones, and what it does to proofs and learning."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from deepprooflog.errors import DataError
from deepprooflog.kg.data.domains import Candidates
from deepprooflog.kg.data.folder import read_graph
from deepprooflog.kg.data.rules import Rules, parse_rules
from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.learn.exact_learner import train_exact
from deepprooflog.kg.learn.exact_options import ExactOptions
from deepprooflog.kg.prove.hiding import Hiding, hiding_of
from deepprooflog.kg.prove.program import database_of, program_of
from deepprooflog.kg.prove.prover import ExploreLimits, Prover
from deepprooflog.kg.training import train_graph
from deepprooflog.score.embedding.embedding import Embedding

ROADS = parse_rules(
    "region(X, R) :- part(X, S), lies(S, R). region(X, R) :- near(X, Y), region(Y, R)."
)


def prover_of(graph: Graph, rules: Rules, nesting: int = 2) -> Prover:
    policy = Embedding(program_of(graph, rules), 8, "mlp", "mean", seed=0, constants="shared")
    return Prover(
        database_of(graph, rules, nesting=nesting), policy, limits=ExploreLimits(depth=30)
    )


def test_what_is_hidden_by_sets() -> None:
    """The village's facts, hidden by comprehension over triples of names."""
    graph = read_graph("village")
    rng = np.random.default_rng(1)
    queries = graph.train[rng.choice(len(graph.train), 9, replace=False)]
    facts = [tuple(row) for row in graph.train.tolist()]
    father, mother = (graph.relation_ids[name] for name in ("father", "mother"))
    heads = {int(row[0]) for row in queries}
    children = {t for h, r, t in facts if r == father and h in heads}
    expected = [
        (h, r, t) for h, r, t in facts
        if not (r == mother and h in heads) and not (r == mother and h in children)
        and not (r == father and h in children)
    ]  # fmt: skip
    hiding = hiding_of(graph, Rules(()), ["mother", "father/mother", "father/father"])
    assert [tuple(row) for row in hiding.kept(queries).tolist()] == expected
    assert 0 < len(expected) < len(facts)


def world() -> Graph:
    """Rows of three neighbours a, b, c in each of four regions; of d at the end nothing is said."""
    facts: list[tuple[str, str, str]] = []
    for n in range(4):
        names = [f"{letter}{n}" for letter in "abcd"]
        for one, two in pairwise(names):
            facts += [(one, "near", two), (two, "near", one)]
        for name in names[:3]:
            facts += [(name, "part", f"s{n}"), (name, "region", f"r{n}")]
        facts.append((f"s{n}", "lies", f"r{n}"))
    # Every d also borders the next region's first country.
    facts += [(f"d{n}", "near", f"a{(n + 1) % 4}") for n in range(4)]
    return graph_of(facts, [(f"d{n}", "region", f"r{n}") for n in range(4)])


def test_proofs_without_the_hidden_facts() -> None:
    """p_success is that of a program which never had them."""
    graph = world()
    hiding = hiding_of(graph, ROADS, ["region", "part", "near/region"])
    queries = graph.train[graph.train[:, 1] == graph.relation_ids["region"]][:3]
    prover = prover_of(graph, ROADS)
    fewer = [
        (h, r, t) for h, r, t in map(tuple, graph.train.tolist())
        if not (r in (graph.relation_ids["region"], graph.relation_ids["part"])
                and h in set(queries[:, 0].tolist()))
    ]  # fmt: skip
    near, region = graph.relation_ids["near"], graph.relation_ids["region"]
    beside = {t for h, r, t in fewer if r == near and h in set(queries[:, 0].tolist())}
    fewer = [row for row in fewer if not (row[1] == region and row[0] in beside)]
    small = Graph(
        "fewer", graph.entities, graph.relations, np.array(fewer), graph.valid, graph.test
    )
    expected = Prover(
        database_of(small, ROADS, nesting=2), prover.policy, limits=ExploreLimits(depth=30)
    )(torch.from_numpy(queries)).success
    found = hiding.prover(prover, queries)(torch.from_numpy(queries)).success
    assert torch.allclose(found, expected, atol=1e-12)
    assert not torch.allclose(found, prover(torch.from_numpy(queries)).success)


def test_a_policy_learns_the_road_that_is_left() -> None:
    """Where subregions are hidden of those asked about, neighbours are asked; else they are not.

    One neighbour of three countries is in another region, so that asking it costs probability.
    """
    graph = world()
    positives = graph.train[graph.train[:, 1] == graph.relation_ids["region"]]
    regions = np.array([i for i in range(len(graph.entities)) if graph.entity_text(i)[0] == "r"])
    options = ExactOptions(
        steps=20, batch=4, negatives=3, lr=0.02, ranking=0.0, calibration=1.0, seed=1
    )
    success = []
    for hiding in (None, hiding_of(graph, ROADS, ["region", "part"])):
        prover = prover_of(graph, ROADS)
        train_exact(
            prover, graph, positives, options, candidates=Candidates(("tail",), regions),
            prover_for=None if hiding is None else hiding.prover,
        )  # fmt: skip
        success.append(prover(torch.from_numpy(graph.valid)).success.mean().item())
    # d borders c of its own region and a of another: half is what can be had.
    assert success[0] < 0.1
    assert success[1] > 0.3


def test_an_unknown_relation() -> None:
    with pytest.raises(DataError, match="no relation prat to hide by in near/prat") as found:
        hiding_of(world(), ROADS, ["near/prat"])
    assert found.value.hint == "did you mean part?"
    with pytest.raises(DataError, match="no relation ''"):
        hiding_of(world(), ROADS, ["near/"])
    assert isinstance(hiding_of(world(), ROADS, []), Hiding)


def test_test_triples_are_ranked_without_what_is_hidden() -> None:
    """x is in the north as its neighbour y is told to be; y's part lies in the south."""
    told = [
        ("x", "near", "y"),
        ("y", "region", "north"),
        ("y", "part", "s"),
        ("s", "lies", "south"),
    ]
    more = [("a", "near", "b"), ("b", "part", "s"), ("a", "region", "south")]
    graph = replace(
        graph_of(told + more, valid=[("b", "region", "south")], test=[("x", "region", "north")]),
        name="roads",
    )
    given: dict[str, Any] = {
        "learner": "exact", "hide": "region near/region", "exact": {"steps": 0}, "threads": 1,
        "search": {"nesting": 2},
    }  # fmt: skip
    as_told = train_graph(graph, ROADS, "none", **given)
    hidden = train_graph(graph, ROADS, "none", hide_in_test=True, **given)
    without = as_told.with_facts(removed=["region(y, north)"])
    told_it, ranked, expected = (
        one.evaluate().by_side["tail"].mrr for one in (as_told, hidden, without)
    )
    assert told_it > ranked
    assert ranked == pytest.approx(expected)
    with pytest.raises(DataError, match="nothing to hide"):
        train_graph(graph, ROADS, "none", hide_in_test=True, threads=1)
