"""Run folders: what a training run leaves behind, and what may be trained into.

    config.json      the recipe's name, its task and every option
    metrics.jsonl    a line for each epoch
    checkpoint.pt    the last state and the best weights
    curves.svg       loss and accuracy over the epochs
    result.json      the test figures and the seconds, when the run is done

Files are replaced whole: an interrupted run leaves what was there before.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepprooflog.errors import DataError


@dataclass(frozen=True)
class RunFolder:
    """The folder of one training run."""

    path: Path

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint.pt"

    @property
    def result(self) -> Path:
        return self.path / "result.json"

    def config(self) -> dict[str, Any]:
        """What was trained."""
        return _json(self.path / "config.json")

    def read_result(self) -> dict[str, Any]:
        """The test figures of a finished run."""
        return _json(self.result)

    def append(self, row: Mapping[str, object]) -> None:
        """Add a line to the metrics."""
        with (self.path / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def keep_metrics(self, epochs: int) -> None:
        """Forget the lines of epochs that a resumed run will repeat."""
        path = self.path / "metrics.jsonl"
        rows = path.read_text(encoding="utf-8").splitlines(True)[:epochs] if path.exists() else []
        self.write("metrics.jsonl", "".join(rows))

    def write(self, name: str, text: str) -> None:
        """Write a file whole or not at all."""
        path = self.path / name
        part = path.with_name(name + ".part")
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)

    def write_json(self, name: str, value: Mapping[str, object]) -> None:
        """Write a JSON file for people and machines."""
        self.write(name, json.dumps(value, indent=2) + "\n")


def create(path: Path, config: Mapping[str, object]) -> RunFolder:
    """A new run folder; a folder that holds anything is left alone."""
    if path.exists() and not path.is_dir():
        raise DataError("not a folder", file=str(path), hint="another --out")
    if is_run(path):
        raise DataError(
            "holds a run already",
            file=str(path),
            hint="--resume to go on with it, or another --out",
        )
    if path.is_dir() and any(path.iterdir()):
        raise DataError(
            "the folder is not empty and holds no run", file=str(path), hint="another --out"
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
        run = RunFolder(path)
        run.write_json("config.json", config)
    except OSError as error:
        raise DataError(f"cannot write: {error.strerror or error}", file=str(path)) from None
    return run


def open_run(path: Path) -> RunFolder:
    """An existing run folder."""
    if not is_run(path):
        raise DataError("not the folder of a run: it has no config.json", file=str(path),
                        hint="the folder given to  dprl train … --out")  # fmt: skip
    run = RunFolder(path)
    if not {"recipe", "task", "options"} <= run.config().keys():
        raise DataError("not a run's configuration", file=str(path / "config.json"))
    return run


def is_run(path: Path) -> bool:
    """True for a folder that a run was trained into."""
    return (path / "config.json").is_file()


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be read: {error}", file=str(path)) from None
    if not isinstance(value, dict):
        raise DataError("not a JSON object", file=str(path))
    return value
