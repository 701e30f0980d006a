"""A training run: epochs of guarded steps, averaged weights, validation, checkpoints, curves.

The run ends with the averaged weights that had the lowest validation loss, or with the last ones.
From the same seed a run on a CPU repeats itself bit by bit, also when it was interrupted and
resumed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from deepprooflog.errors import DataError
from deepprooflog.learn import checkpoint
from deepprooflog.learn.average import Average
from deepprooflog.learn.captured import CapturedStep
from deepprooflog.learn.curves import curves
from deepprooflog.learn.minibatch import Objective, batches, descend
from deepprooflog.learn.progress import Progress
from deepprooflog.learn.schedule import rate
from deepprooflog.model import Model
from deepprooflog.recipes.folder import RunFolder

SECONDS_BETWEEN_CHECKPOINTS = 5.0
KEYS = ("epoch", "model", "optimizer", "average", "random", "best", "history", "seconds")


@dataclass(frozen=True)
class Plan:
    """How to train: the part of a recipe's options that is not about its task."""

    batch: int
    lr: float
    epochs: int
    schedule: str
    average: float
    weight_decay: float
    clip: float
    patience: int
    look: int
    keep: str


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


class Training:
    """The state of a run, from its first epoch or from a checkpoint."""

    def __init__(self, lesson: Lesson, plan: Plan, run: RunFolder) -> None:
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
        self.best: dict[str, Any] = {"loss": float("inf"), "epoch": 0, "weights": {}}
        self.history: list[dict[str, float]] = []
        self.seconds = 0.0

    @property
    def stopped(self) -> bool:
        """True when all epochs are done, or when patience has run out."""
        waited = self.epoch - self.best["epoch"]
        return self.epoch >= self.plan.epochs or 0 < self.plan.patience <= waited

    def train(self, progress: Progress) -> Trained:
        """Run the epochs that are left."""
        saved = time.perf_counter()
        while not self.stopped:
            began = time.perf_counter()
            row = self._one_epoch(progress)
            self.seconds += time.perf_counter() - began
            row["seconds"] = round(self.seconds, 3)
            self.history.append(row)
            self.run.append(row)
            if time.perf_counter() - saved >= SECONDS_BETWEEN_CHECKPOINTS or self.stopped:
                self.save()
                saved = time.perf_counter()
        progress.close()
        self.lesson.model.load_state_dict(self.best["weights"])
        self.run.write("curves.svg", curves(panels(self.history)))
        return Trained(self.epoch, self.best["epoch"], self.seconds, self.history)

    def _one_epoch(self, progress: Progress) -> dict[str, float]:
        lesson, plan = self.lesson, self.plan
        lesson.model.train()
        lesson.begin(self.epoch / plan.epochs)
        objective = self._teach(self.epoch / plan.epochs)
        order = lesson.train[torch.randperm(len(lesson.train))]
        cut = batches(order, plan.batch)
        total, last = 0.0, self.history[-1] if self.history else {}
        looked = (r["validation_accuracy"] for r in self.history[::-1] if len(r) > 3)
        accuracy = next(looked, None)
        seen = "" if accuracy is None else f"  validation {accuracy:.1%}"
        loss = last.get("loss", float("nan"))
        for i, batch in enumerate(cut):
            share = (self.epoch + i / len(cut)) / plan.epochs
            self._set_rate(plan.lr * rate(plan.schedule, share))
            if self.captured is not None and len(batch) == plan.batch:
                self.captured(batch)
            else:
                loss = descend(objective, batch, self.optimizer, lesson.describe, plan.clip)
                total += loss * len(batch)
            self.average.update()
            progress.update(
                self.epoch * len(cut) + i + 1,
                f"epoch {self.epoch + 1}/{plan.epochs}  loss {loss:.4f}{seen}",
            )
        if self.captured is not None:
            total += self.captured.check() * plan.batch
        self.epoch += 1
        row = {"epoch": self.epoch, "loss": total / len(order)}
        due = self.epoch % plan.look == 0 or self.epoch == plan.epochs
        return {**row, **self._look()} if due else row

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

    def _look(self) -> dict[str, float]:
        """Validate the averaged weights and keep the best."""
        model = self.lesson.model
        model.eval()
        with self.average.applied(), torch.no_grad():
            found = self.lesson.validate()
            loss = found.get("validation_loss", -float(self.epoch))
            better = loss < self.best["loss"] or not self.best["weights"]
            if better or self.plan.keep == "last":
                weights = {k: v.detach().clone() for k, v in model.state_dict().items()}
                self.best = {"loss": loss, "epoch": self.epoch, "weights": weights}
        return found

    def save(self) -> None:
        """Write a checkpoint."""
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
            },
        )

    def resume(self) -> None:
        """Go on from the folder's checkpoint; from the beginning where there is none."""
        if not self.run.checkpoint.exists():
            self.run.keep_metrics(0)
            return
        state = checkpoint.load(self.run.checkpoint, KEYS, self.device)
        try:
            self.lesson.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.average.restore(state["average"]["steps"], state["average"]["values"])
            checkpoint.restore_random(state["random"], self.device)
            self.epoch, self.best = state["epoch"], state["best"]
            self.history, self.seconds = state["history"], state["seconds"]
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise DataError(
                f"the checkpoint does not fit this model: {str(error).splitlines()[0]}",
                file=str(self.run.checkpoint),
                hint="train into another folder",
            ) from None
        self.run.keep_metrics(self.epoch)


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
