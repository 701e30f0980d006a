"""Sums as lists of digits against Python's own integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprooflog.recipes.addition.sums import (
    accuracy,
    add_digits,
    consecutive,
    share_right,
    sum_goals,
)


def number(digits: object) -> int:
    """The number a list of digits stands for, least significant first."""
    return int("".join(str(d) for d in reversed(list(digits))))  # type: ignore[call-overload]


@given(st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_addition_is_addition(n: int, seed: int) -> None:
    pair = np.random.default_rng(seed).integers(0, 10, (3, 2, n))
    for (a, b), total in zip(pair, add_digits(pair), strict=True):
        assert number(total) == number(a) + number(b)


@pytest.mark.parametrize(
    ("n", "count", "training"),
    [(4, 7500, 6250), (15, 2000, 1666), (100, 300, 250), (200, 150, 125), (500, 60, 50)],
)
def test_sums_of_the_training_pictures(n: int, count: int, training: int) -> None:
    """⌊60000/2N⌋ sums, each picture at most once, five sixths of them to train on."""
    labels = np.random.default_rng(0).integers(0, 10, 60_000)
    sums = consecutive(labels, n)
    assert len(sums) == count
    assert len(sums) * 5 // 6 == training
    assert np.unique(sums.pictures).tolist() == list(range(count * 2 * n))
    first = "".join(map(str, labels[:n])), "".join(map(str, labels[n : 2 * n]))
    assert number(sums.written[0]) == int(first[0]) + int(first[1])
    assert sums.pictures[0, 0].tolist() == list(range(n))[::-1]


def test_written_sums_have_no_leading_zero_carry() -> None:
    sums = consecutive(np.array([9, 9, 0, 1, 1, 2, 3, 4]), 2)
    assert sums.written == [[0, 0, 1], [6, 4]]


def test_goals_hold_the_pictures_in_order() -> None:
    import torch

    images = torch.arange(4.0)[:, None]
    (only,) = sum_goals(consecutive(np.array([1, 2, 3, 4]), 2), images)
    assert str(only) == "add([<tensor 0>,<tensor 1>],[<tensor 2>,<tensor 3>],[6,4],0)"
    assert [t.item() for t in only.tensors] == [1.0, 0.0, 3.0, 2.0]  # type: ignore[attr-defined]


@given(st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_share_right_against_integers(n: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 10, 40 * n)
    predicted = np.where(generator.random(40 * n) < 0.2, generator.integers(0, 10, 40 * n), labels)

    def totals(digits: np.ndarray) -> list[int]:
        rows = digits.reshape(-1, 2, n)
        return [sum(int("".join(map(str, half))) for half in row) for row in rows]

    expected = np.mean([a == b for a, b in zip(totals(predicted), totals(labels), strict=True)])
    assert share_right(predicted, labels, n) == pytest.approx(expected)


def test_regrouping_at_one_digit_error_in_a_hundred() -> None:
    """Errors at random places: the regrouped mean is (1 − error)^2N, up to errors that cancel."""
    labels = np.random.default_rng(1).integers(0, 10, 10_000)
    wrong = np.arange(0, 10_000, 100)
    predicted = labels.copy()
    predicted[wrong] = (labels[wrong] + 1) % 10
    found = accuracy(predicted, labels, n=4)
    assert found.digit_accuracy == 0.99
    assert found.test_sums == 1250
    assert found.sum_accuracy_regrouped == pytest.approx(0.99**8, abs=0.003)
    assert 0 < found.regrouped_spread < 0.01
    assert accuracy(predicted, labels, n=4) == found


def test_what_file_order_hides() -> None:
    """All errors in one sum: file order loses one sum, regrouped every error costs one."""
    labels = np.zeros(80, dtype=np.int64)
    predicted = labels.copy()
    predicted[:8] = 1
    found = accuracy(predicted, labels, n=4)
    assert found.sum_accuracy == 0.9
    assert found.sum_accuracy_regrouped < 0.6
