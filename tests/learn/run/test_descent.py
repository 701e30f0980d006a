"""The trainer of minibatches: its rows, its rate, and captured steps without a GPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from deepprooflog.device import seeded
from deepprooflog.learn.run import descent as module
from deepprooflog.learn.run import loop as loop_module
from deepprooflog.learn.run.descent import Descent
from deepprooflog.learn.run.loop import Loop
from deepprooflog.learn.run.minibatch import Objective, descend
from deepprooflog.learn.run.progress import Progress
from fuzz.fuzz_checkpoints import same

CPU = torch.device("cpu")


def squares(net: nn.Module) -> Objective:
    x = torch.arange(14.0).reshape(7, 2) / 5
    return lambda batch: (net(x[batch])[:, 0] - 1).square()


def made(net: nn.Module, **given: Any) -> Descent:
    nn.init.constant_(next(net.parameters()), 0.3)
    lr = torch.tensor(0.05) if given.get("capture") else 0.05
    optimizer = torch.optim.Adam(net.parameters(), lr=lr, fused=True)
    return Descent(net, None, optimizer, 7, batch=3, **{"epochs": True, **given})


def test_a_row_is_the_mean_over_examples() -> None:
    """At a rate of 0 the weights stay, and an epoch of batches 3, 3, 1 has the whole mean."""
    net = nn.Linear(2, 1)
    trainer = made(net, objective_at=lambda _: squares(net), rate=lambda _: 0.0)
    with torch.no_grad():
        expected = float(squares(net)(torch.arange(7)).mean())
    history = Loop(trainer, steps=6, row_every=3).run().history
    assert [row["loss"] for row in history] == pytest.approx([expected] * 2)


def test_the_rate_of_each_step() -> None:
    net = nn.Linear(2, 1)
    rates: list[float] = []

    def objective_at(done: int) -> Objective:
        rates.append(float(trainer.optimizer.param_groups[0]["lr"]))
        return squares(net)

    trainer = made(net, objective_at=objective_at, rate=lambda done: 0.5**done)
    Loop(trainer, steps=4).run()
    assert rates == [1.0, 0.5, 0.25, 0.125]


class OnCpu:
    """What a captured step does, without a graph: its losses wait until they are asked for."""

    made = 0

    def __init__(
        self, objective: Objective, optimizer: torch.optim.Optimizer, size: int, clip: float
    ) -> None:
        OnCpu.made += 1
        self.objective, self.optimizer, self.size, self.clip = objective, optimizer, size, clip
        self.lr = optimizer.param_groups[0]["lr"]
        self.total = 0.0

    def __call__(self, batch: Tensor) -> None:
        assert len(batch) == self.size
        # A graph reads the rate from the tensor that it was captured with.
        assert self.optimizer.param_groups[0]["lr"] is self.lr
        self.total += descend(self.objective, batch, self.optimizer, str, self.clip)

    def check(self) -> float:
        total, self.total = self.total, 0.0
        return total


def halves(net: nn.Module) -> Callable[[int], Objective]:
    """One objective for the first four steps, another for the rest."""
    first, second = squares(net), squares(net)
    return lambda done: first if done < 4 else second


class Ended(Exception):
    pass


class Until(Progress):
    """Progress that ends a run."""

    def update(self, done: int, text: str) -> None:
        if done == self.total:
            raise Ended


def run(capture: bool, path: Path | None = None, progress: Progress | None = None) -> Loop:
    net = nn.Linear(2, 1)
    trainer = made(
        net, objective_at=halves(net), rate=lambda done: 0.1 / (1 + done), capture=capture, clip=0.5
    )
    loop = Loop(trainer, steps=12, row_every=3, path=path)
    loop.resume()
    loop.run(progress)
    return loop


def test_captured_steps_are_counted_and_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the objective changes, and where a checkpoint is written in the midst of a row."""
    with seeded(0, CPU):
        plain = run(capture=False)
    monkeypatch.setattr(module, "CapturedStep", OnCpu)
    monkeypatch.setattr(loop_module, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    with seeded(0, CPU):
        captured = run(capture=True)
    assert OnCpu.made == 2
    with seeded(0, CPU), pytest.raises(Ended):
        run(True, tmp_path / "run.pt", Until(6))
    resumed = run(True, tmp_path / "run.pt")
    assert same(resumed.trainer.module.state_dict(), captured.trainer.module.state_dict())
    losses = [row["loss"] for row in plain.history]
    for loop in (captured, resumed):
        assert [row["loss"] for row in loop.history] == pytest.approx(losses, rel=1e-6)
    weights = next(plain.trainer.module.parameters())
    torch.testing.assert_close(next(captured.trainer.module.parameters()), weights)
