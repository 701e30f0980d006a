"""Tables solved level by level: the values and gradients of `math`, column by column."""

from __future__ import annotations

import math
import random

import pytest
import torch

from deepprooflog.infer.tables.levels import level_log_values, levels_of
from deepprooflog.infer.tables.polynomial import System
from deepprooflog.infer.tables.tabled import ONE


def drawn(rng: random.Random) -> System:
    """Unknowns whose productions have factors among those before them, numbered at random."""
    n = rng.randint(1, 12)
    number = list(range(n))
    rng.shuffle(number)
    system = System()
    for _ in range(n):
        system.unknown()
    for i in range(n):
        for _ in range(rng.randint(0, 3)):
            factors = [number[rng.randrange(i)] if i else -1 for _ in range(rng.randint(0, 2))]
            left, right = [*factors, -1, -1][:2]
            system.add(number[i], ONE, left, right)
    return system


def by_hand(system: System, weights: list[float]) -> list[float]:
    """Probabilities by plain recursion over the productions."""

    def value(u: int) -> float:
        if u < 0:
            return 1.0
        return math.fsum(
            math.exp(w) * value(left) * value(right)
            for t, left, right, w in zip(
                system.target, system.left, system.right, weights, strict=True
            )
            if t == u
        )

    return [value(u) for u in range(system.unknowns)]


@pytest.mark.parametrize("seed", range(30))
def test_values_and_gradients(seed: int) -> None:
    rng = random.Random(seed)
    system = drawn(rng)
    levels = levels_of(system)
    assert levels is not None
    columns = 3
    weights = torch.tensor(
        [
            [-math.inf if rng.random() < 0.1 else -rng.random() * 3 for _ in range(columns)]
            for _ in system.target
        ],
        dtype=torch.float64,
    ).reshape(-1, columns).requires_grad_()  # fmt: skip
    log = level_log_values(levels, weights)
    for b in range(columns):
        wanted = by_hand(system, weights[:, b].tolist())
        assert log[:, b].exp().tolist() == pytest.approx(wanted, rel=1e-12)
    if not len(system.target):
        return
    # The gradient of Σ coefficient · log x by central differences of the recursion.
    finite = torch.isfinite(log.detach())
    coefficients = torch.tensor([[rng.random() for _ in range(columns)] for _ in log])
    (slope,) = torch.autograd.grad((log[finite] * coefficients[finite]).sum(), weights)
    for b in range(columns):
        for p in range(len(system.target)):
            base = weights[:, b].tolist()
            if base[p] == -math.inf:
                assert slope[p, b] == 0.0
                continue
            ends = []
            for step in (1e-5, -1e-5):
                base[p] += step
                found = by_hand(system, base)
                base[p] -= step
                ends.append(
                    math.fsum(
                        float(coefficients[u, b]) * math.log(x)
                        for u, x in enumerate(found)
                        if finite[u, b]
                    )
                )
            assert float(slope[p, b]) == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-6)


def test_a_cycle_has_no_levels() -> None:
    system = System()
    a, b = system.unknown(), system.unknown()
    system.add(a, ONE, b)
    system.add(b, ONE, a)
    system.add(b, ONE)
    assert levels_of(system) is None


def test_probabilities_far_below_the_range_of_floats() -> None:
    system = System()
    before = -1
    for _ in range(50):
        here = system.unknown()
        system.add(here, ONE, before)
        before = here
    levels = levels_of(system)
    assert levels is not None
    log = level_log_values(levels, torch.full((50, 2), -100.0, dtype=torch.float64))
    assert log[-1].tolist() == [-5000.0, -5000.0]
