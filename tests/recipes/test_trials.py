"""Trials of initial weights, looks now and then, and which weights a run keeps."""

from __future__ import annotations

import json
from pathlib import Path

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
    assert result["best_epoch"] in looked


def test_the_last_weights_can_be_kept(tmp_path: Path) -> None:
    settings = {"lr": 0.2, "schedule": "constant", "epochs": 6, "average": 0.0}
    best = train_small(tmp_path / "best", **settings)
    last = train_small(tmp_path / "last", keep="last", **settings)
    assert last["best_epoch"] == 6
    losses = [row["validation_loss"] for row in rows(tmp_path / "best")]
    assert best["best_epoch"] == losses.index(min(losses)) + 1


def test_sub_goals_first(tmp_path: Path) -> None:
    """Particles learn on windows of sums; a window loses what the next one would have said."""
    whole = train_small(tmp_path / "whole", method="pg", n=6, sums=20, epochs=2)
    parts = train_small(tmp_path / "parts", method="pg", n=6, sums=20, epochs=2, window=2)
    assert whole["epochs"] == parts["epochs"] == 2
    assert rows(tmp_path / "parts")[0]["loss"] != rows(tmp_path / "whole")[0]["loss"]
