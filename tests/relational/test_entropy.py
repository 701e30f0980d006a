"""The entropy of a query's first step, and what it does to a policy that learns."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from deepprooflog.kg.data.rules import parse_rules
from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.learn.exact_learner import train_exact
from deepprooflog.kg.learn.exact_options import ExactOptions
from deepprooflog.kg.prove.program import database_of, program_of
from deepprooflog.kg.prove.prover import ExploreLimits, Prover
from deepprooflog.relational.sweep import first_entropy
from deepprooflog.score.embedding.embedding import Embedding

# Either rule proves every parent: what is chosen does not change p_success.
RULES = "parent(X, Y) :- mother(X, Y). parent(X, Y) :- cares(X, Y)."


def family() -> Graph:
    names = [f"p{i}" for i in range(8)]
    pairs = list(pairwise(names))
    facts = [(a, r, b) for a, b in pairs for r in ("mother", "cares")]
    parents = [(a, "parent", b) for a, b in pairs]
    return graph_of(facts, parents[:5], parents[5:])


def prover_of(graph: Graph) -> Prover:
    read = parse_rules(RULES)
    policy = Embedding(program_of(graph, read), 8, "mlp", "mean", seed=1, constants="shared")
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(1.5)  # far from undecided
    return Prover(database_of(graph, read, nesting=1), policy, limits=ExploreLimits(depth=10))


def choices(prover: Prover, triples: Tensor) -> list[list[float]]:
    """The probabilities of each query's first steps, one by one."""
    layers = prover.explore(prover.goals(triples))
    weights, _ = prover.log_weights(layers)
    found: list[list[float]] = [[] for _ in range(len(layers.goals[0]))]
    for goal, log in zip(layers.steps[0].source.tolist(), weights[0].tolist(), strict=True):
        found[goal].append(math.exp(log))
    return [found[i] for i in layers.roots.tolist()]


def test_it_is_the_sum_over_choices() -> None:
    graph = family()
    prover = prover_of(graph)
    triples = torch.from_numpy(graph.valid)
    layers = prover.explore(prover.goals(triples))
    weights, _ = prover.log_weights(layers)
    expected = [-sum(p * math.log(p) for p in row) for row in choices(prover, triples)]
    assert first_entropy(layers, weights[0]).tolist() == pytest.approx(expected, abs=1e-6)
    assert 0 < min(expected) < max(expected) + 1e-9 < math.log(2)


def test_what_makes_no_difference_stays_undecided() -> None:
    """With its weight the two rules become equally likely; without it nothing is learned."""
    graph = family()
    triples = torch.from_numpy(graph.test)
    before = choices(prover_of(graph), triples)
    assert abs(before[0][0] - 0.5) > 0.1
    after = {}
    for weight in (0.0, 1.0):
        prover = prover_of(graph)
        options = ExactOptions(
            steps=150, batch=5, negatives=2, lr=0.002, calibration=0.0, entropy=weight
        )
        train_exact(prover, graph, graph.valid, options)
        after[weight] = choices(prover, triples)
    assert after[0.0][0] == pytest.approx(before[0], abs=1e-4)
    assert after[1.0][0] == pytest.approx([0.5, 0.5], abs=0.01)
