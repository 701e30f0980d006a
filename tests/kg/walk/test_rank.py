"""Ranking by open queries against the one-by-one ranking of the same scores."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from deepprooflog.errors import DataError
from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.evaluation.ranking import rank
from deepprooflog.kg.walk.model import WalkModel, walk_graph
from deepprooflog.kg.walk.options import WalkOptions
from deepprooflog.kg.walk.rank import rank_open
from kg.walk.small import RELATIONS, facts_of, model_of


def graph(seed: int = 0, entities: int = 9, facts: int = 30) -> Graph:
    """A random graph, its triples split in three; unreached entities tie."""
    rng = np.random.default_rng(seed)
    rows = np.unique(rng.integers(0, [entities, 2, entities], size=(facts, 3)), axis=0)
    rng.shuffle(rows)
    triples = [(f"e{h}", RELATIONS[r], f"e{t}") for h, r, t in rows.tolist()]
    return graph_of(triples[:12], triples[12:16], triples[16:])


@pytest.mark.parametrize("seed", range(3))
def test_the_ranks_of_one_by_one_scoring(seed: int) -> None:
    """One sweep a query gives the ranks that scoring every candidate by itself gives."""
    own = graph(seed)
    model = model_of(WalkOptions(hops=2, states=2, seed=seed))
    model.relations = own.relations
    facts = walk_graph(own, own.relations, dtype=torch.float64)
    found = rank_open(model, facts, own, batch=3)

    def tails(rows: Tensor) -> Tensor:
        scores: Tensor = model(facts, rows[:, 0], rows[:, 1])
        return scores.gather(1, rows[:, 2:])[:, 0]

    def heads(rows: Tensor) -> Tensor:
        scores: Tensor = model(facts, rows[:, 2], rows[:, 1] + 2)
        return scores.gather(1, rows[:, :1])[:, 0]

    half = len(own.test)
    for part, side, score in ((slice(0, half), "tail", tails), (slice(half, None), "head", heads)):
        one_by_one = rank(own, score, protocol="full", sides=[side], batch=7).ranked  # type: ignore[list-item]
        assert found.better[part].tolist() == one_by_one.better.tolist()
        assert found.equal[part].tolist() == one_by_one.equal.tolist()


def test_another_graph_by_names() -> None:
    """Relations are matched by name, not by number, and entities need not be known."""
    first = graph_of([("a", "p", "b"), ("b", "q", "c")])
    second = graph_of([("x", "q", "y"), ("y", "p", "z")], test=[("x", "p", "z")])
    model = model_of(WalkOptions(hops=2, states=2))
    there = walk_graph(second, first.relations, dtype=torch.float64)
    same = graph_of([("y", "p", "z"), ("x", "q", "y")])
    expected = model(facts_of(same), torch.tensor([2]), torch.tensor([0]))[0]  # x is its third
    found = model(there, torch.tensor([0]), torch.tensor([0]))[0]
    torch.testing.assert_close(found, expected[[2, 0, 1]])
    assert rank_open(model, there, second).means()["mrr"] > 0


def test_graphs_that_share_no_relation() -> None:
    other = graph_of([("a", "pp", "b")], test=[("a", "pp", "b")])
    with pytest.raises(DataError, match="none of the relations") as error:
        walk_graph(other, RELATIONS)
    assert "did you mean p" in str(error.value)


def test_a_query_of_an_unknown_relation() -> None:
    other = graph_of([("a", "p", "b"), ("a", "new", "b")], test=[("a", "new", "b")])
    model = WalkModel(RELATIONS, WalkOptions(hops=1, states=1))
    facts = walk_graph(other, RELATIONS)
    assert facts.edges.count == 2  # the fact of the unknown relation is no step
    with pytest.raises(DataError, match="know no relation new, which 1 triples"):
        rank_open(model, facts, other)
