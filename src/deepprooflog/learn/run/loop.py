"""One resumable training loop: steps, rows of history, looks at a validation, the best weights.

    look at the untrained weights;  step … step, look, row;  step … step, look, row;  …

A `Trainer` takes the steps. The loop does what all training needs beside them:

- *Best weights.* A look is better when its value is strictly greater than that of every look before
  it: of equals the earlier stays, and NaN is never better. The untrained weights are looked at too,
  so that no training leaves weights that validate worse than those it began with.
- *Checkpoints.* The state is written whole and sealed at intervals, after whichever step, and at
  the end; a large one, as of an embedding, at longer intervals. A run that is resumed with other
  options than it was begun with is refused, with their names.
- *Signals.* Ctrl-C and SIGTERM save after the step in hand.

From the same seed a run on a CPU repeats itself bit by bit, also when it was interrupted, or
killed, and resumed.

Several processes take each step together, from one state: what one of them resumes, looks at or is
asked by a signal, all do. The first alone writes.

Short fits in memory (`fit`, `reinforce`, `on_policy.train`) are plain loops over their own step:
they keep the last weights, write nothing, and end when a callback says so.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import nn

from deepprooflog.device import random_state, restore_random
from deepprooflog.learn.run import checkpoint
from deepprooflog.learn.run.average import Average
from deepprooflog.learn.run.interrupt import Stop, stopping
from deepprooflog.learn.run.processes import processes
from deepprooflog.learn.run.progress import Progress

SECONDS_BETWEEN_CHECKPOINTS = 30.0
SECONDS_A_CHECKPOINT = 1.5
"""One that takes longer, as that of a large embedding does, is written less often in proportion."""
SHAPE: checkpoint.EntryTypes = {
    "step": int, "since": int, "trainer": dict, "average": (dict, type(None)), "random": dict,
    "best": dict, "history": list, "seconds": float,
}  # fmt: skip

Row: TypeAlias = dict[str, float]
"""A line of history: `step`, what the trainer says of its steps, the validation, `seconds`."""
Look: TypeAlias = Callable[[], float | tuple[float, Mapping[str, float]]]
"""The value that is to be high, alone or with the entries of a row to record in its place."""


class Trainer(ABC):
    """What takes the steps of a `Loop`, and says how they went."""

    module: nn.Module
    """Its weights are learned; in training mode for steps, in evaluation mode for looks."""
    gathers: bool = False
    """Of several processes each has a part of the state: all are asked for it together."""

    @abstractmethod
    def step(self, done: int) -> str:
        """Take a step, after so many were taken; a few words on it for the line of progress."""

    @abstractmethod
    def row(self) -> Row:
        """What the steps since the last row did; the next row begins."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """All that the next step depends on, but torch's random numbers, for a checkpoint."""

    @abstractmethod
    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a checkpoint's state; raise where it does not fit."""


@dataclass(frozen=True)
class Learned:
    """How a run went; the module is left with its best weights."""

    steps: int
    best_step: int
    best: float  # the validation at that step; NaN where there was none
    seconds: float
    history: list[Row]


class Loop:
    """The state of a run, from its first step or from a checkpoint.

    `row_every` steps make a row, `validate_every` rows a look (the last row has one always), and
    after `patience` rows without a better look the run ends. Rows of unit "epoch" are counted as
    epochs. `options` are what a checkpoint is refused without.

    >>> from torch import nn
    >>> from deepprooflog.learn.run.descent import Descent
    >>> _ = torch.manual_seed(0)
    >>> line, x = nn.Linear(1, 1), torch.arange(8.0)[:, None]
    >>> def losses(batch):
    ...     return (line(x[batch]) - 3 * x[batch] - 1).square()[:, 0]
    >>> trainer = Descent(line, losses, torch.optim.Adam(line.parameters(), lr=0.1), 8, batch=4)
    >>> def validate():
    ...     return -losses(torch.arange(8)).mean().item()
    >>> learned = Loop(trainer, steps=400, row_every=100, validate=validate).run()
    >>> [row["step"] for row in learned.history], learned.best > -1e-3
    ([100, 200, 300, 400], True)
    """

    def __init__(
        self,
        trainer: Trainer,
        *,
        steps: int,
        row_every: int = 1,
        validate: Look | None = None,
        validate_every: int = 1,
        patience: int = 0,
        keep_last: bool = False,
        average: Average | None = None,
        path: Path | None = None,
        options: Mapping[str, object] | None = None,
        unit: str = "step",
        fits: str = "model",
    ) -> None:
        self.trainer, self.steps, self.row_every = trainer, steps, row_every
        self.validate, self.validate_every, self.patience = validate, validate_every, patience
        self.keep_last, self.average = keep_last, average
        self.path, self.options = path, dict(options or {})
        self.unit, self.fits = unit, fits
        self.device = next((p.device for p in trainer.module.parameters()), torch.device("cpu"))
        self.step, self.since = 0, 0  # steps taken, and those that are in the history
        self.best: dict[str, Any] = {"value": -float("inf"), "step": 0, "weights": {}}
        self.history: list[Row] = []
        self.seconds = 0.0
        self._seen = ""  # the last look, as the line of progress shows it
        self._marked = self._saved = time.perf_counter()
        self._slow = 1.0  # by how much checkpoints are further apart than usual
        self._changed = True

    @property
    def ended(self) -> bool:
        """True when all steps are done, or when patience has run out."""
        waited = (self.since - self.best["step"]) // self.row_every
        patient = self.validate is None or not 0 < self.patience <= waited
        return self.since >= self.steps or not (patient or self._between_looks(self.since))

    def _between_looks(self, step: int) -> bool:
        return step < self.steps and step // self.row_every % self.validate_every != 0

    def run(
        self, progress: Progress | None = None, on_row: Callable[[Row], object] | None = None
    ) -> Learned:
        """Take the steps that are left; `on_row` gets each row of history."""
        processes().align(self.trainer.module)
        if progress is not None:
            progress.begin(self.step)
        save = None if self.path is None else self.save
        with stopping(save, _nothing if progress is None else progress.close) as stop:
            if not self.step and not self.best["weights"] and not self.keep_last:
                self._look(stop)
            self._marked = time.perf_counter()
            while not self.ended:
                self._until_row(progress, stop)
                self._end_row(stop)
                if on_row is not None:
                    on_row(self.history[-1])
                stop()
            if not self.best["weights"]:
                # Nothing changes them any more: a large embedding need not be there twice.
                with self._averaged():
                    self._keep(float("nan"), copied=self.average is not None)
            if self._changed:
                self.save()
        self.trainer.module.load_state_dict(self.best["weights"])
        return Learned(self.step, self.best["step"], self.best["value"], self.seconds, self.history)

    def _until_row(self, progress: Progress | None, stop: Stop) -> None:
        last = min(self.steps, (self.since // self.row_every + 1) * self.row_every)
        self.trainer.module.train()
        while self.step < last:
            text = self.trainer.step(self.step)
            if self.average is not None:
                self.average.update()
            self.step += 1
            self._changed = True
            if progress is not None:
                progress.update(self.step, f"{self._count()}  {text}{self._seen}")
            if self._is_time():
                self.save()
            stop()

    def _is_time(self) -> bool:
        """Whether a checkpoint is due; where all processes make it, they begin at one step."""
        due = time.perf_counter() - self._saved >= SECONDS_BETWEEN_CHECKPOINTS * self._slow
        return bool(processes().highest(due)) if self.trainer.gathers else due

    def _count(self) -> str:
        size = self.row_every if self.unit == "epoch" else 1
        return f"{self.unit} {-(-self.step // size)}/{-(-self.steps // size)}"

    def _end_row(self, stop: Stop) -> None:
        looked = {} if self._between_looks(self.step) else self._look(stop)
        row: Row = {"step": self.step}
        if self.unit == "epoch":
            row["epoch"] = self.step // self.row_every
        row |= {**self.trainer.row(), **looked}
        self._tick()
        self.history.append({**row, "seconds": round(self.seconds, 3)})
        self.since = self.step

    def _look(self, stop: Stop) -> dict[str, float]:
        """Validate, and keep the weights where they are better; what there is to record."""
        if self.validate is None:
            return {}
        random = random_state(self.device)
        entries: dict[str, float] = {}
        self.trainer.module.eval()
        with self._averaged(), torch.no_grad():
            found = stop.looking(self.validate)
            if found is not None:
                seen = found
                found = processes().from_first(lambda: seen)  # all of them keep the same weights
                value, more = found if isinstance(found, tuple) else (found, {"validation": found})
                entries = dict(more)
                if value > self.best["value"] or self.keep_last:
                    self._keep(value)
        if found is None or not self.step:
            # A look that a signal ended is repeated; the first changes no run that had none.
            restore_random(random, self.device)
        self._seen = "".join(f"  {k.replace('_', ' ')} {v:.4f}" for k, v in [*entries.items()][:1])
        stop()
        return entries

    def _keep(self, value: float, *, copied: bool = True) -> None:
        weights = {k: v.detach() for k, v in self.trainer.module.state_dict().items()}
        if copied:
            weights = {k: v.clone() for k, v in weights.items()}
        self.best = {"value": float(value), "step": self.step, "weights": weights}
        self._changed = True

    def _averaged(self) -> AbstractContextManager[None]:
        return nullcontext() if self.average is None else self.average.applied()

    def _tick(self) -> None:
        now = time.perf_counter()
        self.seconds, self._marked = self.seconds + now - self._marked, now

    def save(self) -> None:
        """Write a checkpoint, where the run has a file for it and this process is to write."""
        self._tick()
        here = processes()
        if self.path is not None and (here.first or self.trainer.gathers):
            state = {
                "options": self.options,
                "step": self.step,
                "since": self.since,
                "trainer": self.trainer.state(),
                "average": None if self.average is None else self.average.state(),
                "random": random_state(self.device),
                "best": self.best,
                "history": self.history,
                "seconds": self.seconds,
            }
            if here.first:
                checkpoint.save(self.path, state)
        began, self._saved, self._changed = self._marked, time.perf_counter(), False
        self._slow = max(1.0, (self._saved - began) / SECONDS_A_CHECKPOINT)

    def resume(self) -> None:
        """Go on from the checkpoint; from the beginning where there is none."""
        here = processes()
        device = torch.device("cpu") if here.several else self.device
        state = here.from_first(lambda: checkpoint.resumed(self.path, SHAPE, self.options, device))
        if state is not None:
            with checkpoint.fitting(self.path, self.fits):
                self._restore(state)
            self._changed = False

    def _restore(self, state: dict[str, Any]) -> None:
        self.trainer.restore(state["trainer"])
        if self.average is not None:
            self.average.restore(**state["average"])
        restore_random(state["random"], self.device)
        self.best = checkpoint.restore_best(state["best"], self.best, self.trainer.module)
        self.step, self.since = state["step"], state["since"]
        self.history, self.seconds = state["history"], state["seconds"]
        rows = -(-self.since // self.row_every)
        if not 0 <= self.best["step"] <= self.step or not self.since <= self.step <= self.steps:
            raise ValueError(f"step {self.step} of {self.steps}, the best {self.best['step']}")
        if self.step > (rows + 1) * self.row_every or len(self.history) != rows:
            raise ValueError(f"{len(self.history)} rows of history at step {self.step}")
        if not all(row.keys() >= {"step", self.unit} - {"iteration"} for row in self.history):
            raise ValueError(f"a row of history names no {self.unit}")


def _nothing() -> None:
    """Where there is no line of progress to end."""
