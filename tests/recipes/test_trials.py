"""Trials of initial weights, looks now and then, and which weights a run keeps."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from deepprooflog.learn.run.folder import open_run
from deepprooflog.recipes.addition.run import trained
from deepprooflog.recipes.addition.task import tensor, training_sums
from recipes.small import train_small


def rows(run: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def test_the_best_trial_goes_on(tmp_path: Path) -> None:
    """The run begins where the trial with the lowest loss ended: below its own first loss."""
    alone = train_small(tmp_path / "alone", lr=0.003)
    tried = train_small(tmp_path / "tried", lr=0.003, tries=3, trial=0.5)
    losses = tried["tries"]
    assert alone["tries"] == []
    assert isinstance(losses, list)
    assert len(losses) == 3
    assert len(set(losses)) == 3
    assert rows(tmp_path / "tried")[0]["loss"] < rows(tmp_path / "alone")[0]["loss"]
    again = train_small(tmp_path / "again", lr=0.003, tries=3, trial=0.5)
    assert again["tries"] == losses


def test_looks_now_and_then(tmp_path: Path) -> None:
    result = train_small(tmp_path / "run", epochs=5, look=2)
    looked = [row["epoch"] for row in rows(tmp_path / "run") if "validation_loss" in row]
    assert looked == [2, 4, 5]
    assert result["best_epoch"] in [0, *looked]


def test_the_last_weights_can_be_kept(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"lr": 0.2, "schedule": "constant", "epochs": 6, "average": 0.0}
    best = train_small(tmp_path / "best", **settings)
    last = train_small(tmp_path / "last", keep="last", **settings)
    assert last["best_epoch"] == 6
    losses = [row["validation_loss"] for row in rows(tmp_path / "best")]
    assert min(losses) > 5, "so high a rate teaches nothing"
    assert best["best_epoch"] == 0, "the untrained weights"


def carries_of(total: list[int], n: int) -> list[set[int]]:
    """The carries before each column that some two numbers of n digits with this sum have."""
    last = {int(len(total) > n)}
    met: list[set[int]] = [{0}]
    for z in total[:n]:
        met.append({k for c in met[-1] for k in (0, 1) if 0 <= z + 10 * k - c <= 18})
    met[n] &= last
    for d in reversed(range(n)):
        z = total[d]
        met[d] = {c for c in met[d] if any(0 <= z + 10 * k - c <= 18 for k in met[d + 1])}
    return met


def by_hand(digits: np.ndarray, total: list[int]) -> tuple[float, float]:
    """−log p of a sum, and of its columns each on its own, from p(digit) [2, n, 10].

    A column alone begins with any carry that can be, all alike. The first column counts twice:
    the windows reach over both ends, and the one before the sum is moved to where it begins.
    """
    n = digits.shape[1]
    carries = carries_of(total, n)
    at, alone = np.array([1.0, 0.0]), []
    for d in range(n):
        pairs = np.convolve(digits[0, d], digits[1, d])
        step = np.zeros((2, 2))
        for c in carries[d]:
            for k in carries[d + 1]:
                place = total[d] + 10 * k - c
                step[c, k] = pairs[place] if 0 <= place <= 18 else 0.0
        alone.append(-math.log(step.sum() / len(carries[d])))
        at = at @ step
    return -math.log(at.sum()), alone[0] + sum(alone)


def test_sub_goals_first(tmp_path: Path) -> None:
    """The share `subgoals` of the run is on windows of sums, the rest on whole sums.

    At a rate of nearly 0 the weights stay as they are, so that the losses of all epochs can be
    worked out from the digits' probabilities.
    """
    given: dict[str, Any] = {
        "method": "pg", "n": 5, "sums": 18, "batch": 15, "augment": "none", "lr": 1e-12,
        "epochs": 3, "subgoals": 0.5, "window": 1, "particles": 200,
    }  # fmt: skip
    train_small(tmp_path / "run", **given)
    model, options = trained(open_run(tmp_path / "run"))
    data, sums = training_sums(options)
    with torch.no_grad():
        read = model.networks["lenet"].module(tensor(data)).softmax(1).double().numpy()  # type: ignore
    expected = []
    for pictures, labels in zip(sums.pictures[:15], data.labels[sums.pictures[:15]], strict=True):
        total = sum(10**i * int(d) for row in labels for i, d in enumerate(row))
        expected.append(by_hand(read[pictures], [int(z) for z in reversed(f"{total:05d}")]))
    whole, columns = np.mean(expected, axis=0)
    losses = [row["loss"] for row in rows(tmp_path / "run")]
    assert losses[:2] == pytest.approx([columns] * 2, abs=1e-5)
    assert losses[2] == pytest.approx(whole, abs=0.02)
    assert columns > whole + 1
