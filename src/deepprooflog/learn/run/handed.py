"""A run's files for the processes that go on with it: the first alone has the run's folder.

A file that is only ever replaced whole is taken where it lies by a process that sees it there, as
on the first one's machine, so that a large graph is mapped once and copied nowhere. What a process
does not see it is sent, a piece at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import torch

from deepprooflog.data.whole import cannot_write
from deepprooflog.errors import DataError
from deepprooflog.learn.run.processes import processes

PIECE = 16 * 1024 * 1024
TAKEN = (".index", ".safetensors")


class RunFile(NamedTuple):
    """A file in the first process's folder, and what tells that another sees the same."""

    name: str
    bytes: int
    mtime_ns: int


def run_files(folder: Path, names: Sequence[str]) -> list[RunFile]:
    """The files of these names."""
    stats = {name: (folder / name).stat() for name in names}
    return [RunFile(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()]


def hand_out(files: Sequence[RunFile], folder: Path, own: Path) -> None:
    """Have the first process's files in every process's own folder; in the first nothing changes.

    `folder` is the first one's, by the name that it has in each process.
    """
    here = processes()
    for file in files:
        there = not here.first and file.name.endswith(TAKEN) and _linked(file, folder, own)
        lacks = not here.first and not there
        if here.highest(int(lacks)):
            _send(folder / file.name, own / file.name if lacks else None, file.bytes)


def _linked(file: RunFile, folder: Path, own: Path) -> bool:
    """Whether the file is seen here, and has a second name in the own folder now."""
    try:
        if run_files(folder, [file.name]) != [file]:
            return False
        (own / file.name).symlink_to((folder / file.name).absolute())
    except OSError:
        return False
    return True


def _send(path: Path, target: Path | None, size: int) -> None:
    """Send a file from the first process to those that have a target for it."""
    here = processes()
    try:
        if here.first:
            with path.open("rb") as file:
                _pieces(file, size)
        elif target is None:
            _pieces(None, size)
        else:
            with target.open("wb") as file:
                _pieces(file, size)
    except OSError as error:
        if here.first or target is None:
            raise DataError(f"cannot read: {error.strerror or error}", file=str(path)) from None
        raise cannot_write(error, target) from None


def _pieces(file: BinaryIO | None, size: int) -> None:
    """Read a file in the first process, write it in those that have one."""
    here, room = processes(), torch.empty(min(PIECE, size), dtype=torch.uint8)
    for begin in range(0, size, PIECE):
        piece = room[: size - begin]
        raw = piece.numpy().data
        if here.first and file is not None and file.readinto(raw) != len(raw):  # type: ignore[attr-defined]
            raise OSError("the file is shorter than it was")
        here.spread(piece)
        if not here.first and file is not None:
            file.write(raw)
