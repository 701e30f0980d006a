"""A learned look-ahead on the addition program: less variance than none, more than V itself."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import deepprooflog as dpl
from deepprooflog.infer.particles.arena import Arena, LookAhead, steps_ahead
from deepprooflog.infer.particles.prepare import ParticleBatch, arenas
from deepprooflog.learn.baseline import Value
from deepprooflog.learn.smc import paths, smc_log_prob
from deepprooflog.recipes.addition.task import program

LENGTH = 6


def sums(codes: Tensor, digits: Tensor) -> list[dpl.Query]:
    """Goals for digits [sums, 2, n], each shown as its noisy code."""
    goals = []
    for a, b in digits.tolist():
        total = sum(10**i * (x + y) for i, (x, y) in enumerate(zip(a, b, strict=True)))
        written = [int(c) for c in reversed(f"{total:0{len(a)}d}")]
        x, y = (list(codes[row] + 0.3 * torch.randn(len(row), 8)) for row in (a, b))
        goals.append(dpl.goal("add(X, Y, Z, 0)", X=x, Y=y, Z=written))
    return goals


def addition(epochs: int) -> tuple[dpl.Model, list[dpl.Query], list[dpl.Query]]:
    """A model after some epochs on a few sums, those sums, and others that it has not seen."""
    torch.manual_seed(0)
    codes = torch.randn(10, 8)
    seen = sums(codes, torch.randint(0, 10, (12, 2, LENGTH)))
    unseen = sums(codes, torch.randint(0, 10, (6, 2, LENGTH)))
    net = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    model = dpl.Model(program(), networks={"lenet": net})
    compiled = model.compile(seen)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        optimizer.zero_grad()
        (-model.log_prob(compiled).mean()).backward()
        optimizer.step()
    return model, seen, unseen


def learned(model: dpl.Model, batch: ParticleBatch) -> Value:
    """A value network taught by Bellman's equation alone."""
    value = Value()
    optimizer = torch.optim.Adam(value.parameters(), lr=0.02)
    ((_, arena),) = arenas(batch, model.weights)
    assert isinstance(arena, Arena)
    for _ in range(200):
        optimizer.zero_grad()
        value.loss(arena, torch.arange(len(arena.begin))).backward()
        optimizer.step()
    return value


@pytest.mark.parametrize("epochs", [0, 12], ids=["untrained", "half trained"])
def test_a_learned_look_ahead_lowers_the_variance(epochs: int) -> None:
    """The values were learned on other sums than those that are estimated."""
    model, seen, unseen = addition(epochs)
    batch = paths(model, unseen)
    value = learned(model, paths(model, seen))
    exact = model.log_prob(unseen).detach()
    select = torch.arange(len(unseen)).repeat(60)

    def estimates(ahead: LookAhead | None) -> tuple[Tensor, float]:
        generator = torch.Generator().manual_seed(1)
        log_p, found = smc_log_prob(
            model, batch, 4, select=select, look_ahead=ahead, generator=generator
        )
        return log_p.detach().view(60, -1), float(found.effective.mean())

    none, effective_none = estimates(None)
    ahead, effective_ahead = estimates(value)
    end, effective_end = estimates(steps_ahead(LENGTH + 1))
    # With V itself every weight is p: no variance, and all particles count.
    assert torch.allclose(end, exact.expand_as(end), atol=1e-9)
    assert effective_end == pytest.approx(4.0)
    assert float(ahead.var(0).mean()) < float(none.var(0).mean()) / 2
    assert effective_none < effective_ahead < 4.0
