"""Belief whose facts are weighed by whole lists: a probability that orders them as the fit does."""

from __future__ import annotations

import numpy as np
import torch

from deepprooflog.kg.belief.list_weights import directed, validation_lists
from deepprooflog.kg.belief.prior import KgeLists, belief_by_lists, calibrate_belief, evidence_of
from deepprooflog.kg.data.triple_set import column
from deepprooflog.kg.data.triples import SIDES, graph_of
from deepprooflog.kg.kge.complex import ComplEx

TRAIN = [(f"e{i}", "admires", "star") for i in range(8)]
TRAIN += [(f"e{i}", "knows", f"e{i + 1}") for i in range(12)]
GRAPH = graph_of(TRAIN, valid=[(f"e{i}", "admires", "star") for i in range(8, 12)])


def test_the_probability_orders_lists_as_the_weights_do() -> None:
    """Every answer of both lists of a triple that is no fact, by the fit and by belief."""
    torch.manual_seed(0)
    kge = ComplEx(len(GRAPH.entities), 2, 4)
    plain = calibrate_belief(kge, GRAPH)
    belief, chosen = belief_by_lists(plain, GRAPH)
    assert chosen.weights.text == "prior + facts"
    assert belief.base_rate == plain.base_rate
    evidence, everyone = evidence_of(GRAPH), np.arange(len(GRAPH.entities))
    row = GRAPH.valid[:1]
    for side in SIDES:
        query = directed(row, side, 2)
        scores, place = KgeLists(kge, len(everyone))(row, side), torch.tensor([0])
        wanted = chosen.weights.logits(scores, query, query, place, evidence.answers(query))[0]
        triples = np.repeat(row, len(everyone), axis=0)
        triples[:, column(side)] = everyone
        # Belief counts no triple for itself: facts are no candidates.
        new = torch.from_numpy(~GRAPH.holds(triples, ("train",)))
        scale = belief.calibration.slope[0] / chosen.weights.of_scores[query[0], 0].double()
        found = belief.of_triples(torch.from_numpy(triples))[new] / scale
        torch.testing.assert_close(
            found - found[0], (wanted[new] - wanted[new][0]).double(), rtol=1e-4, atol=1e-4
        )
    star = [GRAPH.entity_text(e) for e in range(len(everyone))].index("star")
    tails = torch.tensor([[int(row[0, 0]), 0, e] for e in everyone])
    assert int(belief.of_triples(tails).argmax()) == star


def test_facts_that_do_not_help_are_left_out() -> None:
    """An embedding that knows the answers has nothing to gain."""
    kge = ComplEx(len(GRAPH.entities), 2, 14)
    with torch.no_grad():
        kge.entity.copy_(torch.eye(14, 28))
        heads, tails = torch.from_numpy(GRAPH.valid[:, [0, 2]].T)
        kge.entity[heads] = torch.eye(14, 28)[tails]
        for parameter in kge.parameters():
            if parameter is not kge.entity:
                parameter.fill_(1.0)
    belief, chosen = belief_by_lists(calibrate_belief(kge, GRAPH), GRAPH)
    assert chosen.weights.text == "prior" or chosen.tried["prior + facts"] > chosen.tried["prior"]
    assert (belief.evidence is None) == (chosen.weights.of_facts is None)


def test_entities_without_a_vector_come_last() -> None:
    lists = KgeLists(ComplEx(5, 2, 4), 7)(GRAPH.valid[:2] % 5, "tail")
    assert lists.shape == (1, 2, 7)
    torch.testing.assert_close(lists[0, :, 5:], lists.amin(2)[0][:, None].expand(-1, 2))
    halves = validation_lists(GRAPH, KgeLists(ComplEx(5, 2, 4), 14), evidence_of(GRAPH),
                              triples=GRAPH.valid % np.array([5, 2, 5]), held=1)  # fmt: skip
    assert sum(len(part.own) for half in halves for part in half) == 4
