"""A step of a minibatch against the closed form, and checkpoints that are never half written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from deepprooflog.errors import DataError, ModelError
from deepprooflog.learn.run import checkpoint
from deepprooflog.learn.run.minibatch import BatchStream, descend


def parabola(start: float) -> tuple[torch.nn.Parameter, torch.optim.Optimizer]:
    x = torch.nn.Parameter(torch.tensor(start))
    return x, torch.optim.SGD([x], lr=0.1)


def test_a_step() -> None:
    """Loss mean(i + x²) at x = 3: 9.5, gradient 6, new x = 2.4."""
    x, optimizer = parabola(3.0)
    loss = descend(lambda which: which + x**2, torch.tensor([0, 1]), optimizer, str)
    assert loss == pytest.approx(9.5)
    assert x.item() == pytest.approx(2.4)


def test_clipping() -> None:
    """A gradient of 6 bounded by 2: x = 3 − 0.1 · 2."""
    x, optimizer = parabola(3.0)
    descend(lambda which: which + x**2, torch.tensor([0, 1]), optimizer, str, clip=2.0)
    assert x.item() == pytest.approx(2.8, abs=1e-5)


@pytest.mark.parametrize(
    ("bad", "message"),
    [(torch.inf, "no derivation proves goal 7"), (torch.nan, "the loss of goal 7 is nan")],
)
def test_a_loss_that_is_not_finite_is_named_and_refused(bad: float, message: str) -> None:
    x, optimizer = parabola(3.0)
    scale = torch.tensor([1.0, bad])
    with pytest.raises(ModelError, match=message):
        descend(lambda _: x * scale, torch.tensor([5, 7]), optimizer, lambda i: f"goal {i}")
    assert x.item() == 3.0


def test_a_mean_loss_that_is_not_finite() -> None:
    x, optimizer = parabola(3.0)
    with pytest.raises(ModelError, match="the loss is nan"):
        descend(lambda _: x * torch.nan, torch.tensor([5, 7]), optimizer, str)
    assert x.item() == 3.0


def test_every_example_once() -> None:
    stream = BatchStream(101, torch.device("cpu"), epochs=True)
    cut = [stream.take(8) for _ in range(13)]
    assert [len(b) for b in cut] == [8] * 12 + [5]
    assert torch.cat(cut).sort().values.tolist() == list(range(101))


def test_a_checkpoint_survives_a_failed_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "checkpoint.pt"
    checkpoint.save(path, {"x": torch.ones(2)})

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(DataError, match="No space left"):
        checkpoint.save(path, {"x": torch.zeros(2)})
    assert checkpoint.load(path, {"x": torch.Tensor})["x"].tolist() == [1, 1]


def test_what_is_no_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    with pytest.raises(DataError, match="there is no checkpoint"):
        checkpoint.load(path, {})
    torch.save([1, 2], path)
    with pytest.raises(DataError, match="not a checkpoint of format"):
        checkpoint.load(path, {})
    checkpoint.save(path, {"x": 1})
    with pytest.raises(DataError, match="has no 'y'"):
        checkpoint.load(path, {"x": int, "y": int})
    torch.save({"format": 1, "code": torch.nn.Linear(1, 1)}, path)
    with pytest.raises(DataError, match="damaged"):
        checkpoint.load(path, {})
