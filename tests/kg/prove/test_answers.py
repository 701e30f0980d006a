"""Answers of a graph's queries: which candidates, in which order, and what each says."""

from __future__ import annotations

import torch

from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.belief.calibration import Calibration
from deepprooflog.kg.data.rules import parse_rules
from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.kge.complex import ComplEx
from deepprooflog.kg.prove.answers import answer
from deepprooflog.kg.prove.build import prover
from deepprooflog.kg.prove.candidates import AT_LEAST
from deepprooflog.kg.prove.question import read_question

MANY = AT_LEAST + 20
FRIENDS = graph_of(
    [("hub", "likes", f"e{i}") for i in range(MANY)],
    test=[("hub", "likes", f"new{i}") for i in range(5)],
)


def as_told(graph: Graph) -> Belief:
    """A prior that holds what it was told far more likely than anything else."""
    kge = ComplEx(len(graph.entities), len(graph.relations), 1)
    with torch.no_grad():
        kge.factor.zero_()
        kge.factor[:, 0] = 1.0
        kge.entity.zero_()
        kge.entity[:, 0] = -1.0
        kge.entity[graph.train[:, 2], 0] = 5.0
        kge.entity[graph.train[0, 0], 0] = 1.0
    slope = torch.ones(len(graph.relations), dtype=torch.float64)
    return Belief(kge, Calibration(slope, 0 * slope, 0.5), graph.relations, graph.entities)


def test_new_answers_are_found_behind_many_known_ones() -> None:
    """More are known than candidates are taken: those that are left are still found."""
    proves = prover(FRIENDS, belief=as_told(FRIENDS))
    question = read_question(FRIENDS, "likes(hub, X)")
    first = answer(proves, FRIENDS, question, top=10, proofs=0)
    assert all(one.known for one in first)
    found = answer(proves, FRIENDS, question, top=10, proofs=0, new=True)
    assert not any(one.known for one in found)
    assert {one.bindings["X"] for one in found} == {"hub", *(f"new{i}" for i in range(5))}
    # What was told is no news, when it is asked about itself either.
    told = read_question(FRIENDS, "likes(hub, e0)")
    assert len(answer(proves, FRIENDS, told, new=True)) == 0


def test_a_relation_with_a_hyphen_is_asked_about() -> None:
    graph = graph_of([("ann", "co-occurs_with", "bob"), ("bob", "knows", "ann")])
    rules = parse_rules("'co-occurs_with'(X, Y) :- knows(X, Y).")
    found = answer(
        prover(graph, rules), graph, read_question(graph, "co-occurs_with(X, ann)"), top=3
    )
    assert [one.bindings for one in found] == [{"X": "bob"}]


def test_one_variable_on_both_sides_is_one_entity() -> None:
    graph = graph_of([("ann", "knows", "bob"), ("bob", "knows", "bob"), ("cy", "knows", "cy")])
    found = answer(prover(graph), graph, read_question(graph, "knows(X, X)"), proofs=0)
    assert sorted(one.triple for one in found) == ["knows(bob,bob)", "knows(cy,cy)"]
    pairs = answer(prover(graph), graph, read_question(graph, "knows(_, _)"), proofs=0)
    assert len(pairs) == 3


def test_answers_are_shown_and_turned_into_plain_python() -> None:
    graph = graph_of([("ann", "mother", "bob"), ("bob", "father", "cy"), ("dee", "gran", "cy")])
    rules = parse_rules("gran(X, Y) :- mother(X, Z), father(Z, Y).")
    found = answer(prover(graph, rules), graph, read_question(graph, "gran(X, cy)"))
    plain = found.to_dict()
    assert plain["query"] == "gran(X, cy)"
    assert {tuple(one["bindings"].items()) for one in plain["answers"]} == {
        (("X", "ann"),), (("X", "dee"),),
    }  # fmt: skip
    shown = str(found)
    assert "X = ann" in shown
    assert "probability" in shown
    by_rule = next(one for one in found if one.bindings == {"X": "ann"})
    assert by_rule.proof is not None
    assert by_rule.proof.check()
    assert str(by_rule.proof) in str(by_rule)
