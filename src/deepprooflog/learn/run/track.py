"""Trackers of experiments: a run's rows of history and its figures, sent where others are kept.

    --set track=tensorboard     a folder that TensorBoard shows
    --set track=wandb           Weights & Biases, project `deepprooflog` or WANDB_PROJECT
    --set track=mlflow          MLflow, experiment `deepprooflog` or MLFLOW_EXPERIMENT_NAME

None is needed to train, and none is loaded unless asked for. A new one is a class and a line in
`TRACKERS`. In Python a `callback` gets each row in place of a tracker, or beside one.
"""

from __future__ import annotations

import hashlib
import importlib
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepprooflog.errors import DataError, ModelError, ProofLogError
from deepprooflog.learn.run.curves import Scalars
from deepprooflog.learn.run.loop import Row
from deepprooflog.learn.run.processes import processes

PROJECT = "deepprooflog"
NO_TRACKER = "none"
# What one call of MLflow takes, and how long a value may be there.
PARAMETERS, LONGEST = 100, 500


@dataclass(frozen=True)
class TrackedRun:
    """What a tracker is told at the beginning."""

    name: str
    options: Mapping[str, Any]  # by key
    folder: Path | None = None


class Tracker(ABC):
    """Where rows and figures go."""

    def __init__(self, run: TrackedRun) -> None:
        self.run = run
        self.begin()

    @abstractmethod
    def begin(self) -> None:
        """Before the first row."""

    @abstractmethod
    def log(self, step: int, values: Mapping[str, float]) -> None:
        """The values of a step."""

    @abstractmethod
    def end(self, figures: Mapping[str, float], failed: bool) -> None:
        """After the last row; the test figures, where it came to them."""


class TensorBoardTracker(Tracker):
    """Event files in the run's folder."""

    def begin(self) -> None:
        if self.run.folder is None:
            raise DataError(
                "track=tensorboard writes into a run's folder", hint="train(…, out=FOLDER)"
            )
        self.scalars: Scalars | None = None
        self.step = 0
        _library("torch.utils.tensorboard", "pip install 'deepprooflog[tensorboard]'")

    def log(self, step: int, values: Mapping[str, float]) -> None:
        if self.scalars is None:
            # What an interrupted run wrote from here on is repeated, and hidden.
            assert self.run.folder is not None
            self.scalars = Scalars(self.run.folder / "tensorboard", step - 1)
        self.step = step
        self.scalars.write(step, values)

    def end(self, figures: Mapping[str, float], failed: bool) -> None:
        if figures and not failed:
            self.log(self.step, {f"test/{key}": value for key, value in figures.items()})
        if self.scalars is not None:
            self.scalars.close()


class WandbTracker(Tracker):
    """Weights & Biases; a run that is resumed goes on there, too."""

    def begin(self) -> None:
        wandb = _library("wandb", "pip install wandb")
        place = None if self.run.folder is None else str(self.run.folder.absolute())
        name = None if place is None else hashlib.sha256(place.encode()).hexdigest()[:16]
        self.own = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT), name=self.run.name, id=name,
            resume="allow", config=dict(self.run.options),
        )  # fmt: skip

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self.own.log(dict(values), step=step)

    def end(self, figures: Mapping[str, float], failed: bool) -> None:
        self.own.summary.update({f"test/{key}": value for key, value in figures.items()})
        self.own.finish(exit_code=int(failed))


class MlflowTracker(Tracker):
    """MLflow; a run that is resumed is another one there."""

    def begin(self) -> None:
        self.mlflow = _library("mlflow", "pip install mlflow")
        self.mlflow.set_experiment(os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT))
        self.mlflow.start_run(run_name=self.run.name)
        texts = [(key, str(value)[:LONGEST]) for key, value in self.run.options.items()]
        for first in range(0, len(texts), PARAMETERS):
            self.mlflow.log_params(dict(texts[first : first + PARAMETERS]))

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self.mlflow.log_metrics(_without_at(values), step=step)

    def end(self, figures: Mapping[str, float], failed: bool) -> None:
        if figures:
            named = {f"test/{key}": value for key, value in figures.items()}
            self.mlflow.log_metrics(_without_at(named))
        self.mlflow.end_run(status="FAILED" if failed else "FINISHED")


TRACKERS: dict[str, Callable[[TrackedRun], Tracker]] = {
    "tensorboard": TensorBoardTracker,
    "wandb": WandbTracker,
    "mlflow": MlflowTracker,
}


class Tracking:
    """Who is told of a run: a tracker, a callback, both or none."""

    def __init__(
        self, tracker: Tracker | None, callback: Callable[[Row], object] | None = None
    ) -> None:
        self.tracker, self.callback = tracker, callback
        self.figures: dict[str, float] = {}

    def row(self, row: Row) -> None:
        """Tell a row of history."""
        if self.tracker is not None:
            values = {key: value for key, value in _numbers(row).items() if key != "step"}
            self.tracker.log(int(row["step"]), values)
        if self.callback is not None:
            self.callback(dict(row))

    def test(self, figures: Mapping[str, Any]) -> None:
        """Keep the test figures for the end."""
        self.figures = _numbers(figures)


@contextmanager
def tracked(
    kind: str, run: TrackedRun, callback: Callable[[Row], object] | None = None
) -> Iterator[Tracking]:
    """Within, a run is tracked; whatever ends it, its tracker is told.

    >>> rows = []
    >>> with tracked("none", TrackedRun("mine", {}), rows.append) as tracking:
    ...     tracking.row({"step": 1, "loss": 0.5})
    >>> rows
    [{'step': 1, 'loss': 0.5}]
    """
    silent = kind == NO_TRACKER or not processes().first
    tracking = Tracking(None if silent else _begun(kind, run), callback)
    failed = True
    try:
        yield tracking
        failed = False
    finally:
        if tracking.tracker is not None:
            tracking.tracker.end(tracking.figures, failed)


def _begun(kind: str, run: TrackedRun) -> Tracker:
    try:
        return TRACKERS[kind](run)
    except ProofLogError:
        raise
    except Exception as error:  # whatever the library raises: nothing is trained yet
        raise ModelError(
            f"{kind} cannot begin: {error}", hint="track=none trains without"
        ) from error


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    return {
        key: float(value)
        for key, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    }


def _without_at(values: Mapping[str, float]) -> dict[str, float]:
    """Names that MLflow takes: hits@1 is hits_at_1."""
    return {key.replace("@", "_at_"): value for key, value in values.items()}


def _library(name: str, hint: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        told = "TensorBoard" if name.endswith("tensorboard") else name
        raise ModelError(f"{told} is not installed", hint=hint) from None
