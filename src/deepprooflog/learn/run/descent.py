"""The trainer that descends on minibatches: guarded steps, a rate that changes, captured steps.

Batches are cut from one random order after another, so that each example is met equally often. On
a GPU the steps can be replayed as one CUDA graph, and the host waits for none of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from deepprooflog.learn.run import checkpoint
from deepprooflog.learn.run.loop import Row, Trainer
from deepprooflog.learn.run.minibatch import BatchStream, CapturedStep, Objective, descend
from deepprooflog.learn.run.processes import processes

SHAPE: checkpoint.EntryTypes = {
    "model": dict, "optimizer": dict, "order": Tensor, "total": float, "count": int,
}  # fmt: skip


class Descent(Trainer):
    """Steps of an optimizer on the mean loss of minibatches of `examples`, numbered from 0.

    `objective` gives the losses of some examples; `objective_at`, where it changes, the objective
    of the step after so many. `rate` is the learning rate of such a step. With `epochs` no batch
    reaches from one order of the examples into the next: the last of each may be smaller. `capture`
    replays steps as one CUDA graph; the optimizer needs a tensor for its learning rate then.

    Of several processes each takes its share of every minibatch; `together` is for objectives that
    draw at random for a whole minibatch and cut their share themselves. Nothing is captured there.
    """

    def __init__(
        self,
        module: nn.Module,
        objective: Objective | None,
        optimizer: torch.optim.Optimizer,
        examples: int,
        *,
        batch: int,
        rate: Callable[[int], float] | None = None,
        objective_at: Callable[[int], Objective] | None = None,
        describe: Callable[[int], str] = str,
        clip: float = 0.0,
        epochs: bool = False,
        capture: bool = False,
        together: bool = False,
        device: torch.device | str = "cpu",
    ) -> None:
        self.module, self.objective, self.optimizer = module, objective, optimizer
        self.batch, self.rate, self.objective_at = batch, rate, objective_at
        self.describe, self.clip, self.together = describe, clip, together
        self.capture = capture and not processes().several
        # A captured step reads the rate where it was when it was captured.
        kept = optimizer.param_groups[0]["lr"]
        self.lr = kept if isinstance(kept, Tensor) else None
        self.stream = BatchStream(examples, torch.device(device), epochs=epochs)
        self.captured: CapturedStep | None = None
        self.total, self.count = 0.0, 0  # of the losses since the last row, and their examples
        self.shown = ""

    def step(self, done: int) -> str:
        """One step on the next minibatch."""
        self._set_rate(done)
        objective = self._objective(done)
        batch = self.stream.take(self.batch)
        self.count += len(batch)
        if self.captured is not None and len(batch) == self.batch:
            self.captured(batch)
        else:
            loss = descend(
                objective, batch, self.optimizer, self.describe, self.clip, step=done,
                together=self.together,
            )  # fmt: skip
            self.total += loss * len(batch)
            self.shown = f"loss {loss:.4f}"
        return self.shown

    def _objective(self, done: int) -> Objective:
        if self.objective_at is not None:
            self.objective = self.objective_at(done)
        assert self.objective is not None
        if self.capture and (
            self.captured is None or self.captured.objective is not self.objective
        ):
            self._count_captured()
            self.captured = CapturedStep(self.objective, self.optimizer, self.batch, self.clip)
        return self.objective

    def _set_rate(self, done: int) -> None:
        if self.rate is None:
            return
        value = self.rate(done)
        if self.lr is not None:
            self.lr.fill_(value)
        for group in self.optimizer.param_groups:
            group["lr"] = value if self.lr is None else self.lr

    def _count_captured(self) -> None:
        """Add the losses that are still on the device."""
        if self.captured is not None:
            self.total += self.captured.check() * self.batch

    def row(self) -> Row:
        """The mean loss since the last row."""
        self._count_captured()
        loss = self.total / max(self.count, 1)
        self.total, self.count = 0.0, 0
        self.shown = f"loss {loss:.4f}"
        return {"loss": loss}

    def state(self) -> dict[str, Any]:
        """The weights, the optimizer, the order of the examples that are left."""
        self._count_captured()
        return {
            "model": self.module.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "order": self.stream.order.clone(),
            "total": self.total,
            "count": self.count,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a checkpoint's state."""
        checkpoint.check(state, SHAPE)
        checkpoint.restore_module(self.module, state["model"])
        checkpoint.restore_optimizer(self.optimizer, state["optimizer"])
        self.stream.restore(state["order"])
        self.total, self.count = state["total"], state["count"]


RateSchedule = Literal["constant", "cosine", "one-cycle"]
SCHEDULES: tuple[str, ...] = get_args(RateSchedule)

WARM = {"cosine": 0.05, "one-cycle": 0.3}
FIRST = {"cosine": 0.0, "one-cycle": 0.04}


def rate(schedule: str, share: float) -> float:
    """What to multiply the learning rate by when `share` of the steps are done."""
    if schedule == "constant":
        return 1.0
    warm, first = WARM[schedule], FIRST[schedule]
    if share < warm:
        if schedule == "cosine":
            return share / warm
        return first + (1 - first) * (1 - math.cos(math.pi * share / warm)) / 2
    return (1 + math.cos(math.pi * (share - warm) / (1 - warm))) / 2
