"""Generalised advantage estimation against its definition as a sum."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from deepprooflog.learn.rollout import gae


def by_definition(
    reward: Tensor, value: Tensor, after: Tensor, over: Tensor, gamma: float, lam: float
) -> Tensor:
    """A_t = Σ_k (γλ)^k δ_{t+k}, k up to the end of the episode or of the rollout."""
    found = torch.zeros_like(reward)
    for e in range(reward.shape[1]):
        for t in range(len(reward)):
            for k in range(len(reward) - t):
                delta = reward[t + k, e] + gamma * after[t + k, e] - value[t + k, e]
                found[t, e] += (gamma * lam) ** k * delta
                if over[t + k, e]:
                    break
    return found


@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 0.95), (0.9, 0.5), (1.0, 1.0), (0.7, 0.0)])
def test_against_the_sum(gamma: float, lam: float) -> None:
    generator = torch.Generator().manual_seed(0)
    reward, value, after = torch.randn(3, 9, 5, generator=generator, dtype=torch.float64)
    over = torch.rand(9, 5, generator=generator) < 0.3
    expected = by_definition(reward, value, after, over, gamma, lam)
    torch.testing.assert_close(gae(reward, value, after, over, gamma=gamma, lam=lam), expected)


def test_one_step_after_another() -> None:
    """γ = λ = 1 without a critic: the reward that is still to come in the episode."""
    reward = torch.tensor([[0.0], [1.0], [0.0], [-1.0]])
    over = torch.tensor([[False], [True], [False], [True]])
    none = torch.zeros_like(reward)
    found = gae(reward, none, none, over, gamma=1.0, lam=1.0)
    assert found.flatten().tolist() == [1.0, 1.0, -1.0, -1.0]


def test_no_steps() -> None:
    none = torch.zeros(0, 3)
    assert gae(none, none, none, none.bool()).shape == (0, 3)
