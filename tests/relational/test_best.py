"""The most probable derivations one after another, against all of them listed and sorted."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
import torch
from hypothesis import strategies as st

from deepprooflog.errors import Inexact
from deepprooflog.logic.program import Program
from deepprooflog.relational.best_paths import best_paths
from deepprooflog.relational.database import Database
from deepprooflog.relational.layers import Layers, explore
from programs.fresh import fresh
from programs.function_free import Asked, stratified


def listed(layers: Layers, weights: list[torch.Tensor], query: int) -> Iterator[list[float]]:
    """The steps' weights of every derivation, by recursion over the layers."""

    def below(depth: int, goal: int) -> Iterator[list[float]]:
        if layers.goals[depth].is_true[goal]:
            yield []
            return
        if depth == len(layers.steps):
            return
        steps = layers.steps[depth]
        for e in (steps.source == goal).nonzero().flatten().tolist():
            for rest in below(depth + 1, int(steps.target[e])):
                yield [float(weights[depth][e]), *rest]

    return below(0, int(layers.roots[query]))


@fresh(12, stratified(), st.integers(0, 2**32))
def test_every_derivation_once_in_order(asked: Asked, seed: int) -> None:
    database = Database.of(asked.program())
    layers = explore(database, database.goals(asked.queries), max_depth=6, max_goals=400)
    if layers.cut:
        return
    draw = torch.Generator().manual_seed(seed)
    weights = [
        torch.rand(len(s.source), generator=draw, dtype=torch.float64).log() for s in layers.steps
    ]
    for query in range(len(asked.queries)):
        expected = sorted((math.fsum(d) for d in listed(layers, weights, query)), reverse=True)
        found = [path.log_prob for path in best_paths(layers, weights, query)]
        assert found == pytest.approx(expected)


def test_a_path_names_its_steps() -> None:
    """p by q (½) or r (¼): the better way is steps 0 of layer 0 and of layer 1."""
    database = Database.of(Program("p :- q. p :- r. q. r."))
    layers = explore(database, database.goals(["p"]), max_depth=5)
    weights = [torch.tensor([0.5, 0.25]).log(), torch.tensor([1.0, 1.0]).log()]
    first, second = best_paths(layers, weights)
    assert (first.steps, second.steps) == ((0, 0), (1, 1))
    assert [math.exp(p.log_prob) for p in (first, second)] == pytest.approx([0.5, 0.25])


def test_what_a_budget_left_open_may_be_better() -> None:
    """p :- p weighs .9, p. weighs .1: after two steps the open goal could still have .81."""
    database = Database.of(Program("p :- p. p."))
    layers = explore(database, database.goals(["p"]), max_depth=2)
    ends = [
        goals.is_true[steps.target]
        for goals, steps in zip(layers.goals[1:], layers.steps, strict=True)
    ]
    weights = [torch.where(end, 0.1, 0.9).log() for end in ends]
    with pytest.raises(Inexact) as caught:
        next(best_paths(layers, weights))
    assert caught.value.upper == pytest.approx(0.81)
