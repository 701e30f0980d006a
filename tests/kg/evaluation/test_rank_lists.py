"""Ranking by whole lists is the ranking of each candidate by itself; strata by hand."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
import torch
from jaxtyping import Int64
from torch import Tensor

from deepprooflog.kg.data.triple_set import Side
from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.evaluation import lists
from deepprooflog.kg.evaluation.evaluate import Ranker
from deepprooflog.kg.evaluation.figures import figures, strata
from deepprooflog.kg.evaluation.lists import rank_lists
from deepprooflog.kg.evaluation.ranking import rank


def small() -> Graph:
    """Random triples over nine entities and two relations."""
    draw = np.random.default_rng(3)
    rows = [(f"e{h}", f"r{r}", f"e{t}") for h, r, t in draw.integers((9, 2, 9), size=(40, 3))]
    rows = list(dict.fromkeys(rows))
    return graph_of(rows[:20], valid=rows[20:24], test=rows[24:])


GRAPH = small()
SCORES = torch.randn(9, 2, 9, generator=torch.Generator().manual_seed(1)).round(decimals=0)


def of_triples(triples: Tensor) -> Tensor:
    """A score of each triple, with many ties."""
    h, r, t = triples.unbind(1)
    return SCORES[h, r, t]


def of_lists(rows: Int64[np.ndarray, "n 3"], side: Side) -> Tensor:
    """The same, of whole lists, by two scorers of which one is upside down."""
    h, r, t = torch.from_numpy(rows).unbind(1)
    found = SCORES[h, r] if side == "tail" else SCORES.permute(1, 2, 0)[r, t]
    return torch.stack([-found, found])


@pytest.mark.parametrize("protocol", ["full", "sampled"])
@pytest.mark.parametrize("kept", [0, 10**6])
def test_as_if_each_candidate_were_scored_alone(
    protocol: Literal["full", "sampled"], kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranks, candidates and AUC-PR, whether scores are kept for the second look or not."""
    monkeypatch.setattr(lists, "KEPT", kept)
    ranker = Ranker(GRAPH, protocol=protocol, negatives=3, seed=2)
    _, found = rank_lists(ranker, of_lists, GRAPH.test, 2, batch=5)
    wanted = rank(GRAPH, of_triples, protocol=protocol, negatives=3, seed=2)
    for name in ("query", "side", "better", "equal", "candidates", "score", "negatives_at"):
        np.testing.assert_array_equal(getattr(found.ranked, name), getattr(wanted.ranked, name))
    assert found.short == wanted.short
    assert {**figures(found), "seconds": 0} == {**figures(wanted), "seconds": 0}


def test_strata_are_the_halves_that_train_has() -> None:
    """By a search through the training triples."""
    train = GRAPH.train.tolist()
    found = strata(GRAPH, GRAPH.test)
    for at, (h, r, t) in enumerate(GRAPH.test.tolist()):
        head = any(row[:2] == [h, r] for row in train)
        tail = any(row[1:] == [r, t] for row in train)
        name = {(1, 1): "both", (1, 0): "head", (0, 1): "tail", (0, 0): "none"}[head, tail]
        assert [key for key, which in found.items() if which[at]] == [name]
    record = figures(rank(GRAPH, of_triples, protocol="full"))
    assert sum(row["lists"] for row in record["strata"].values()) == record["lists"]
    total = sum(row["lists"] * row["mrr"] for row in record["strata"].values())
    assert total / record["lists"] == pytest.approx(record["mrr"])
