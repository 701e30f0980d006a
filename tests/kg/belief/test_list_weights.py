"""Weights fitted by a softmax over whole lists, and what is chosen by them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from jaxtyping import Int64
from torch import Tensor

from deepprooflog.errors import DataError
from deepprooflog.kg.belief.evidence import Evidence
from deepprooflog.kg.belief.list_weights import (
    AnswerLists,
    calibrate_lists,
    choose_weights,
    fit_weights,
    validation_lists,
)
from deepprooflog.kg.belief.prior import evidence_of
from deepprooflog.kg.data.triple_set import Side
from deepprooflog.kg.data.triples import Graph, graph_of

OWN = [0, 0, 0, 1] * 1000


def lists_of(scores: Tensor, own: list[int], query: list[int] | None = None) -> AnswerLists:
    """Lists in which everyone is allowed and no facts are known."""
    q = torch.tensor(query or [0] * len(own))
    kinds, kind = q.unique(return_inverse=True)
    numbers = torch.zeros(len(kinds), scores.shape[2], 4)
    allowed = torch.ones(scores.shape[1:], dtype=torch.bool)
    return AnswerLists(q, torch.tensor(own), scores, allowed, kinds, kind, numbers)


def test_one_weight_in_closed_form() -> None:
    """Two candidates, scores 1 and 0, the first right three times of four: exp(w) = 3."""
    scores = torch.tensor([[[1.0, 0.0]] * 4000])
    weights = fit_weights([lists_of(scores, OWN)], ["walks"], [0], False, 2)
    assert float(weights.of_scores[0, 0]) == pytest.approx(math.log(3), rel=1e-3)


def test_relations_are_shrunk_to_what_is_common() -> None:
    """Fewer lists, nearer to the common weight; one without lists has just that."""
    scores = torch.tensor([[[1.0, 0.0]] * 44])
    own = [0] * 30 + [1] * 10 + [0, 0, 1, 1]
    part = lists_of(scores, own, [0] * 40 + [1] * 4)
    loose, tight = (
        fit_weights([part], ["walks"], [0], False, 3, shrink).of_scores[:, 0]
        for shrink in (1e-3, 10.0)
    )
    assert loose[1] < 0.1 < loose[0]
    assert loose[1] < tight[1] < tight[2] < tight[0] < loose[0]


def test_masked_entities_are_no_candidates() -> None:
    """A known truth with the highest score takes no part."""
    scores = torch.tensor([[[1.0, 0.0, 50.0]] * 4000])
    part = lists_of(scores, OWN)
    part.allowed[:, 2] = False
    weights = fit_weights([part], ["walks"], [0], False, 2)
    spread = fit_weights([lists_of(scores[..., :2], OWN)], ["walks"], [0], False, 2)
    torch.testing.assert_close(weights.of_scores, spread.of_scores, rtol=1e-3, atol=1e-3)
    assert part.gain(weights) == pytest.approx(3500)


def popular() -> Graph:
    """Everyone admires the star, and the validation triples say so again."""
    train = [(f"e{i}", "admires", "star") for i in range(8)]
    train += [(f"e{i}", "knows", f"e{i + 1}") for i in range(12)]
    valid = [(f"e{i}", "admires", "star") for i in range(8, 12)]
    return graph_of(train, valid=valid)


def noise(rows: Int64[np.ndarray, "n 3"], side: Side) -> Tensor:
    """A score that knows nothing, and one that knows the answer."""
    draw = torch.Generator().manual_seed(int(rows.sum()))
    one = torch.randn(len(rows), 14, generator=draw)
    right = torch.zeros(len(rows), 14)
    right[torch.arange(len(rows)), torch.from_numpy(rows[:, 0 if side == "head" else 2])] = 1.0
    return torch.stack([one, right])


def test_facts_are_weighed_where_they_help() -> None:
    """The star is found by how often it is admired; a score that knows all needs no facts."""
    graph = popular()
    evidence = evidence_of(graph)
    halves = validation_lists(graph, lambda *asked: noise(*asked)[:1], evidence)
    chosen = choose_weights(halves, ["noise"], 4)
    assert chosen.weights.text == "noise + facts"
    assert chosen.tried["noise + facts"] > chosen.tried["noise"]
    assert chosen.lists == 8
    [part] = halves[0]
    star = part.logits(chosen.weights).argmax(1)[part.query < 2]
    assert [graph.entity_text(e) for e in star.tolist()] == ["star", "star"]
    both = validation_lists(graph, noise, evidence)
    assert choose_weights(both, ["noise", "oracle"], 4).weights.text == "oracle"


def test_a_probability_orders_a_list_as_its_logits_do() -> None:
    graph = popular()
    halves = validation_lists(graph, noise, evidence_of(graph))
    both = (*halves[0], *halves[1])
    weights = fit_weights(both, ["noise", "oracle"], [0, 1], True, 4)
    lines = calibrate_lists(both, weights, 4, base_rate=0.05)
    assert lines.base_rate == 0.05
    assert bool((lines.slope > 0).all())
    share = both[0].logits(weights).log_softmax(1)
    own = share.gather(1, both[0].own[:, None])[:, 0]
    p = lines.logit(own.double(), both[0].query).sigmoid()
    assert bool((p > 0.05).all())


def test_numbers_of_answers_are_the_counts() -> None:
    """As the counts of triples are, for an entity that no fact makes an answer."""
    facts = torch.tensor([[0, 0, 1], [0, 0, 2], [1, 1, 2], [2, 1, 2]])
    evidence = Evidence(facts, entities=4, relations=2)
    numbers = evidence.answers(torch.tensor([0, 1, 2, 3]))
    for q in range(4):
        for y in range(4):
            place = 2 if q < 2 else 0
            count = int(((facts[:, 1] == q % 2) & (facts[:, place] == y)).sum())
            about = int(((facts[:, 0] == y) | (facts[:, 2] == y)).sum())
            wanted = [float(count > 0), math.log1p(count), math.log1p(about), float(about == 0)]
            assert numbers[q, y].tolist() == pytest.approx(wanted)


def test_nothing_to_fit_on() -> None:
    graph = graph_of([("a", "r", "b")])
    with pytest.raises(DataError, match="no validation triples"):
        validation_lists(graph, noise, evidence_of(graph))
