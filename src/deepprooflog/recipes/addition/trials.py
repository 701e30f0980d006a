"""Several initial weights, each tried for some epochs: the one that learns goes on.

Under weak supervision a network can settle on consistently wrong labels (every digit five too
high gives the right sums but for the carries); which basin it falls into depends on where it
starts. The training loss tells the basins apart.
"""

from __future__ import annotations

import torch
from torch import nn

from deepprooflog.learn.run.loop import Loop
from deepprooflog.recipes.addition.training import TrainingTask, descent, steps_in_epoch
from deepprooflog.recipes.addition.training_options import TrainingOptions


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
