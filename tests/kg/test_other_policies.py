"""Provers whose policy is no embedding of goals: a weight for each clause, a network on an atom."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.belief.calibration import Calibration
from deepprooflog.kg.data.rules import Rules, parse_rules
from deepprooflog.kg.data.triples import graph_of
from deepprooflog.kg.kge.complex import ComplEx
from deepprooflog.kg.learn.ppo_learner import environment_of, policy_of, train_ppo
from deepprooflog.kg.learn.ppo_options import PpoOptions
from deepprooflog.kg.prove.program import database_of, program_of
from deepprooflog.kg.prove.prover import ExploreLimits, Prover
from deepprooflog.learn.rollout import collect_whole
from deepprooflog.logic.program import Program
from deepprooflog.mdp.environment import Queries
from deepprooflog.score.clause_weights import ClauseWeights
from deepprooflog.score.embedding.leftmost import Leftmost
from deepprooflog.score.scorer import Scorer
from deepprooflog.syntax.terms import Atom

GRAPH = graph_of(
    [(f"a{i}", "good", f"b{i}") for i in range(6)]
    + [(f"a{i}", "likes", f"b{i}") for i in range(6)]
    + [("a0", "poor", "c"), ("c", "worse", "d"), ("a0", "good", "b1")]
)
RULES = parse_rules("likes(X, Y) :- good(X, Y). likes(X, Y) :- poor(X, Z), worse(Y, Z).")
LIKES = GRAPH.train[GRAPH.train[:, 1] == GRAPH.relation_ids["likes"]]
POLICIES: dict[str, Callable[[Program], Scorer]] = {
    "scalar": lambda p: ClauseWeights(p, facts="shared"),
    "scalar, by call": lambda p: ClauseWeights(p, "call", "shared"),
    "term": lambda p: Leftmost(p, 8, constants="shared", seed=0),
}
EVERY = pytest.mark.parametrize("name", POLICIES)


def made(name: str) -> Prover:
    program = program_of(GRAPH, RULES)
    database = database_of(GRAPH, RULES, nesting=1)
    return Prover(
        database, POLICIES[name](program), limits=ExploreLimits(depth=10), program=program
    )


@EVERY
def test_success_is_the_sum_of_the_proofs(name: str) -> None:
    """likes(a0, b1) is no fact: one proof by a rule and a fact. likes(a0, b0) has two."""
    prover = made(name)
    with torch.no_grad():
        for head, tail, count in (("a0", "b1", 1), ("a0", "b0", 2), ("a1", "b0", 0)):
            triple = [
                GRAPH.entity_ids[Atom(head)],
                GRAPH.relation_ids["likes"],
                GRAPH.entity_ids[Atom(tail)],
            ]
            proofs = prover.proofs(triple, 9)
            assert len(proofs) == count
            total = math.fsum(p.probability for p in proofs)
            assert float(prover(torch.tensor([triple])).success) == pytest.approx(total)
            for proof in proofs:
                proof.check()


def test_a_scalar_policy_begins_with_shares() -> None:
    """likes has 2 rules and 6 facts, good 7 facts: (1/8 · 1/7) by the rule, 1/8 by the fact."""
    prover = made("scalar")
    found = prover(torch.from_numpy(LIKES[:1]))
    assert float(found.success.detach()) == pytest.approx(1 / 8 + 1 / 56)


@EVERY
def test_rollouts_succeed_as_often_as_p_success_says(name: str) -> None:
    prover = made(name)
    triples = torch.from_numpy(LIKES)
    with torch.no_grad():
        expected = prover(triples).success.mean()
    environment = environment_of(prover, memory=False)
    queries = Queries(prover.goals(triples), torch.ones(len(LIKES), dtype=torch.int64))
    often = torch.arange(len(LIKES)).repeat(1000)
    generator = torch.Generator().manual_seed(0)
    rollout, _ = collect_whole(environment, policy_of(prover), queries, often, generator)
    assert rollout.tally.success[0] == pytest.approx(float(expected), abs=0.02)


@pytest.mark.parametrize("name", ["scalar, by call", "term"])
def test_ppo_unlearns_the_choice_that_always_fails(name: str) -> None:
    prover = made(name)
    options = PpoOptions(
        iterations=9, episodes=64, steps=4, lr=0.03, entropy=0.0, minibatch=128, target_kl=None
    )
    triples = torch.from_numpy(LIKES)
    before = prover(triples, leave_out=True).success.mean().detach()
    learned = train_ppo(prover, GRAPH, LIKES, options)
    after = prover(triples, leave_out=True).success.mean().detach()
    assert float(after) > max(0.9, float(before) + 0.2)
    assert np.isfinite(learned.history[-1]["proved_positives"])


@EVERY
def test_belief_is_weighed_by_the_prior(name: str) -> None:
    """No rules, the fact left out: of r's clauses the belief alone is left, with its share."""
    graph = graph_of([("a", "r", "b"), ("c", "r", "d")])
    kge = ComplEx(len(graph.entities), 1, 2)
    offset = torch.tensor([math.log(0.3 / 0.7)], dtype=torch.float64)
    belief = Belief(kge, Calibration(torch.zeros(1), offset, 0.5), graph.relations, graph.entities)
    policy = POLICIES[name](program_of(graph, Rules(()), believe=True))
    database = database_of(graph, Rules(()), nesting=1, believe="everywhere")
    found = Prover(database, policy, belief)(torch.from_numpy(graph.train), leave_out=True)
    share = 1 / 3 if name == "scalar" else 1.0
    assert found.success.tolist() == pytest.approx([0.3 * share] * 2)
    assert found.proof.tolist() == [0.0, 0.0]
