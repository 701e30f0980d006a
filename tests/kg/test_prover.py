"""p_success of triples under a policy and a prior, against exact inference over goal graphs."""

from __future__ import annotations

import math
import re
from functools import cache

import pytest
import torch
from torch import Tensor

import deepprooflog as dpl
from deepprooflog.errors import ModelError
from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.belief.calibration import Calibration
from deepprooflog.kg.data.rules import parse_rules
from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.kge.rotate import RotatE
from deepprooflog.kg.prove.program import database_of, program_of
from deepprooflog.kg.prove.prover import ExploreLimits, Prover
from deepprooflog.logic.choice import WeightSource
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.program import Program
from deepprooflog.logic.resolve import start, successors
from deepprooflog.score.embedding.embedding import Embedding
from deepprooflog.score.embedding.vocabulary import ConstantRows
from deepprooflog.score.network import Network
from deepprooflog.syntax.terms import Struct, Term, struct

RULES = """
gran(X, Y) :- parent(X, Z), parent(Z, Y).
uncle(X, Y) :- brother(X, Z), parent(Z, Y).
uncle(X, Y) :- brother(X, Z), gran(Z, Y).
kin(X, Y) :- uncle(X, Y).
kin(X, Y) :- gran(X, Y), brother(X, Z).
kin(X, Y) :- parent(X, Y).
"""
TRIPLES: list[tuple[str | int, str, str | int]] = [
    ("ann", "parent", "bob"), ("bob", "parent", "cid"), ("cid", "parent", 7),
    ("dan", "brother", "bob"), ("dan", "brother", "ann"), ("eve", "brother", "cid"),
    ("ann", "gran", "cid"), ("dan", "uncle", "cid"), ("dan", "kin", "cid"),
]  # fmt: skip


@pytest.fixture
def graph() -> Graph:
    return graph_of(TRIPLES)


def belief_of(graph: Graph) -> Belief:
    torch.manual_seed(3)
    kge = RotatE(len(graph.entities), len(graph.relations), 4, margin=2.0)
    slope = torch.linspace(0.2, 0.6, len(graph.relations))
    line = Calibration(slope, slope - 0.7, base_rate=0.5)
    return Belief(kge, line, graph.relations, graph.entities)


def policy_of(
    program: Program, constants: ConstantRows = "own", false_action: bool = False
) -> Embedding:
    return Embedding(
        program, 6, "mlp", "sum", constants=constants, false_action=false_action, seed=2
    ).double()


def every_triple(graph: Graph) -> Tensor:
    n, m = len(graph.entities), len(graph.relations)
    return torch.cartesian_prod(torch.arange(n), torch.arange(m), torch.arange(n))


@pytest.mark.parametrize("false_action", [False, True])
@pytest.mark.parametrize("constants", ["own", "shared"])
def test_success_is_that_of_the_model(
    graph: Graph, constants: ConstantRows, false_action: bool
) -> None:
    """Every triple of the graph: plain resolution with the same policy and the same prior."""
    rules = parse_rules(RULES)
    program = program_of(graph, rules, believe=True)
    ours, theirs = (policy_of(program, constants, false_action) for _ in range(2))
    prior, same = belief_of(graph), belief_of(graph)
    prover = Prover(database_of(graph, rules, believe=True), ours, prior)
    network = Network(same, number=same.number)
    model = dpl.Model(program, networks={"kge": network}, scorer=theirs)
    triples = every_triple(graph)
    found = prover(triples)
    expected = model.log_prob([graph.text(row) for row in triples.tolist()]).exp()
    torch.testing.assert_close(found.success, expected, rtol=1e-6, atol=1e-9)
    assert (found.proof <= found.success).all() and not found.open.any()
    found.success.log().sum().backward()
    expected.log().sum().backward()
    compared = [*zip(ours.named_parameters(), theirs.parameters(), strict=True)]
    compared += [*zip(prior.named_parameters(), same.parameters(), strict=True)]
    assert sum(p.grad is not None and bool(p.grad.any()) for (_, p), _ in compared) > 6
    for (name, one), two in compared:
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in (one, two)]
        torch.testing.assert_close(*grads, rtol=1e-4, atol=1e-6, msg=name)


def test_a_query_does_not_use_itself(graph: Graph) -> None:
    """Each training triple, against the model of the program without it."""
    rules = parse_rules(RULES)
    program = program_of(graph, rules, believe=True)
    policy, belief = policy_of(program), belief_of(graph)
    prover = Prover(database_of(graph, rules, believe=True), policy, belief)
    triples = torch.from_numpy(graph.train)
    found = prover(triples, leave_out=True).success
    assert (found != prover(triples).success).all()
    networks = {"kge": Network(belief, number=belief.number)}
    for number, row in enumerate(graph.train.tolist()):
        query = program.query(graph.text(row))
        view = program.without(query.atoms[0])  # type: ignore[arg-type]
        model = dpl.Model(view, networks=networks, scorer=policy)
        assert found[number].item() == pytest.approx(model.prob(query), rel=1e-6)


def test_the_share_of_proof() -> None:
    """A fact beside belief, by hand: softmax of True and believe(r, a, b), and p of the prior."""
    graph = graph_of([("a", "r", "b"), ("b", "r", "a")])
    program = program_of(graph, believe=True)
    policy, belief = policy_of(program, false_action=True), belief_of(graph)
    prover = Prover(database_of(graph, believe=True), policy, belief)
    found = prover(torch.tensor([[0, 0, 1], [0, 0, 0]]))
    interner = Interner()
    texts = ["r(a, b)", "believe(r, a, b)", "r(a, a)", "believe(r, a, a)"]
    goals = [start(program.query(text).atoms, interner) for text in texts]
    e = policy.embed(goals).squeeze(1).detach()
    for number, tail in enumerate((1, 0)):
        own, believe = e[2 * number], e[2 * number + 1]
        chosen = [math.exp(own @ v.detach()) for v in (believe, policy.false, policy.true)]
        if number:
            chosen[2] = 0.0  # r(a, a) is no fact
        zero = torch.tensor([0])
        p = belief.log_probability(zero, zero, torch.tensor([tail])).exp().item()
        proof = chosen[2] / sum(chosen)
        assert found.proof[number].item() == pytest.approx(proof)
        assert found.success[number].item() == pytest.approx(proof + chosen[0] / sum(chosen) * p)


def strata(graph: Graph, nesting: int) -> Program:
    """Only the top level believes: relation r with n nestings left is `r_n`."""
    lines = ["nn(kge, [R, X, Y]) :: believe(R, X, Y)."]
    names = [f"{r}_{n}/2" for r in graph.relations for n in range(nesting + 1)]
    for n in range(nesting + 1):
        lines += [f":- dynamic({r}_{n}/2)." for r in graph.relations]
        lines += [f"{r}_{n}({h}, {t})." for h, r, t in TRIPLES]
        if n:
            for rule in RULES.strip().splitlines():
                head, body = rule.split(" :- ")
                body = re.sub(r"\b([a-z]+)\(", rf"\1_{n - 1}(", body)
                lines.append(re.sub(r"^([a-z]+)", rf"\1_{n}", head) + f" :- {body}")
    guards = "ground(X), ground(Y), !"
    lines += [f"{r}_{nesting}(X, Y) :- {guards}, believe({r}, X, Y)." for r in graph.relations]
    return Program(
        "\n".join([f":- discontiguous([{', '.join(names)}]).", *lines]), order="bound_first"
    )


def unstratified(goal: Goal) -> Goal:
    def renamed(atom: Term) -> Term:
        assert isinstance(atom, Struct)
        return struct(re.sub(r"_\d$", "", atom.functor.name), *atom.args)

    return Goal(tuple(map(renamed, goal.atoms)), goal.answer, goal.size)


@pytest.mark.parametrize("nesting", [0, 1, 2])
def test_belief_at_the_query_only(graph: Graph, nesting: int) -> None:
    """V(G) = Σ p(G' | G) V(G'), written as a recursion over the stratified program's text."""
    rules = parse_rules(RULES)
    policy, belief = policy_of(program_of(graph, rules, believe=True)), belief_of(graph)
    database = database_of(graph, rules, believe="query", nesting=nesting)
    prover = Prover(database, policy, belief)
    program, interner = strata(graph, nesting), Interner()

    def embedded(goal: Goal) -> Tensor:
        return policy.embed([unstratified(goal)]).flatten().detach()

    @cache
    def value(goal: Goal) -> float:
        if goal.is_true:
            return 1.0
        steps = list(successors(program, goal, interner))
        if any(step.choice.weigher is WeightSource.BERNOULLI for step in steps):
            inputs = (belief.number(j, t) for j, t in enumerate(steps[0].choice.inputs))
            p = belief.log_probability(*(torch.tensor([i]) for i in inputs)).exp().item()
            return p * value(steps[0].goal)
        following = dict.fromkeys(step.goal for step in steps)
        logits = [math.exp(embedded(goal) @ embedded(after)) for after in following]
        weighed = zip(logits, following, strict=True)
        return sum(weight * value(after) for weight, after in weighed) / (sum(logits) or 1.0)

    triples = every_triple(graph)[::7]
    found = prover(triples).success
    for number, (h, r, t) in enumerate(triples.tolist()):
        name = graph.relations[r]
        text = graph.text((h, r, t)).replace(name, f"{name}_{nesting}", 1)
        expected = value(start(program.query(text).atoms, interner))
        assert found[number].item() == pytest.approx(expected, rel=1e-6), text


def test_limits_bound_success(graph: Graph) -> None:
    rules = parse_rules(RULES)
    policy, belief = policy_of(program_of(graph, rules, believe=True)), belief_of(graph)
    database = database_of(graph, rules, believe=True)
    triples = every_triple(graph)
    exact = Prover(database, policy, belief)(triples).success
    for limits in (ExploreLimits(depth=2), ExploreLimits(atoms=1), ExploreLimits(goals=400)):
        prover = Prover(database, policy, belief, limits)
        layers = prover.explore(prover.goals(triples))
        found = prover.weigh(layers)
        assert layers.cut and found.open.max() > 0.01
        assert (found.success <= exact + 1e-12).all() and (exact <= found.upper + 1e-12).all()


def test_belief_must_know_what_it_is_asked(graph: Graph) -> None:
    policy = policy_of(program_of(graph, believe=True))
    with pytest.raises(ModelError, match="no belief to ask"):
        Prover(database_of(graph, believe=True), policy)
    other = belief_of(graph_of([("a", "r", "b")]))
    with pytest.raises(ModelError, match="believes brother/2, which the embedding does not know"):
        Prover(database_of(graph, believe=True), policy, other)
    rules = parse_rules("kin(X, Y) :- parent(X, zed), parent(zed, Y).")
    with pytest.raises(ModelError, match="a rule mentions zed"):
        Prover(database_of(graph, rules, believe=True), policy, belief_of(graph))


def test_a_prover_on_a_gpu(graph: Graph) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    rules = parse_rules(RULES)
    policy, belief = policy_of(program_of(graph, rules, believe=True)), belief_of(graph)
    prover = Prover(database_of(graph, rules, believe=True), policy, belief)
    triples = every_triple(graph)
    here = prover(triples).success.detach()
    there = prover.to("cuda")(triples).success.detach().cpu()
    torch.testing.assert_close(here, there, rtol=1e-5, atol=1e-8)
