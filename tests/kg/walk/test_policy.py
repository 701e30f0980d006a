"""The policy's weights: which of them sum to 1, and what they depend on."""

from __future__ import annotations

import pytest
import torch

from deepprooflog.kg.walk.options import WalkOptions
from deepprooflog.kg.walk.policy import WalkPolicy


@pytest.mark.parametrize("heads", [1, 2])
def test_choices_sum_to_one(heads: int) -> None:
    """Beginning in a state of the head, turning within it, stepping along a relation or staying."""
    policy = WalkPolicy(3, WalkOptions(hops=2, states=4, heads=heads)).double()
    weights = policy(torch.tensor([0, 5]))
    of_head = 4 // heads
    assert weights.begin.view(2, heads, of_head).sum(2).tolist() == [[pytest.approx(1)] * heads] * 2
    torch.testing.assert_close(weights.turn.sum(3), torch.ones_like(weights.turn[..., 0]))
    torch.testing.assert_close(weights.step.sum(1), torch.ones_like(weights.step[:, 0]))
    across = weights.turn[:, :, :of_head, of_head:]
    assert not across.numel() or float(across.detach().abs().max()) == 0


def test_hops_alike() -> None:
    weights = WalkPolicy(2, WalkOptions(hops=3, states=2, alike=True))(torch.tensor([1]))
    torch.testing.assert_close(weights.step[0], weights.step[2])
    torch.testing.assert_close(weights.turn[0], weights.turn[1])


@pytest.mark.parametrize(("counting", "expected"), [("each", 0.0), ("one", 1.0), ("learned", 0.5)])
def test_the_power_of_the_degree(counting: str, expected: float) -> None:
    powers = WalkPolicy(2, WalkOptions(counting=counting)).powers()
    assert powers.tolist() == [expected] * 4
