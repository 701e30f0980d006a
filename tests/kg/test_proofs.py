"""The most probable proofs of a triple, against all of its derivations one by one."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Literal

import pytest
import torch

from deepprooflog.errors import Inexact, ProofLogError
from deepprooflog.kg.data.folder import read_graph
from deepprooflog.kg.data.rules import Rules, parse_rules, read_rules
from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.prove.program import database_of, program_of
from deepprooflog.kg.prove.prover import ExploreLimits, Prover
from deepprooflog.logic.choice import WeightSource
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.program import Program
from deepprooflog.logic.resolve import start, successors
from deepprooflog.score.embedding.embedding import Embedding
from kg.test_prover import RULES, TRIPLES, belief_of, every_triple, policy_of


def prover_of(graph: Graph, rules: Rules, *, given: bool = True) -> tuple[Prover, Program]:
    program = program_of(graph, rules, believe=True)
    database = database_of(graph, rules, believe=True)
    policy = policy_of(program, false_action=True)
    found = Prover(database, policy, belief_of(graph), program=program if given else None)
    return found, program


def enumerated(prover: Prover, program: Program, text: str) -> list[tuple[float, list[str]]]:
    """Every derivation by plain resolution: log p, and what its steps resolved with."""
    policy, belief = prover.policy, prover.belief
    assert belief is not None and isinstance(policy, Embedding)
    interner = Interner()
    found: list[tuple[float, list[str]]] = []

    def follow(goal: Goal, log: float, heads: list[str]) -> None:
        if goal.is_true:
            found.append((log, heads))
            return
        following = {step.goal: step.choice for step in successors(program, goal, interner)}
        if not following:
            return
        first = next(iter(following.values()))
        if first.weigher is WeightSource.ONE:
            logs = [0.0]
        elif first.weigher is WeightSource.BERNOULLI:
            inputs = [torch.tensor([belief.number(j, t)]) for j, t in enumerate(first.inputs)]
            logs = [belief.log_probability(*inputs).item()]
        else:
            vectors = policy.embed([goal, *following]).squeeze(1).detach()
            logits = torch.cat([vectors[1:], policy.false[None].detach()]) @ vectors[0]
            logs = torch.log_softmax(logits, 0).tolist()[:-1]
        for (after, choice), own in zip(following.items(), logs, strict=True):
            name = "guard" if choice.clause is None else choice.clause.functor.name
            follow(after, log + own, [*heads, name])

    follow(start(program.query(text).atoms, interner), 0.0, [])
    return sorted(found, key=lambda item: -item[0])


@pytest.mark.parametrize("given", [True, False])
def test_all_derivations_in_order(given: bool) -> None:
    """Their probabilities are those of an enumeration, and add up to p_success."""
    graph = graph_of(TRIPLES)
    prover, program = prover_of(graph, parse_rules(RULES), given=given)
    triples = every_triple(graph)[:: 7 if given else 23]
    success = prover(triples).success.tolist()
    most = 0
    for triple, total in zip(triples.tolist(), success, strict=True):
        expected = enumerated(prover, program, graph.text(triple))
        proofs = prover.proofs(triple, n=1000)
        assert [p.log_prob for p in proofs] == pytest.approx([log for log, _ in expected], rel=1e-6)
        assert math.fsum(p.probability for p in proofs) == pytest.approx(total, rel=1e-6)
        assert len({p.nodes for p in proofs}) == len(proofs)
        assert all(p.check() and p.query == graph.text(triple).replace(", ", ",") for p in proofs)
        few = prover.proofs(triple, n=2)
        assert [str(p) for p in few] == [str(p) for p in proofs[:2]]
        most = max(most, len(proofs))
    assert most > 4


def test_what_each_step_is() -> None:
    """Facts, rules and belief, with their places and probabilities."""
    graph = graph_of(TRIPLES)
    prover, program = prover_of(graph, parse_rules(RULES))
    text = "uncle(dan, cid)"
    triple = [graph.entities.index(t) for t in program.query(text).atoms[0].args]  # type: ignore[union-attr]
    proofs = prover.proofs([triple[0], graph.relations.index("uncle"), triple[1]], n=100)
    kinds = {tuple((node.kind, node.atom) for node in proof.nodes) for proof in proofs}
    assert (("fact", "uncle(dan,cid)"),) in kinds
    assert (("rule", "uncle(dan,cid)"), ("belief", "believe(uncle,dan,cid)")) in kinds
    by_rule = ("rule", "uncle(dan,cid)"), ("fact", "brother(dan,bob)"), ("fact", "parent(bob,cid)")
    assert by_rule in kinds
    for proof in proofs:
        assert math.fsum(n.log_weight for n in proof.nodes) == pytest.approx(proof.log_prob)
    assert all(a.log_prob >= b.log_prob for a, b in pairwise(proofs))


def test_a_proof_does_not_use_the_fact_left_out() -> None:
    graph = graph_of(TRIPLES)
    prover, _ = prover_of(graph, parse_rules(RULES))
    for triple in graph.train[::2].tolist():
        own = graph.text(triple).replace(", ", ",")
        with_it, without = (prover.proofs(triple, 1000, leave_out=b) for b in (False, True))
        assert any(node.atom == own and node.kind == "fact" for p in with_it for node in p.nodes)
        assert not any(n.atom == own and n.kind == "fact" for p in without for n in p.nodes)
        assert all(proof.check() for proof in without)
        success = prover(torch.tensor([triple]), leave_out=True).success.item()
        assert math.fsum(p.probability for p in without) == pytest.approx(success, rel=1e-6)


def test_nothing_to_prove() -> None:
    graph = graph_of(TRIPLES)
    rules = parse_rules(RULES)
    policy = policy_of(program_of(graph, rules))
    prover = Prover(database_of(graph, rules), policy)
    assert prover.proofs(graph.train[0].tolist(), n=5)
    assert prover.proofs([0, 0, 0], n=5) == []


def test_limits_are_not_passed_over() -> None:
    """kin has a proof of one step within the limits; the second may be a longer one."""
    graph = graph_of(TRIPLES)
    rules = parse_rules(RULES)
    policy = policy_of(program_of(graph, rules))
    prover = Prover(database_of(graph, rules), policy, limits=ExploreLimits(depth=1))
    triple = graph.train[-1].tolist()
    assert graph.text(triple).startswith("kin")
    with pytest.raises(Inexact, match="outside the limits"):
        prover.proofs(triple, n=2)
    far = Prover(database_of(graph, rules), policy)
    assert len(far.proofs(triple, n=2)) == 2


def test_a_program_that_is_another() -> None:
    graph = graph_of(TRIPLES)
    rules = parse_rules(RULES)
    program = program_of(graph, rules)
    other = Prover(
        database_of(graph, rules), policy_of(program), program=program_of(graph_of(TRIPLES[1:]))
    )
    with pytest.raises(ProofLogError, match="does not replay"):
        other.proofs(graph.train[0].tolist())


@pytest.mark.parametrize("name", ["village", "family"])
def test_graphs_people_use(name: str, request: pytest.FixtureRequest) -> None:
    """Test triples at nesting 2: what has success has a proof, which names lines of the files."""
    if name != "village":
        request.getfixturevalue("data_dir")
    graph = read_graph(name)
    assert graph.rules is not None
    rules = read_rules(graph.rules)
    program = program_of(graph, rules)
    policy = policy_of(program, "shared", false_action=True)
    prover = Prover(database_of(graph, rules, nesting=2), policy, program=program)
    triples = torch.from_numpy(graph.test[:20])
    success = prover(triples).success.tolist()
    assert sum(s > 0 for s in success) > 8
    for triple, total in zip(triples.tolist(), success, strict=True):
        proofs = prover.proofs(triple, n=3)
        assert bool(proofs) == (total > 0)
        assert math.fsum(p.probability for p in proofs) <= total * (1 + 1e-9)
        if len(proofs) < 3:
            assert math.fsum(p.probability for p in proofs) == pytest.approx(total)
        for proof in proofs:
            assert proof.check()
            facts = [node.place for node in proof.nodes if node.kind == "fact"]
            assert facts and all(place and "train" in place for place in facts)


def test_a_batch_has_the_proofs_that_each_triple_has_alone() -> None:
    """One exploration for all of them; with those by clauses first, all, or without belief."""
    graph = graph_of(TRIPLES)
    prover, program = prover_of(graph, parse_rules(RULES))
    triples = every_triple(graph)[::11]
    mass, search = prover.weigh_and_search(prover.goals(triples))
    assert search is not None
    assert torch.equal(mass.success, prover(triples).success.detach())
    modes: tuple[bool | Literal["last"], ...] = (True, False, "last")
    for number, triple in enumerate(triples.tolist()):
        query = program.query(graph.text(triple))
        for believing in modes:
            alone = prover.proofs(triple, 4, believing=believing)
            found = search.proofs(program, query, number, 4, believing)
            # Embedded in another batch, the last digit of a weight may differ.
            assert [[n.atom for n in p.nodes] for p in found] == [
                [n.atom for n in p.nodes] for p in alone
            ]
            assert [p.log_prob for p in found] == pytest.approx([p.log_prob for p in alone])


def test_a_batch_that_limits_cut_is_proved_one_by_one() -> None:
    graph = graph_of(TRIPLES)
    prover, _ = prover_of(graph, parse_rules(RULES))
    short = Prover(prover.database, prover.policy, prover.belief, ExploreLimits(depth=1))
    assert short.weigh_and_search(short.goals(every_triple(graph)[::11]))[1] is None
