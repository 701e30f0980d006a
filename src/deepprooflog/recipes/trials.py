"""Several initial weights, each tried for some epochs: the one that learns goes on.

Under weak supervision a network can settle on consistently wrong labels (every digit five too
high gives the right sums but for the carries); which basin it falls into depends on where it
starts. The training loss tells the basins apart.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from deepprooflog.learn.captured import CapturedStep
from deepprooflog.learn.minibatch import batches, descend
from deepprooflog.recipes.training import Lesson
from deepprooflog.recipes.training_options import TrainingOptions


def best_start(lesson: Lesson, plan: TrainingOptions, tries: int, epochs: int) -> list[float]:
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
        if losses[-1] == min(losses):
            best = {k: v.detach().clone() for k, v in model.state_dict().items()}
    model.load_state_dict(best)
    return losses


def _restart(model: nn.Module) -> None:
    for layer in model.modules():
        reset = getattr(layer, "reset_parameters", None)
        if reset is not None:
            reset()


def _trial(lesson: Lesson, plan: TrainingOptions, epochs: int) -> float:
    """Train for some epochs at a rate that rises and stays; the mean loss of the last one."""
    parameters = [p for p in lesson.model.parameters() if p.requires_grad and p.numel()]
    on_gpu = parameters[0].device.type == "cuda"
    lr = torch.zeros((), device=parameters[0].device)
    optimizer = torch.optim.AdamW(
        parameters, lr=lr if on_gpu else 0.0, weight_decay=plan.weight_decay, fused=on_gpu,
        capturable=on_gpu,
    )  # fmt: skip
    objective = lesson.objective(0.0)
    captured = (
        CapturedStep(objective, optimizer, plan.batch, plan.clip)
        if on_gpu and lesson.capture
        else None
    )
    steps = epochs * math.ceil(len(lesson.train) / plan.batch)
    done, total = 0, 0.0
    for _ in range(epochs):
        total = 0.0
        for batch in batches(lesson.train[torch.randperm(len(lesson.train))], plan.batch):
            done += 1
            rate = plan.lr * min(1.0, 4 * done / steps)
            lr.fill_(rate)
            for group in optimizer.param_groups:
                group["lr"] = lr if on_gpu else rate
            if captured is not None and len(batch) == plan.batch:
                captured(batch)
            else:
                loss = descend(objective, batch, optimizer, lesson.describe, plan.clip)
                total += loss * len(batch)
        if captured is not None:
            total += captured.check() * plan.batch
    return total / len(lesson.train)
