"""Sums of numbers given as digits: how pictures make sums, and how predictions are counted.

Numbers are lists of digits, the least significant first; a sum is never one machine integer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from deepprooflog.logic.goal_batch import GoalBatch, goals

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Sums:
    """Pairs of numbers whose digits are pictures, with their sums."""

    pictures: Ints  # [sums, 2, n] rows of the data set, least significant digit first
    digits: Ints  # [sums, n + 1] of the sum; the last is the carry

    def __len__(self) -> int:
        return len(self.digits)

    def __getitem__(self, which: slice) -> Sums:
        return Sums(self.pictures[which], self.digits[which])

    @property
    def written(self) -> list[list[int]]:
        """Each sum as a list of digits, without a last carry of 0."""
        return [row if row[-1] else row[:-1] for row in self.digits.tolist()]


def consecutive(labels: Ints, n: int) -> Sums:
    """Sums of 2n consecutive pictures each: n digits as one reads them, then n more.

    >>> sums = consecutive(np.array([1, 2, 3, 9, 5, 5]), 2)
    >>> sums.pictures.tolist(), sums.written        # 12 + 39 = 51; two pictures are left over
    ([[[1, 0], [3, 2]]], [[1, 5]])
    """
    count = len(labels) // (2 * n)
    pictures = np.arange(count * 2 * n).reshape(count, 2, n)[:, :, ::-1].copy()
    return Sums(pictures, add_digits(labels[pictures]))


def add_digits(numbers: Ints) -> Ints:
    """The digits [..., n + 1] of the sums of pairs of numbers [..., 2, n].

    >>> add_digits(np.array([[9, 9], [1, 0]])).tolist()
    [0, 0, 1]
    """
    columns = numbers.sum(axis=-2)
    result = np.empty((*columns.shape[:-1], columns.shape[-1] + 1), dtype=np.int64)
    carry = np.zeros(columns.shape[:-1], dtype=np.int64)
    for i in range(columns.shape[-1]):
        total = columns[..., i] + carry
        result[..., i] = total % 10
        carry = total // 10
    result[..., -1] = carry
    return result


def sum_goals(sums: Sums, pictures: Tensor) -> GoalBatch:
    """`add(Xs, Ys, Zs, 0)` for each sum, over the rows of its pictures."""
    x, y = sums.pictures[:, 0], sums.pictures[:, 1]
    bank = {"X": pictures, "Y": pictures}
    return goals("add(X, Y, Z, 0)", bank=bank, X=x, Y=y, Z=sums.written)


@dataclass(frozen=True)
class Accuracy:
    """Shares of the test set that are right."""

    sum_accuracy: float  # consecutive test pictures, in file order
    sum_accuracy_regrouped: float  # mean over random regroupings of the test pictures
    regrouped_spread: float  # standard deviation over the regroupings
    digit_accuracy: float
    test_sums: int
    regroupings: int


def accuracy(
    predicted: Ints, labels: Ints, n: int, regroupings: int = 200, seed: int = 0
) -> Accuracy:
    """Count right sums and digits; a sum is right when the predicted digits add up to it.

    >>> labels = np.array([1, 2, 3, 4])
    >>> found = accuracy(np.array([2, 1, 3, 4]), labels, n=1)
    >>> found.sum_accuracy, found.digit_accuracy        # 2 + 1 is 1 + 2
    (1.0, 0.5)
    """
    used = len(labels) // (2 * n) * 2 * n
    generator = np.random.default_rng(seed)
    shares = np.array(
        [
            share_right(predicted[order], labels[order], n)
            for order in (generator.permutation(len(labels))[:used] for _ in range(regroupings))
        ]
    )
    return Accuracy(
        sum_accuracy=share_right(predicted[:used], labels[:used], n),
        sum_accuracy_regrouped=float(shares.mean()) if regroupings else float("nan"),
        regrouped_spread=float(shares.std()) if regroupings else float("nan"),
        digit_accuracy=float((predicted == labels).mean()),
        test_sums=used // (2 * n),
        regroupings=regroupings,
    )


def share_right(predicted: Ints, labels: Ints, n: int) -> float:
    """The share of sums of 2n consecutive digits that the predicted digits get right."""
    if not len(labels):
        return float("nan")
    shape = (-1, 2, n)
    # Most significant first, as pictures come; the order of addition is the other.
    got = add_digits(predicted.reshape(shape)[:, :, ::-1])
    want = add_digits(labels.reshape(shape)[:, :, ::-1])
    return float((got == want).all(axis=1).mean())
