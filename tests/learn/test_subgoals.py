"""Sub-goals of queries: windows estimated without bias, padded selections the same as ragged."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

import deepprooflog as dpl
from deepprooflog.infer.particles.arena import Arena, steps_ahead
from deepprooflog.infer.particles.prepare import ParticleBatch, arenas
from deepprooflog.infer.particles.unfolded_arena import longest
from deepprooflog.learn.smc import paths
from deepprooflog.learn.subgoals import goals_at, subgoal_log_prob, windows

ADDITION = """
nn(digits, [X], D, 0..9) :: digit(X, D).
add([], [], [], 0).
add([], [], [1], 1).
add([X|Xs], [Y|Ys], [Z|Zs], C) :-
    digit(X, A), digit(Y, B), S is A+B+C, Z is S mod 10, C1 is S // 10, add(Xs, Ys, Zs, C1).
"""


def additions(lengths: list[int]) -> tuple[dpl.Model, ParticleBatch, list[dpl.Query]]:
    """Sums of different lengths with an untrained network."""
    torch.manual_seed(len(lengths))
    net = torch.nn.Linear(4, 10)
    goals = []
    for n in lengths:
        a, b = torch.randint(0, 10, (2, n)).tolist()
        total = sum(10**i * (x + y) for i, (x, y) in enumerate(zip(a, b, strict=True)))
        written = [int(c) for c in reversed(f"{total:0{n}d}")]
        x, y = torch.randn(2, n, 4).unbind(0)
        goals.append(dpl.goal("add(X, Y, Z, 0)", X=list(x), Y=list(y), Z=written))
    model = dpl.Model(dpl.Program(ADDITION), networks={"digits": net})
    return model, paths(model, goals), goals


def arena_of(model: dpl.Model, batch: ParticleBatch, select: list[int], padded: bool) -> Arena:
    assert batch.flat is not None
    return batch.flat.arena(torch.tensor(select), batch.bank, model.weights, padded=padded)


def test_a_padded_selection_is_the_ragged_one() -> None:
    model, batch, goals = additions([3, 1, 5, 2, 4])
    select = [4, 1, 1, 2, 0]
    exact = model.log_prob(goals).detach()[select]
    for padded in (False, True):
        arena = arena_of(model, batch, select, padded)
        values = steps_ahead(6)(arena)[arena.roots]
        assert values.tolist() == pytest.approx(exact.tolist())
    own = [len(arena_of(model, batch, [q], True).weights) for q in range(5)]
    assert len(set(own)) == 1  # whatever is selected, the sizes are the same


def test_the_longest_derivation() -> None:
    def steps(arrows: list[tuple[int, int]], nodes: int) -> int | None:
        source, target = (np.array(x) for x in zip(*sorted(arrows), strict=True))
        return longest(nodes, source, target)

    assert steps([(0, -2)], 1) == 1
    assert steps([(0, 1), (0, -2), (1, 2), (2, -2)], 3) == 3
    assert steps([(0, 1), (1, 0), (1, -2)], 2) is None
    _, batch, _ = additions([3, 7])
    assert batch.flat is not None
    assert batch.flat.longest == 7


def exact_windows(arena: Arena, depth: Tensor, horizon: int) -> Tensor:
    """Σ over windows of log of the mean over their goals of the weight of h live steps."""
    value = torch.ones(len(arena.begin), dtype=torch.float64)
    for _ in range(horizon):
        step = torch.zeros_like(value).index_add(
            0, arena.source, arena.weights.exp() * value[arena.target]
        )
        value = torch.where(arena.true, 1.0, step)
    assert arena.levels is not None
    total = []
    for q, row in enumerate(depth.tolist()):
        first = arena.levels[q].tolist()
        means = [value[first[d] : first[d + 1]].mean() for d in row]
        total.append(torch.stack(means).log().sum())
    return torch.stack(total)


@pytest.mark.parametrize("horizon", [1, 2, 4, 9])
def test_windows_against_sums_over_all_steps(horizon: int) -> None:
    """Value and gradient, against every live step of every window."""
    model, batch, _ = additions([6, 3])
    ((_, ground),) = arenas(batch, model.weights, [0, 1])
    assert isinstance(ground, Arena)
    depth = windows(ground, horizon, torch.Generator().manual_seed(5))
    exact = exact_windows(ground, depth, horizon)
    found = subgoal_log_prob(
        model, batch, 20_000, horizon=horizon, generator=torch.Generator().manual_seed(5)
    )
    assert found.tolist() == pytest.approx(exact.tolist(), abs=0.03 * depth.shape[1])
    weights = list(model.parameters())[:2]
    one = torch.autograd.grad(found.sum(), weights)
    two = torch.autograd.grad(exact.sum(), weights)
    for a, b in zip(one, two, strict=True):
        assert torch.linalg.norm(a - b) < 0.05 * torch.linalg.norm(b)


def test_windows_cover_every_depth() -> None:
    model, batch, _ = additions([9, 4])
    arena = arena_of(model, batch, [0, 1], False)
    for seed in range(20):
        depth = windows(arena, 4, torch.Generator().manual_seed(seed))
        for row, steps in zip(depth.tolist(), (9, 4), strict=True):
            covered = {d + i for d in row for i in range(4)}
            assert set(range(steps)) <= covered
            assert max(row) < steps


def test_goals_are_started_from_evenly() -> None:
    """A sum has one goal at its root and one for each carry behind it."""
    model, batch, _ = additions([5])
    arena = arena_of(model, batch, [0], False)
    starts = goals_at(arena, torch.tensor([[0, 2]]), 64, torch.Generator().manual_seed(0))
    assert starts[0].unique().tolist() == arena.roots.tolist()
    counts = starts[1].unique(return_counts=True)[1]
    assert counts.tolist() == [32, 32]


def test_one_window_is_the_whole_query() -> None:
    text = "t(0.3) :: p(a). t(0.7) :: p(b). q(X) :- p(X), p(X). r."
    model = dpl.Model(dpl.Program(text))
    batch = paths(model, ["q(a)", "q(b)", "r"])
    found = subgoal_log_prob(model, batch, 4, horizon=10).exp()
    assert found.tolist() == pytest.approx([0.09, 0.49, 1.0])


def test_what_is_refused() -> None:
    model, batch, _ = additions([2])
    with pytest.raises(dpl.ProofLogError, match="at least one step"):
        subgoal_log_prob(model, batch, horizon=0)
    endless = dpl.Model(dpl.Program("0.3 :: p :- p, p. 0.4 :: p."))
    with pytest.raises(dpl.ProofLogError, match="can be unfolded"):
        subgoal_log_prob(endless, paths(endless, ["p"]), horizon=3)


def test_learning_on_subgoals_finds_the_labels() -> None:
    """Two inputs, sums of eight digits: windows of two steps teach both digits."""
    torch.manual_seed(1)
    codes = torch.eye(4)[:2]
    net = torch.nn.Linear(4, 10)
    model = dpl.Model(dpl.Program(ADDITION), networks={"digits": net})
    goals = []
    for _ in range(30):
        which = torch.randint(0, 2, (2, 8))
        digits = torch.tensor([2, 7])[which]
        total = sum(10**i * int(digits[:, i].sum()) for i in range(8))
        written = [int(c) for c in reversed(f"{total:08d}")]
        x, y = (list(codes[w]) for w in which)
        goals.append(dpl.goal("add(X, Y, Z, 0)", X=x, Y=y, Z=written))
    batch = paths(model, goals)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(120):
        optimizer.zero_grad()
        (-subgoal_log_prob(model, batch, 8, horizon=2).mean()).backward()
        optimizer.step()
    assert net(codes).argmax(1).tolist() == [2, 7]
    assert model.log_prob(goals).mean().item() > math.log(0.5)
