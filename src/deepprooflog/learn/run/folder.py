"""Run folders: what a training run leaves behind, and what may be trained into.

    config.json      the recipe's name, its task and every option
    graph.json, graph.safetensors    names and rules, and triples, as they were when it began;
                                     of large graphs graph.index in place of the latter
    prior.safetensors                of a graph: the embedding that is believed, calibrated
    model.safetensors                the weights that answer
    metrics.jsonl    a line for each epoch
    checkpoint.pt    the last state and the best weights, to go on with training
    facts.json       of a graph: the facts that were added and removed since
    curves.svg       loss and accuracy over the epochs
    result.json      the test figures and the seconds, when the run is done
    README.md        what it is, for people and hubs

Files are replaced whole: an interrupted run leaves what was there before. What a run is read from
has a checksum. The checkpoint is torch's own format and no part of what answers: a finished run is
asked and tested without it. Older runs have `graph.pt`, `prior.pt` and `walks.pt`, which are read
as they are.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepprooflog.data.whole import (
    PART,
    cannot_write,
    read_json,
    sealed_json,
    sweep,
    write_whole,
)
from deepprooflog.errors import DataError

LOCK_NAME = ".lock"
_TAKEN = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_ABSENT = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Within, no other process has the folder; one that another has is refused.

    The lock is the operating system's and ends with its process: a killed one leaves a file that
    locks nothing. File systems of other machines may not keep it.
    """
    path = folder / LOCK_NAME
    number = _take(path)
    try:
        yield
    finally:
        # Still locked: who opened the file meanwhile sees that it is gone and makes another.
        with suppress(OSError):
            path.unlink()
        os.close(number)


def _take(path: Path) -> int:
    while True:
        try:
            number = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except (OSError, ValueError) as error:
            raise cannot_write(error, path.parent) from None
        try:
            _lock(number)
        except OSError as error:
            holder = _holder(number)
            os.close(number)
            if error.errno in _TAKEN:
                raise DataError(
                    f"another process{holder} trains into this folder", file=str(path.parent),
                    hint="wait for it, or another --out",
                ) from None  # fmt: skip
            raise cannot_write(error, path.parent) from None
        if _is_at(number, path):
            with suppress(OSError):
                os.ftruncate(number, 0)
                os.write(number, f"{os.getpid()}\n".encode())
            return number
        os.close(number)


def _lock(number: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _ABSENT:
                raise
            warnings.warn("this file system has no locks: train into it once at a time",
                          stacklevel=2)  # fmt: skip


def _holder(number: int) -> str:
    try:
        text = os.pread(number, 20, 0).decode("ascii", "replace").strip()
    except (OSError, AttributeError):
        return ""
    return f" ({text})" if text.isdigit() else ""


def _is_at(number: int, path: Path) -> bool:
    """True when the file that was locked is the one at the path, and not one removed since."""
    try:
        return os.path.samestat(os.fstat(number), path.stat())
    except OSError:
        return False


CONFIG = {"recipe": str, "task": str, "options": dict}
LEARNED = (
    "checkpoint.pt", "model.safetensors", "prior.safetensors", "prior-training-*.pt",
    "result.json", "walks.pt", "prior.pt",
)  # fmt: skip
BESIDE = (
    "config.json", "graph.json", "graph.safetensors", "graph.pt", "metrics.jsonl", "curves.svg",
)  # fmt: skip


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

    @property
    def learned(self) -> bool:
        """True when something was learned that is worth going on with."""
        return any(next(self.path.glob(name), None) is not None for name in LEARNED)

    def config(self) -> dict[str, Any]:
        """What was trained."""
        path = self.path / "config.json"
        value = read_json(path)
        whole = value.keys() == CONFIG.keys()
        if not whole or not all(isinstance(value[key], kind) for key, kind in CONFIG.items()):
            hint = "the folder given to  dprl train … --out"
            raise DataError("not a run's configuration", file=str(path), hint=hint)
        return value

    def read_result(self) -> dict[str, Any]:
        """The test figures of a finished run."""
        return read_json(self.result)

    def read_json(self, name: str) -> dict[str, Any]:
        """What `write_json` wrote."""
        return read_json(self.path / name)

    def append(self, row: Mapping[str, object]) -> None:
        """Add a line to the metrics."""
        path = self.path / "metrics.jsonl"
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        except OSError as error:
            raise cannot_write(error, path) from None

    def write_metrics(self, rows: Iterable[Mapping[str, object]]) -> None:
        """The metrics anew, as when a resumed run forgets the epochs that it will repeat."""
        self.write("metrics.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def write(self, name: str, text: str) -> None:
        """Write a file whole or not at all."""
        write_whole(self.path / name, text.encode())

    def write_json(self, name: str, value: Mapping[str, object]) -> None:
        """Write a JSON file for people and machines, with a checksum."""
        self.write(name, sealed_json(value))


@contextmanager
def create(path: Path, config: Mapping[str, object]) -> Iterator[RunFolder]:
    """A new run folder, locked within; a folder that holds anything else is left alone.

    After an error before anything was learned the folder is as it was: it can be used again.
    """
    run = RunFolder(path)
    try:
        made = not path.exists()
        if not made and not path.is_dir():
            raise DataError("not a folder", file=str(path), hint="another --out")
        path.mkdir(parents=True, exist_ok=True)
        _check_free(run)
    except (OSError, ValueError) as error:
        raise cannot_write(error, path) from None
    try:
        with locked(path):
            _check_free(run)
            sweep(path)
            try:
                run.write_json("config.json", config)
                yield run
            except Exception:
                if not run.learned:
                    for name in BESIDE:
                        (path / name).unlink(missing_ok=True)
                raise
    except Exception:
        if made:
            with suppress(OSError):  # not empty: something was learned, or another is at work
                path.rmdir()
        raise


def _check_free(run: RunFolder) -> None:
    """Refuse a folder that is in use; a run that has learned nothing makes room."""
    if run.learned:
        raise DataError(
            "holds a run already",
            file=str(run.path),
            hint="--resume to go on with it, or another --out",
        )
    names = {p.name for p in run.path.iterdir() if not p.name.endswith(PART)}
    if not names <= {*BESIDE, LOCK_NAME}:
        raise DataError(
            "the folder is not empty and holds no run", file=str(run.path), hint="another --out"
        )


@contextmanager
def reopen(path: Path) -> Iterator[RunFolder]:
    """A run to go on with, locked within."""
    run = open_run(path)
    with locked(path):
        sweep(path)
        yield run


def open_run(path: Path) -> RunFolder:
    """An existing run folder."""
    if not is_run(path):
        raise DataError("not the folder of a run: it has no config.json", file=str(path),
                        hint="the folder given to  dprl train … --out")  # fmt: skip
    run = RunFolder(path)
    run.config()
    return run


def is_run(path: Path) -> bool:
    """True for a folder that a run was trained into."""
    try:
        return (path / "config.json").is_file()
    except OSError:  # a name that no file can have
        return False
