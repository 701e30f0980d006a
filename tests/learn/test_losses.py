"""Losses against their formulas in exact arithmetic, at both ends of [0, 1]."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import deepprooflog as dpl
from deepprooflog.learn import losses

INF = math.inf


def logs(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def slopes(loss: Tensor, log_p: Tensor) -> list[float]:
    (gradient,) = torch.autograd.grad(loss[loss.isfinite()].sum(), log_p)
    return gradient.tolist()


def test_linear_is_the_value_of_the_decision_process() -> None:
    """−V(q, y) = (1 − 2y) p, and its slope in log p."""
    log_p = logs(math.log(0.3), math.log(0.3), -INF, -INF)
    loss = losses.linear(log_p, torch.tensor([1, 0, 1, 0]))
    assert loss.tolist() == pytest.approx([-0.3, 0.3, 0, 0])
    assert slopes(loss, log_p) == pytest.approx([-0.3, 0.3, 0, 0])


@given(st.floats(1e-12, 1 - 1e-12))
def test_cross_entropy(p: float) -> None:
    log_p = logs(math.log(p), math.log(p))
    loss = losses.cross_entropy(log_p, torch.tensor([1, 0]))
    assert loss.tolist() == pytest.approx([-math.log(p), -math.log1p(-p)], rel=1e-4, abs=1e-15)
    assert slopes(loss, log_p) == pytest.approx([-1.0, p / (1 - p)], rel=1e-3)


@pytest.mark.parametrize(
    ("log_p", "expected"),
    [
        (-1e-20, 20 * math.log(10)),  # p = 1 − 1e-20: −log(1 − p) = 20 log 10
        (-1e-3, -math.log(1e-3 - 1e-6 / 2 + 1e-9 / 6)),
        (-50.0, math.exp(-50)),
        (-800.0, 0.0),
        (-INF, 0.0),
    ],
)
def test_no_digits_are_lost_near_certainty_and_near_impossibility(
    log_p: float, expected: float
) -> None:
    given_log = logs(log_p)
    loss = losses.cross_entropy(given_log, torch.tensor([0]))
    assert loss.item() == pytest.approx(expected, rel=1e-9)
    assert all(math.isfinite(s) for s in slopes(loss, given_log))


def test_a_probability_that_rounding_carried_above_one_is_one() -> None:
    log_p = logs(1e-12, math.log(0.5))
    loss = losses.cross_entropy(log_p, torch.tensor([0, 0]), "inf")
    assert loss.tolist() == [INF, pytest.approx(math.log(2))]
    assert slopes(loss, log_p) == pytest.approx([0.0, 1.0])


def test_a_weight_above_one_is_refused() -> None:
    with pytest.raises(dpl.ModelError, match="example 1 has weight 2"):
        losses.cross_entropy(logs(0.0, math.log(2)), torch.tensor([1, 1]))


@pytest.mark.parametrize("mode", ["inf", "skip"])
def test_impossible_labels_have_no_slope(mode: losses.Impossible) -> None:
    log_p = logs(-INF, 0.0, math.log(0.5))
    loss = losses.cross_entropy(log_p, torch.tensor([1, 0, 1]), mode)
    bad = INF if mode == "inf" else 0.0
    assert loss.tolist() == [bad, bad, pytest.approx(math.log(2))]
    (gradient,) = torch.autograd.grad(loss.sum(), log_p)
    assert gradient.tolist() == [0.0, 0.0, -1.0]
    loss = losses.nll(log_p, mode)
    assert loss.tolist() == [bad, 0.0, pytest.approx(math.log(2))]
    (gradient,) = torch.autograd.grad(loss.sum(), log_p)
    assert gradient.tolist() == [0.0, -1.0, -1.0]


def test_impossible_labels_are_named() -> None:
    with pytest.raises(dpl.ModelError, match="example 1 to be impossible, but its label is 1"):
        losses.cross_entropy(logs(-1.0, -INF), torch.tensor([0, 1]))
    with pytest.raises(dpl.ModelError, match="example 0 to be certain, but its label is 0"):
        losses.cross_entropy(logs(0.0), torch.tensor([0]))
    with pytest.raises(dpl.ModelError, match="example 0 to be impossible"):
        losses.nll(logs(-INF))


def test_a_conditional_likelihood() -> None:
    """Three of four: −log(0.3/0.4); where neither can happen, no NaN."""
    log_p, log_z = logs(math.log(0.3), -INF, -INF), logs(math.log(0.4), -INF, math.log(0.4))
    loss = losses.conditional_nll(log_p, log_z, "inf")
    assert loss.tolist() == [pytest.approx(math.log(4 / 3)), INF, INF]
    assert slopes(loss, log_p) == [-1.0, 0.0, 0.0]
    assert slopes(losses.conditional_nll(log_p, log_z, "skip"), log_z) == [1.0, 0.0, 0.0]


def test_labels_are_zero_or_one() -> None:
    for y in (torch.tensor([True, False]), torch.tensor([1.0, 0.0]), torch.tensor([1, 0])):
        assert losses.linear(logs(0.0, 0.0), y).tolist() == [-1.0, 1.0]
    with pytest.raises(dpl.ModelError, match=r"0 or 1, not 0\.5"):
        losses.linear(logs(0.0), torch.tensor([0.5]))
