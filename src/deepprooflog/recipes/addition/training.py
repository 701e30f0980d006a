"""A training run in epochs, into a folder: averaged weights, a rate by schedule, curves.

The run ends with the averaged weights that had the lowest validation loss, or with the last ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch
from torch import nn

from deepprooflog.device import replays
from deepprooflog.learn.run.average import Average
from deepprooflog.learn.run.curves import curves
from deepprooflog.learn.run.descent import Descent, rate
from deepprooflog.learn.run.folder import RunFolder
from deepprooflog.learn.run.loop import Loop, Row
from deepprooflog.learn.run.minibatch import Objective
from deepprooflog.learn.run.progress import Progress
from deepprooflog.model import Model
from deepprooflog.recipes.addition.options import TrainingOptions


@dataclass(frozen=True)
class TrainingTask:
    """What is learned: a model, the losses of its examples, and a look at the validation split."""

    model: Model
    objective: Callable[[float], Objective]  # of the epoch that begins when this share is done
    train: int  # training examples, numbered from 0
    validate: Callable[[], dict[str, float]] | None  # "validation_loss" and what else to record
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

    def __init__(self, lesson: TrainingTask, plan: TrainingOptions, run: RunFolder) -> None:
        self.lesson, self.plan, self.run = lesson, plan, run
        self.size = steps_in_epoch(lesson, plan)
        self.epoch = -1  # the one whose objective is in use
        trainer = descent(lesson, plan, self._objective, self._rate)
        self.loop = Loop(
            trainer, steps=plan.epochs * self.size, row_every=self.size, unit="epoch",
            validate_every=plan.validate_every,
            validate=None if lesson.validate is None else self._validate, patience=plan.patience,
            keep_last=plan.keep == "last", average=Average(lesson.model, plan.average),
            path=run.checkpoint, options=asdict(plan),
        )  # fmt: skip

    @property
    def begun(self) -> bool:
        """True after the first step."""
        return self.loop.step > 0

    def _objective(self, done: int) -> Objective:
        """The objective of the epoch that a step is in."""
        epoch = done // self.size
        if epoch != self.epoch:
            self.epoch = epoch
            self.lesson.begin(epoch / self.plan.epochs)
            self.objective = self.lesson.objective(epoch / self.plan.epochs)
        return self.objective

    def _rate(self, done: int) -> float:
        share = (done // self.size + done % self.size / self.size) / self.plan.epochs
        return self.plan.lr * rate(self.plan.schedule, share)

    def _validate(self) -> tuple[float, dict[str, float]]:
        assert self.lesson.validate is not None
        found = self.lesson.validate()
        return -found["validation_loss"], found

    def resume(self) -> None:
        """Go on from the folder's checkpoint; from the beginning where there is none."""
        self.loop.resume()
        self.run.write_metrics(self.loop.history)

    def train(self, progress: Progress, on_row: Callable[[Row], object] | None = None) -> Trained:
        """Run the epochs that are left; a signal ends them, saved, after the step in hand.

        Each row of history goes into the run, and then to `on_row`.
        """

        def told(row: Row) -> None:
            self.run.append(row)
            if on_row is not None:
                on_row(row)

        learned = self.loop.run(progress, told)
        self.run.write("curves.svg", curves(panels(learned.history)))
        epochs, best = learned.steps // self.size, learned.best_step // self.size
        return Trained(epochs, best, learned.seconds, learned.history)


def steps_in_epoch(lesson: TrainingTask, plan: TrainingOptions) -> int:
    """Minibatches in a pass over the training examples; the last may be smaller."""
    return -(-lesson.train // plan.batch)


def descent(
    lesson: TrainingTask,
    plan: TrainingOptions,
    objective_at: Callable[[int], Objective],
    rate_at: Callable[[int], float],
) -> Descent:
    """Steps of AdamW on the lesson's model."""
    model = lesson.model
    on_gpu = replays(model.device)
    capture = on_gpu and lesson.capture
    optimizer = torch.optim.AdamW(
        [p for p in model.parameters() if p.requires_grad and p.numel()],
        lr=torch.tensor(plan.lr, device=model.device) if capture else plan.lr,
        weight_decay=plan.weight_decay, fused=on_gpu, capturable=on_gpu,
    )  # fmt: skip
    return Descent(
        model, None, optimizer, lesson.train, batch=plan.batch, objective_at=objective_at,
        rate=rate_at, describe=lesson.describe, clip=plan.clip, epochs=True, capture=capture,
    )  # fmt: skip


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


def best_start(lesson: TrainingTask, plan: TrainingOptions, tries: int, epochs: int) -> list[float]:
    """Try initial weights and leave the model with the best after its trial; the last losses."""
    model = lesson.model
    losses: list[float] = []
    best: dict[str, torch.Tensor] = {}
    model.train()
    lesson.begin(0.0)
    for number in range(tries):
        if number:
            _restart(model)
        losses.append(_trial(lesson, plan, epochs))
        if not number or losses[-1] < min(losses[:-1]):
            best = {k: v.detach().clone() for k, v in model.state_dict().items()}
    model.load_state_dict(best)
    return losses


def _restart(model: nn.Module) -> None:
    for layer in model.modules():
        reset = getattr(layer, "reset_parameters", None)
        if reset is not None:
            reset()


def _trial(lesson: TrainingTask, plan: TrainingOptions, epochs: int) -> float:
    """Train for some epochs at a rate that rises and stays; the mean loss of the last one."""
    objective = lesson.objective(0.0)
    size = steps_in_epoch(lesson, plan)
    steps = epochs * size
    trainer = descent(
        lesson,
        plan,
        lambda _: objective,
        lambda done: plan.lr * min(1.0, 4 * (done + 1) / steps),
    )
    return Loop(trainer, steps=steps, row_every=size).run().history[-1]["loss"]
