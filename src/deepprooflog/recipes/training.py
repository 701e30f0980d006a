"""A training run: epochs of guarded steps, averaged weights, validation, checkpoints, curves.

The run ends with the averaged weights that had the lowest validation loss, or with the last ones.
From the same seed a run on a CPU repeats itself bit by bit, also when it was interrupted and
resumed, at whichever step.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from deepprooflog.learn import checkpoint
from deepprooflog.learn.average import Average
from deepprooflog.learn.captured import CapturedStep
from deepprooflog.learn.curves import curves
from deepprooflog.learn.interrupt import Stop, stopping
from deepprooflog.learn.minibatch import Objective, batches, descend
from deepprooflog.learn.progress import Progress
from deepprooflog.learn.schedule import rate
from deepprooflog.model import Model
from deepprooflog.recipes.folder import RunFolder
from deepprooflog.recipes.training_options import TrainingOptions

SECONDS_BETWEEN_CHECKPOINTS = 5.0
SHAPE: checkpoint.Shape = {
    "epoch": int, "model": dict, "optimizer": dict, "average": dict, "random": dict, "best": dict,
    "history": list, "seconds": float, "under_way": (dict, type(None)),
}  # fmt: skip


@dataclass(frozen=True)
class Lesson:
    """What is learned: a model, the losses of its examples, and a look at the validation split."""

    model: Model
    objective: Callable[[float], Objective]  # of the epoch that begins when this share is done
    train: Int[Tensor, " examples"]  # positions of the training examples, on the CPU
    validate: Callable[[], dict[str, float]]  # "validation_loss" and what else to record
    describe: Callable[[int], str]
    begin: Callable[[float], object]  # told at the start of each epoch which share is done
    capture: bool  # on a GPU, replay steps as one graph: the objectives never ask the device


@dataclass(frozen=True)
class Trained:
    """How a run went; the model is left with its best weights."""

    epochs: int
    best_epoch: int
    seconds: float
    history: list[dict[str, float]]


@dataclass
class UnderWay:
    """An epoch that has begun: its order, the steps taken, the sum of their losses."""

    order: Int[Tensor, " examples"]
    steps: int = 0
    total: float = 0.0


class Training:
    """The state of a run, from its first epoch or from a checkpoint."""

    def __init__(self, lesson: Lesson, plan: TrainingOptions, run: RunFolder) -> None:
        self.lesson, self.plan, self.run = lesson, plan, run
        self.device = lesson.model.device
        parameters = [p for p in lesson.model.parameters() if p.requires_grad and p.numel()]
        on_gpu = self.device.type == "cuda"
        self.lr = torch.tensor(plan.lr, device=self.device)
        self.optimizer = torch.optim.AdamW(
            parameters, lr=self.lr if on_gpu else plan.lr, weight_decay=plan.weight_decay,
            fused=on_gpu, capturable=on_gpu,
        )  # fmt: skip
        self.capture = on_gpu and lesson.capture
        self.captured: CapturedStep | None = None
        self.average = Average(lesson.model, plan.average)
        self.epoch = 0
        self.under_way: UnderWay | None = None
        self.best: dict[str, Any] = {"loss": float("inf"), "epoch": 0, "weights": {}}
        self.history: list[dict[str, float]] = []
        self.seconds = 0.0

    @property
    def stopped(self) -> bool:
        """True when all epochs are done, or when patience has run out."""
        waited = self.epoch - self.best["epoch"]
        return self.epoch >= self.plan.epochs or 0 < self.plan.patience <= waited

    @property
    def begun(self) -> bool:
        """True after the first step."""
        return self.epoch > 0 or self.under_way is not None

    def train(self, progress: Progress) -> Trained:
        """Run the epochs that are left; a signal ends them, saved, after the step in hand."""
        saved = time.perf_counter()
        with stopping(self.save, progress.close) as stop:
            while not self.stopped:
                began = time.perf_counter()
                row = self._one_epoch(progress, stop)
                self.seconds += time.perf_counter() - began
                row["seconds"] = round(self.seconds, 3)
                self.history.append(row)
                self.run.append(row)
                if time.perf_counter() - saved >= SECONDS_BETWEEN_CHECKPOINTS or self.stopped:
                    self.save()
                    saved = time.perf_counter()
                stop()
        self.lesson.model.load_state_dict(self.best["weights"])
        self.run.write("curves.svg", curves(panels(self.history)))
        return Trained(self.epoch, self.best["epoch"], self.seconds, self.history)

    def _one_epoch(self, progress: Progress, stop: Stop) -> dict[str, float]:
        lesson, plan = self.lesson, self.plan
        lesson.model.train()
        lesson.begin(self.epoch / plan.epochs)
        objective = self._teach(self.epoch / plan.epochs)
        if self.under_way is None:
            self.under_way = UnderWay(lesson.train[torch.randperm(len(lesson.train))])
        now = self.under_way
        cut = batches(now.order, plan.batch)
        last = self.history[-1] if self.history else {}
        key = "validation_accuracy"
        looked = (r[key] for r in self.history[::-1] if key in r)
        accuracy = next(looked, None)
        seen = "" if accuracy is None else f"  validation {accuracy:.1%}"
        loss = last.get("loss", float("nan"))
        for i, batch in enumerate(cut[now.steps :], now.steps):
            share = (self.epoch + i / len(cut)) / plan.epochs
            self._set_rate(plan.lr * rate(plan.schedule, share))
            if self.captured is not None and len(batch) == plan.batch:
                self.captured(batch)
            else:
                loss = descend(objective, batch, self.optimizer, lesson.describe, plan.clip)
                now.total += loss * len(batch)
            self.average.update()
            now.steps = i + 1
            progress.update(
                self.epoch * len(cut) + i + 1,
                f"epoch {self.epoch + 1}/{plan.epochs}  loss {loss:.4f}{seen}",
            )
            stop()
        self._count_captured()
        number = self.epoch + 1
        row = {"epoch": number, "loss": now.total / len(now.order)}
        if number % plan.validate_every == 0 or number == plan.epochs:
            with stop.looking():
                row |= self._look(number)
        self.epoch, self.under_way = number, None
        return row

    def _count_captured(self) -> None:
        """Add the losses that are still on the device to the epoch's."""
        if self.captured is not None and self.under_way is not None:
            self.under_way.total += self.captured.check() * self.plan.batch

    def _teach(self, share: float) -> Objective:
        """The objective of an epoch, with a captured step of its own."""
        objective = self.lesson.objective(share)
        if self.capture and (self.captured is None or self.captured.objective is not objective):
            self.captured = CapturedStep(objective, self.optimizer, self.plan.batch, self.plan.clip)
        return objective

    def _set_rate(self, value: float) -> None:
        # A captured step reads the rate where it was when it was captured.
        self.lr.fill_(value)
        for group in self.optimizer.param_groups:
            group["lr"] = self.lr if self.captured is not None else value

    def _look(self, epoch: int) -> dict[str, float]:
        """Validate the averaged weights and keep the best."""
        model = self.lesson.model
        model.eval()
        with self.average.applied(), torch.no_grad():
            found = self.lesson.validate()
            loss = found.get("validation_loss", -float(epoch))
            better = loss < self.best["loss"] or not self.best["weights"]
            if better or self.plan.keep == "last":
                weights = {k: v.detach().clone() for k, v in model.state_dict().items()}
                self.best = {"loss": loss, "epoch": epoch, "weights": weights}
        return found

    def save(self) -> None:
        """Write a checkpoint."""
        self._count_captured()
        checkpoint.save(
            self.run.checkpoint,
            {
                "epoch": self.epoch,
                "model": self.lesson.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "average": self.average.state(),
                "random": checkpoint.random_state(self.device),
                "best": self.best,
                "history": self.history,
                "seconds": self.seconds,
                "under_way": None if self.under_way is None else asdict(self.under_way),
            },
        )

    def resume(self) -> None:
        """Go on from the folder's checkpoint; from the beginning where there is none."""
        if self.run.checkpoint.exists():
            state = checkpoint.load(self.run.checkpoint, SHAPE, self.device)
            with checkpoint.fitting(self.run.checkpoint, "model"):
                self._restore(state)
        self.run.write_metrics(self.history)

    def _restore(self, state: dict[str, Any]) -> None:
        checkpoint.restore_module(self.lesson.model, state["model"])
        checkpoint.restore_optimizer(self.optimizer, state["optimizer"])
        self.average.restore(state["average"]["steps"], state["average"]["values"])
        checkpoint.restore_random(state["random"], self.device)
        self.best = checkpoint.restore_best(state["best"], self.best, self.lesson.model)
        self.epoch = state["epoch"]
        self.history, self.seconds = state["history"], state["seconds"]
        if len(self.history) != self.epoch or not 0 <= self.best["epoch"] <= self.epoch + 1:
            raise ValueError("it has another number of epochs than lines of history")
        if not all("epoch" in row for row in self.history):
            raise ValueError("a line of history names no epoch")
        if state["under_way"] is not None:
            now = UnderWay(**state["under_way"])
            now.order = checkpoint.restore_order(now.order, len(self.lesson.train)).cpu()
            if type(now.steps) is not int or type(now.total) is not float:
                raise TypeError("the epoch under way has no count of steps")
            steps = -(-len(now.order) // self.plan.batch)
            if len(now.order) != len(self.lesson.train) or not 0 <= now.steps <= steps:
                raise ValueError("the epoch under way is one of other examples")
            self.under_way = now


def panels(history: list[dict[str, float]]) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """The curves of a run: losses above, shares below."""

    def line(key: str) -> list[tuple[float, float]]:
        return [(row["epoch"], row[key]) for row in history if key in row]

    return {
        "loss, −log p of a sum": {"training": line("loss"), "validation": line("validation_loss")},
        "right in the validation split": {
            "sums": line("validation_accuracy"),
            "digits": line("validation_digit_accuracy"),
        },
    }
