"""Walks step by step: all ways add up to the sweep's score, a proof's way to the proof's weight."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import deepprooflog as dpl
from deepprooflog.errors import DataError
from deepprooflog.insight.steps import StepView
from deepprooflog.kg.model import GraphModel
from deepprooflog.kg.prove.question import read_question
from deepprooflog.kg.walk.options import WalkOptions
from deepprooflog.kg.walk.prover import WalkProver
from deepprooflog.kg.walk.steps import walk_steps
from kg.walk.small import RELATIONS, Facts, drawn, facts, facts_of, model_of, walk_options
from kg.walk.test_prover import OPTIONS, family


def total(view: StepView) -> float:
    """The weights of all derivations from a goal on, added up."""
    whole, views = 0.0, [view]
    while views:
        view = views.pop()
        assert view.complete
        if view.is_true:
            whole += view.probability
        views += [view.take(one.number) for one in view.choices]
    return whole


@settings(max_examples=5)
@given(st.data(), facts(most=3), walk_options(hops=2))
def test_all_ways_add_up_to_the_score(
    data: st.DataObject, rows: Facts, options: WalkOptions
) -> None:
    graph, model = drawn(rows), model_of(options)
    head, relation, tail = data.draw(st.sampled_from(rows))
    walks = WalkProver(model, graph)
    walks.__dict__["facts"] = facts_of(graph)  # in float64, as the model is
    backwards = data.draw(st.booleans())
    question = read_question(graph, graph.text((head, relation, tail)))
    asked = [torch.tensor([head]), torch.tensor([relation])]
    scores = model(facts_of(graph), *asked)[0].exp()
    assert total(walk_steps(walks, question)) == pytest.approx(scores[tail].item(), rel=1e-9)
    if backwards:
        open_ = read_question(graph, f"{RELATIONS[relation]}(X, e{tail})")
        asked = [torch.tensor([tail]), torch.tensor([relation + len(RELATIONS)])]
    else:
        open_ = read_question(graph, f"{RELATIONS[relation]}(e{head}, X)")
    every = model(facts_of(graph), *asked)[0].exp().sum().item()
    assert total(walk_steps(walks, open_)) == pytest.approx(every, rel=1e-9)


@pytest.fixture(scope="module")
def model() -> GraphModel:
    return dpl.kg.train(family(), prior="none", seed=0, **OPTIONS)


def test_a_proof_of_the_model_is_a_way_through_its_steps(model: GraphModel) -> None:
    answer = model.explain("gran(g10, c10)", proofs=3)
    for proof in answer.proofs:
        view = model.steps("gran(g10, c10)")
        for node in proof.nodes:
            # Facts and what has no body leave the choice by their text; rules by theirs.
            fits = [c for c in view.choices if c.clause == node.reason]
            assert len(fits) == 1, (node, view)
            assert math.log(fits[0].probability) == pytest.approx(node.log_weight, abs=1e-4)
            view = view.take(fits[0].number)
        assert view.is_true
        assert view.probability == pytest.approx(proof.probability, rel=1e-3)
    # A question for a head goes against the relation.
    view = model.steps("gran(X, c10)")
    assert view.choices[0].goal.startswith("begin('gran^-1',0,c10,X)")


def test_what_walks_cannot_say_is_refused_with_what_can(model: GraphModel) -> None:
    with pytest.raises(DataError, match="both ends are open"):
        model.steps("gran(X, Y)")
    for ask, instead in (
        (lambda: model.why_not("gran(g1, c2)"), "with_facts"),
        (lambda: model.supported_by("mother(g1, p1)"), "facts_about"),
        (lambda: model.query("gran(g1, X), father(Y, X)"), "each atom by itself"),
    ):
        with pytest.raises(DataError) as refused:
            ask()
        assert instead in str(refused.value)
