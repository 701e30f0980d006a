"""The moving average against its closed form."""

from __future__ import annotations

import itertools

import pytest
import torch

from deepprooflog.learn.run.average import Average
from deepprooflog.learn.run.descent import SCHEDULES, rate


def test_closed_form() -> None:
    """After t steps at the constant c from 0: c (1 − Π d_s), d_s = min(decay, (1+s)/(10+s))."""
    layer = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(layer.weight)
    average = Average(layer, decay=0.5)
    torch.nn.init.constant_(layer.weight, 2.0)
    left = 1.0
    for step in range(1, 12):
        average.update()
        left *= min(0.5, (1 + step) / (10 + step))
        assert average.values[0].item() == pytest.approx(2 * (1 - left), rel=1e-5)


def test_applied_and_taken_back() -> None:
    layer = torch.nn.Linear(2, 2)
    average = Average(layer, decay=0.9)
    torch.nn.init.constant_(layer.weight, 5.0)
    with average.applied():
        assert not bool((layer.weight == 5).any())
        layer(torch.ones(1, 2)).sum().backward()
    assert bool((layer.weight == 5).all())
    with pytest.raises(RuntimeError, match="in the middle"), average.applied():
        raise RuntimeError("in the middle")
    assert bool((layer.weight == 5).all())


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_rates_stay_in_range_and_end_low(schedule: str) -> None:
    values = [rate(schedule, i / 1000) for i in range(1001)]
    assert all(0 <= v <= 1 for v in values)
    assert max(values) == pytest.approx(1, abs=1e-4)
    if schedule != "constant":
        assert values[-1] == pytest.approx(0, abs=1e-9)
        jumps = [abs(a - b) for a, b in itertools.pairwise(values)]
        assert max(jumps) < 0.03
