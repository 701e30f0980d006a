"""Proposition 1: an embedding scorer fits any distribution over the derivations of a tree."""

from __future__ import annotations

import random

import pytest
import torch

from deepprooflog.graph.goalgraph import goal_text
from deepprooflog.logic.program import Program
from deepprooflog.score.embedding.embedding import Embedding
from score.scenes import scene_of


def random_tree(goals: int, rng: random.Random) -> Program:
    """A program whose derivation tree is random: each goal has one parent, leaves are facts."""
    parent = {i: rng.randrange(max(0, i - 9), i) for i in range(1, goals)}
    lines = [f"g{p} :- g{i}." for i, p in sorted(parent.items(), key=lambda item: item[::-1])]
    leaves = sorted(set(range(goals)) - set(parent.values()))
    return Program("\n".join(sorted(lines) + [f"g{i}." for i in leaves]))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_any_distribution_over_a_derivation_tree(seed: int) -> None:
    rng = random.Random(seed)
    goals = 24
    program = random_tree(goals, rng)
    scene = scene_of(program, "g0")
    graph = scene.graph
    assert {goal_text(g) for g in graph.goals} == {f"g{i}" for i in range(goals)} | {"true"}
    draws = torch.tensor([0.05 + rng.random() for _ in range(graph.edges)], dtype=torch.float64)
    source = torch.as_tensor(graph.source)
    total = torch.zeros(graph.nodes, dtype=torch.float64).index_add(0, source, draws)
    target = draws / total[source]
    scorer = Embedding(program, dim=graph.nodes, f_atom="mlp", f_agg="sum", seed=seed).double()
    optimizer = torch.optim.LBFGS(
        scorer.parameters(), max_iter=300, line_search_fn="strong_wolfe", tolerance_grad=1e-9
    )

    def cross_entropy() -> torch.Tensor:
        optimizer.zero_grad()
        loss = -(target * scorer.log_weights(scene)[:, 0]).sum()
        loss.backward()
        return loss

    optimizer.step(cross_entropy)
    found = scorer.log_weights(scene)[:, 0].exp()
    assert (found - target).abs().max().item() < 1e-3
    # The tree is no trivial one: several goals choose, and the target is far from uniform.
    assert (torch.bincount(source) > 1).sum().item() >= 5
    assert target.std().item() > 0.1
