"""The shift of the belief clause: one number in every engine, chosen, kept and opened again."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import deepprooflog as dpl
from deepprooflog.errors import ModelError
from deepprooflog.kg.belief.believe import BELIEVE, Belief
from deepprooflog.kg.belief.calibration import Calibration
from deepprooflog.kg.data.rules import parse_rules
from deepprooflog.kg.data.triples import graph_of
from deepprooflog.kg.evaluation.evaluate import Ranker
from deepprooflog.kg.kge.complex import ComplEx
from deepprooflog.kg.learn.belief_shift import (
    SHIFTS,
    RecordedBelief,
    choose_shift,
    lowest_equal,
    shifted_gains,
    shifted_policy,
)
from deepprooflog.kg.prove.program import database_of, program_of
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.learn.run.weights import load_state, save_state
from deepprooflog.logic.program import Program
from deepprooflog.relational.database import Believe
from deepprooflog.score.clause_weights import ClauseWeights
from deepprooflog.score.embedding.embedding import Embedding
from deepprooflog.score.embedding.leftmost import Leftmost
from deepprooflog.score.network import Network
from deepprooflog.score.scorer import Scorer, Unit

GRAPH = graph_of([("ann", "mother", "bob"), ("bob", "father", "cy"), ("ann", "gran", "cy")])
RULES = parse_rules("gran(X, Y) :- mother(X, Z), father(Z, Y). gran(X, Y) :- father(X, Y).")
POLICIES: dict[str, Callable[[Program], Scorer]] = {
    "goal": lambda p: Embedding(p, 8, seed=0),
    "goal, false": lambda p: Embedding(p, 8, seed=0, false_action=True),
    "term": lambda p: Leftmost(p, 8, seed=0),
    "clause": lambda p: ClauseWeights(p, facts="shared"),
    "clause, by call": lambda p: ClauseWeights(p, "call", "shared"),
}


def belief() -> Belief:
    torch.manual_seed(0)
    kge = ComplEx(len(GRAPH.entities), len(GRAPH.relations), 4)
    lines = Calibration(torch.ones(3).double(), torch.zeros(3).double(), 0.5)
    return Belief(kge, lines, GRAPH.relations, GRAPH.entities)


def made(name: str, shift: float, believe: Believe = "everywhere") -> Prover:
    policy = shifted_policy(POLICIES[name](program_of(GRAPH, RULES, believe=True)), shift)
    nesting = None if believe == "everywhere" else 1
    database = database_of(GRAPH, RULES, believe=believe, nesting=nesting)
    return Prover(database, policy, belief())


def every_triple() -> torch.Tensor:
    return torch.cartesian_prod(torch.arange(3), torch.arange(3), torch.arange(3))


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("shift", [-1.0, 2.0])
def test_the_relational_engine_and_a_model_agree(name: str, shift: float) -> None:
    """p_success on numbers and on terms, with the same shifted policy."""
    program, prior = program_of(GRAPH, RULES, believe=True), belief()
    model = dpl.Model(
        program, networks={"kge": Network(prior, number=prior.number)},
        scorer=shifted_policy(POLICIES[name](program), shift),
    )  # fmt: skip
    triples = every_triple()
    with torch.no_grad():
        found = made(name, shift)(triples).success
        expected = model.log_prob([GRAPH.text(row) for row in triples.tolist()]).exp()
        unshifted = made(name, 0.0)(triples).success
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-9)
    assert (found - unshifted).abs().max() > 0.01


def test_by_hand_and_the_proofs_replay() -> None:
    """gran(ann, cy): a fact, two rules, belief, each of weight 1/4; e^δ = 1/3 gives belief 1/10."""
    shift = -math.log(3.0)
    prover = made("clause", shift, "query")
    ann, _, cy = (GRAPH.entity_ids[e] for e in GRAPH.entities)
    gran = GRAPH.relation_ids["gran"]
    p = belief().of_triples(torch.tensor([[ann, gran, cy]])).sigmoid().item()
    with torch.no_grad():
        mass = prover(torch.tensor([[ann, gran, cy]]))
    # mother(ann, bob) and father(bob, cy) have a fact beside belief, which inner atoms do not ask.
    assert mass.success.item() - mass.proof.item() == pytest.approx(0.1 * p)
    proofs = prover.proofs([ann, gran, cy], 3)
    assert all(proof.check() for proof in proofs)
    assert sum(proof.probability for proof in proofs) == pytest.approx(mass.success.item())


@pytest.mark.parametrize("name", POLICIES)
def test_no_shift_is_the_policy_itself(name: str) -> None:
    policy = POLICIES[name](program_of(GRAPH, RULES, believe=True))
    assert shifted_policy(policy, 0.0) is policy
    assert shifted_policy(shifted_policy(policy, -1.0), 0.0) is policy


@pytest.mark.parametrize("name", POLICIES)
def test_what_is_recorded_gives_every_shift(name: str) -> None:
    """The closed form against provers that were shifted."""
    triples = every_triple()
    recorded = RecordedBelief(made(name, 0.0, "query"))
    recorded(triples)
    for shift in (-2.0, 0.0, 1.0):
        with torch.no_grad():
            expected = made(name, shift, "query")(triples).success
        torch.testing.assert_close(recorded.again(shift)(triples), expected)


@pytest.mark.parametrize("believe", ["query", "everywhere"])
def test_the_choice_is_not_worse_on_validation(believe: Believe) -> None:
    graph = replace(GRAPH, valid=np.array([[1, 0, 2], [0, 1, 2], [1, 2, 2]]))
    gains = shifted_gains(made("goal", 0.0, believe), Ranker(graph, negatives=2), graph.valid)
    assert tuple(gains) == SHIFTS
    assert gains[lowest_equal(gains)].mean() >= gains[0.0].mean()


def test_the_lowest_that_validation_cannot_tell_from_the_best() -> None:
    """One list of ten gains .1: a difference of two standard errors tells nothing."""
    low = np.full(10, 0.5)
    near, best, none = low.copy(), low.copy(), low - 0.2
    near[0], best[:2] = 0.6, 0.6
    assert lowest_equal({-2.0: near, -1.0: best, 0.0: none}) == -2.0
    assert lowest_equal({-2.0: none, -1.0: best, 0.0: none}) == -1.0
    # Upwards only where 0 is told from the best.
    assert lowest_equal({-1.0: none, 0.0: near, 1.0: best}) == 0.0
    assert lowest_equal({-1.0: none, 0.0: none, 1.0: best}) == 1.0


def test_weights_of_one_and_infinite_shifts_are_refused() -> None:
    program = program_of(GRAPH, RULES, believe=True)
    with pytest.raises(ModelError, match="no probabilities"):
        shifted_policy(Unit(), 1.0)
    with pytest.raises(ModelError, match="a shift is a number"):
        shifted_policy(ClauseWeights(program), math.inf)
    assert str(BELIEVE) == "believe/3"


def test_kept_in_a_run_told_and_opened_again(tmp_path: Path) -> None:
    """Trained into a folder: the record says it, the model opened answers alike; old runs open."""
    parents = [(f"p{i}", "parent", f"p{2 * i + k}") for i in range(1, 8) for k in (0, 1)]
    grans = [(f"p{i}", "gran", f"p{4 * i + k}") for i in range(1, 4) for k in range(4)]
    graph = dpl.kg.load([*parents, *grans[:4]], valid=grans[4:8], test=grans[8:])
    model = dpl.kg.train(
        graph, "gran(X, Z) :- parent(X, Y), parent(Y, Z).",
        {"kind": "complex", "dimension": 4, "steps": 20, "batch": 16}, out=tmp_path / "run",
        exact={"steps": 2, "batch": 8, "negatives": 2}, policy={"dimension": 8}, threads=1,
        search={"nesting": 1},
    )  # fmt: skip
    kept = json.loads((tmp_path / "run" / "result.json").read_text())["belief_shift"]
    assert kept["shift"] == model.belief_shift
    assert kept["after"] >= kept["before"]
    assert kept["note"].startswith("belief clause")
    triples = torch.from_numpy(graph.test)
    base = model.prover.policy
    other = replace(model, prover=model.prover.with_policy(shifted_policy(base, -1.5)))
    other.save(tmp_path / "other")
    opened = dpl.load(tmp_path / "other")
    assert opened.belief_shift == -1.5
    with torch.no_grad():
        torch.testing.assert_close(opened.prover(triples).success, other.prover(triples).success)
        assert not torch.equal(opened.prover(triples).success, model.prover(triples).success)
    asked = graph.text(graph.test[0])
    assert opened.explain(asked).probability == pytest.approx(other.explain(asked).probability)
    first = opened.steps(asked).choices
    assert sum(one.probability for one in first) == pytest.approx(1.0)

    file = tmp_path / "other" / "model.safetensors"
    save_state(file, "policy", {"weights": load_state(file, "policy", {})["weights"]})
    assert dpl.load(tmp_path / "other").belief_shift == 0.0


def test_it_is_left_out_where_asked() -> None:
    facts = [("a", "r", "b"), ("b", "r", "c"), ("c", "s", "a")]
    graph = dpl.kg.load(facts, valid=[("a", "r", "c"), ("b", "r", "a"), ("c", "r", "a")])
    model = dpl.kg.train(
        graph, "r(X, Y) :- s(Y, X).", {"kind": "complex", "dimension": 2, "steps": 2},
        exact={"steps": 1}, belief={"shift": False}, threads=1,
    )  # fmt: skip
    assert choose_shift(model.options, model.theory, model.prover) is None
    assert model.belief_shift == 0.0
