"""How far a policy is trusted: two numbers, the same in every engine, kept and opened again."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import deepprooflog as dpl
from deepprooflog.errors import DataError, ModelError
from deepprooflog.kg.belief.believe import BELIEVE, Belief
from deepprooflog.kg.belief.calibration import Calibration
from deepprooflog.kg.data.rules import parse_rules
from deepprooflog.kg.data.triple_set import Side
from deepprooflog.kg.data.triples import graph_of
from deepprooflog.kg.kge.complex import ComplEx
from deepprooflog.kg.learn.cross_fit import TrustedScores, dealt
from deepprooflog.kg.learn.trust import (
    AS_LEARNED,
    TRUSTS,
    ChosenTrust,
    Trust,
    lowest_equal,
    trusted_policy,
)
from deepprooflog.kg.prove.lists import ListProver
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
SOME = (Trust(1.0, -1.0), Trust(1.0, 2.0), Trust(0.5, 0.0), Trust(0.0, 1.0), Trust(2.0, -1.0))


def belief() -> Belief:
    torch.manual_seed(0)
    kge = ComplEx(len(GRAPH.entities), len(GRAPH.relations), 4)
    lines = Calibration(torch.ones(3).double(), torch.zeros(3).double(), 0.5)
    return Belief(kge, lines, GRAPH.relations, GRAPH.entities)


def unlike(policy: Scorer) -> Scorer:
    """With weights that differ: some policies begin with all alike."""
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return policy


def made(name: str, trust: Trust, believe: Believe = "everywhere") -> Prover:
    policy = unlike(POLICIES[name](program_of(GRAPH, RULES, believe=True)))
    nesting = None if believe == "everywhere" else 1
    database = database_of(GRAPH, RULES, believe=believe, nesting=nesting)
    return Prover(database, trusted_policy(policy, trust), belief())


def every_triple() -> torch.Tensor:
    return torch.cartesian_prod(torch.arange(3), torch.arange(3), torch.arange(3))


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("trust", SOME)
def test_the_relational_engine_and_a_model_agree(name: str, trust: Trust) -> None:
    """p_success on numbers and on terms, with the same policy as far trusted."""
    program, prior = program_of(GRAPH, RULES, believe=True), belief()
    model = dpl.Model(
        program, networks={"kge": Network(prior, number=prior.number)},
        scorer=trusted_policy(unlike(POLICIES[name](program)), trust),
    )  # fmt: skip
    triples = every_triple()
    with torch.no_grad():
        found = made(name, trust)(triples).success
        expected = model.log_prob([GRAPH.text(row) for row in triples.tolist()]).exp()
        learned = made(name, AS_LEARNED)(triples).success
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-9)
    assert (found - learned).abs().max() > 0.001


@torch.no_grad()
@pytest.mark.parametrize("trust", SOME)
def test_whole_lists_and_ground_queries_agree(trust: Trust) -> None:
    """What belief weighs at candidates without a proof is looked up; the others are proved."""
    program = program_of(GRAPH, RULES, believe=True)
    policy = Embedding(program, 8, seed=0, constants="shared", numbers="symbols")
    database = database_of(GRAPH, RULES, believe="query", nesting=1)
    prover = Prover(database, trusted_policy(policy, trust), belief())
    lists = ListProver(prover, len(GRAPH.entities))
    sides: tuple[tuple[Side, int], ...] = (("tail", 2), ("head", 0))
    for side, place in sides:
        queries = torch.tensor([[h, r, h] for h in range(3) for r in range(3)])
        proved = lists.prove(queries, side)
        score = lists.believing(queries, side)
        for number, query in enumerate(queries):
            whole = query.repeat(3, 1)
            whole[:, place] = torch.arange(3)
            score[number] *= belief().of_triples(whole).sigmoid()
            own = proved.list_of == number
            score[number, proved.entity[own]] = proved.success[own]
            torch.testing.assert_close(score[number], prover(whole).success)


def test_by_hand_and_the_proofs_replay() -> None:
    """gran(ann, cy): a fact, two rules, belief, each of weight 1/4; e^δ = 1/3 gives belief 1/10."""
    policy = ClauseWeights(program_of(GRAPH, RULES, believe=True), facts="shared")
    database = database_of(GRAPH, RULES, believe="query", nesting=1)
    shift = Trust(shift=-math.log(3.0))
    prover = Prover(database, trusted_policy(policy, shift), belief())
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


@pytest.mark.parametrize("name", ["goal", "term", "clause, by call"])
def test_at_sharpness_0_all_clauses_of_a_goal_weigh_alike(name: str) -> None:
    """gran(ann, cy): the fact 1/4; mother(ann, Z) and father(Z, cy) have one fact each; belief."""
    prover = made(name, Trust(sharpness=0.0), "query")
    ann, _, cy = (GRAPH.entity_ids[e] for e in GRAPH.entities)
    row = torch.tensor([[ann, GRAPH.relation_ids["gran"], cy]])
    p = belief().of_triples(row).sigmoid().item()
    with torch.no_grad():
        mass = prover(row)
    assert mass.proof.item() == pytest.approx(0.5)
    assert mass.success.item() == pytest.approx(0.5 + 0.25 * p)


def test_what_is_left_to_failing_keeps_its_share() -> None:
    """False has the same probability at every sharpness, what clauses have is shared out anew."""
    triples = torch.tensor([[0, 2, 1]])

    def choices(trust: Trust) -> torch.Tensor:
        prover = made("goal, false", trust, "query")
        with torch.no_grad():
            layers = prover.explore(prover.goals(triples))
            steps: torch.Tensor = prover.log_weights(layers)[0][0].exp()
        return steps

    learned, flat = choices(AS_LEARNED), choices(Trust(sharpness=0.0))
    assert 0.5 < float(learned.sum()) < 0.999
    assert float(flat.sum()) == pytest.approx(float(learned.sum()))
    assert float(learned.std()) > 0.1
    assert float(flat.std()) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", POLICIES)
def test_trusted_as_learned_is_the_policy_itself(name: str) -> None:
    policy = POLICIES[name](program_of(GRAPH, RULES, believe=True))
    assert trusted_policy(policy, AS_LEARNED) is policy
    assert trusted_policy(trusted_policy(policy, Trust(0.5, -1.0)), AS_LEARNED) is policy


@pytest.mark.parametrize("believe", ["query", "everywhere"])
@pytest.mark.parametrize("name", POLICIES)
def test_what_is_recorded_gives_every_trust(name: str, believe: Believe) -> None:
    """Masses of one exploration against provers that are trusted so."""
    triples = every_triple()
    trusts = (AS_LEARNED, *SOME)
    recorded = TrustedScores(made(name, AS_LEARNED, believe), trusts)
    recorded(triples)
    for number, trust in enumerate(trusts):
        with torch.no_grad():
            expected = made(name, trust, believe)(triples).success
        torch.testing.assert_close(recorded.again(number)(triples), expected)


def test_the_lowest_shift_that_is_not_told_from_the_best() -> None:
    """One list of ten gains .1: a difference of two standard errors tells nothing."""
    low = np.full(10, 0.5)
    near, best, bad = low.copy(), low.copy(), low - 0.2
    near[0], best[:2] = 0.6, 0.6

    def at(shift: float, sharpness: float = 1.0) -> Trust:
        return Trust(sharpness, shift)

    assert lowest_equal({AS_LEARNED: bad, at(-2.0): near, at(-1.0): best}) == at(-2.0)
    assert lowest_equal({AS_LEARNED: bad, at(-2.0): bad, at(-1.0): best}) == at(-1.0)
    # What is no better than as learned is not taken; upwards only where 0 is told from the best.
    assert lowest_equal({AS_LEARNED: near, at(-2.0): near, at(1.0): best}) == AS_LEARNED
    assert lowest_equal({AS_LEARNED: bad, at(-1.0): bad, at(1.0): best}) == at(1.0)
    # The lowest shift of the best one's sharpness.
    flat = {AS_LEARNED: bad, at(-4.0): near, at(1.0, 0.0): near, at(2.0, 0.0): best}
    assert lowest_equal(flat) == at(1.0, 0.0)
    assert TRUSTS[0] == AS_LEARNED
    assert len(set(TRUSTS)) == len(TRUSTS)


def test_every_triple_is_held_out_once_and_never_learned_from() -> None:
    triples = np.arange(33).reshape(11, 3)
    held = []
    for out, rest in dealt(triples, 1):
        assert sorted(map(tuple, [*out, *rest])) == sorted(map(tuple, triples))
        held += [tuple(row) for row in out]
    assert sorted(held) == sorted(map(tuple, triples))


def test_weights_of_one_and_numbers_that_are_none_are_refused() -> None:
    program = program_of(GRAPH, RULES, believe=True)
    with pytest.raises(ModelError, match="no probabilities"):
        trusted_policy(Unit(), Trust(shift=1.0))
    with pytest.raises(ModelError, match="a shift is a number"):
        trusted_policy(ClauseWeights(program), Trust(shift=math.inf))
    with pytest.raises(ModelError, match="a sharpness is at least 0"):
        trusted_policy(ClauseWeights(program), Trust(sharpness=-1.0))
    assert str(BELIEVE) == "believe/3"


def test_what_is_told() -> None:
    told = str(ChosenTrust(0.25, -2.0, 0.5, 0.5125, 300, 3))
    assert told == (
        "policy flattened to sharpness 0.25, belief clause shifted by -2 "
        "(MRR of 300 validation triples held out in 3 folds: 0.5000 → 0.5125)"
    )
    assert str(ChosenTrust(1.0, 0.0, 0.5, 0.5, 300, 1)) == (
        "policy and belief as learned (MRR of 300 validation triples held out in 1 fold: 0.5000)"
    )


def family(valid: int) -> dpl.kg.Graph:
    parents = [(f"p{i}", "parent", f"p{2 * i + k}") for i in range(1, 8) for k in (0, 1)]
    grans = [(f"p{i}", "gran", f"p{4 * i + k}") for i in range(1, 4) for k in range(4)]
    return dpl.kg.load([*parents, *grans[:4]], valid=grans[4 : 4 + valid], test=grans[10:])


def trained(graph: dpl.kg.Graph, **more: Any) -> dpl.kg.GraphModel:
    return dpl.kg.train(
        graph, "gran(X, Z) :- parent(X, Y), parent(Y, Z).",
        {"kind": "complex", "dimension": 4, "steps": 20, "batch": 16}, threads=1,
        exact={"steps": 2, "batch": 8, "negatives": 2}, policy={"dimension": 8},
        search={"nesting": 1}, **more,
    )  # fmt: skip


def test_kept_in_a_run_told_and_opened_again(tmp_path: Path) -> None:
    """Trained into a folder: the record says it, the model opened answers alike; old runs open."""
    graph = family(6)
    model = trained(graph, out=tmp_path / "run")
    kept = json.loads((tmp_path / "run" / "result.json").read_text())["belief_shift"]
    assert Trust(kept["sharpness"], kept["shift"]) == model.trust
    assert (kept["triples"], kept["folds"]) == (6, 3)
    assert kept["after"] >= kept["before"]
    triples = torch.from_numpy(graph.test)
    trust = Trust(0.5, -1.5)
    base = model.prover.policy
    other = replace(model, prover=model.prover.with_policy(trusted_policy(base, trust)))
    other.save(tmp_path / "other")
    opened = dpl.load(tmp_path / "other")
    assert opened.trust == trust
    with torch.no_grad():
        torch.testing.assert_close(opened.prover(triples).success, other.prover(triples).success)
        assert not torch.equal(opened.prover(triples).success, model.prover(triples).success)
    asked = graph.text(graph.test[0])
    assert opened.explain(asked).probability == pytest.approx(other.explain(asked).probability)
    first = opened.steps(asked).choices
    assert sum(one.probability for one in first) == pytest.approx(1.0)

    file = tmp_path / "other" / "model.safetensors"
    weights = load_state(file, "policy", {})["weights"]
    save_state(file, "policy", {"weights": weights, "belief_shift": 1.0})
    assert dpl.load(tmp_path / "other").trust == Trust(shift=1.0)
    save_state(file, "policy", {"weights": weights})
    assert dpl.load(tmp_path / "other").trust == AS_LEARNED
    save_state(file, "policy", {"weights": weights, "sharpness": "much"})
    with pytest.raises(DataError, match="sharpness is no number"):
        dpl.load(tmp_path / "other")


def test_too_few_triples_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    model = trained(family(5), progress=True)
    assert model.trust == AS_LEARNED
    assert "(5 validation triples are too few to tell)" in capsys.readouterr().err


@pytest.mark.parametrize("without", [{"belief": {"shift": False}}, {"watch": "auc_pr"}])
def test_it_is_left_out_where_asked(
    without: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    model = trained(family(6), progress=True, **without)
    assert model.trust == AS_LEARNED
    assert "validation triples" not in capsys.readouterr().err
