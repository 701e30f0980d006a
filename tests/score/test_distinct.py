"""Distinct numbers and rows, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from deepprooflog.score.segments import TABLE, distinct, distinct_rows


@pytest.mark.parametrize("size", [5, 1000, 4 * TABLE, 2**62])
@pytest.mark.parametrize("count", [0, 1, 500])
def test_keys(size: int, count: int) -> None:
    """By a table and by sorting: the same numbers, in the order of the keys."""
    values = np.random.default_rng(0).integers(max(0, size - 300), size, count)
    found = distinct(torch.from_numpy(values), size)
    kept, number = np.unique(values, return_inverse=True)
    assert found.number.tolist() == number.tolist()
    assert values[found.member.numpy()].tolist() == kept.tolist() and len(found) == len(kept)


@pytest.mark.parametrize("size", [3, 400, 2**30])
@pytest.mark.parametrize("columns", [0, 1, 4])
def test_rows(size: int, columns: int) -> None:
    """Rows whose numbers together would not fit into 63 bits, too."""
    dice = np.random.default_rng(1)
    values = dice.integers(0, size, (50, columns))[dice.integers(0, 50, 300)]
    found = distinct_rows(torch.from_numpy(values), [size] * columns)
    kept, number = np.unique(values, axis=0, return_inverse=True)
    assert len(found) == len(kept)
    if columns:
        assert found.number.tolist() == number.reshape(-1).tolist()
    assert values[found.member.numpy()].tolist() == kept.tolist()
