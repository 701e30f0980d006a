"""A lock on a run's folder: one process at a time trains into it.

The lock is the operating system's, on a file in the folder, and ends with its process however that
ends: a killed one leaves a file that locks nothing. File systems of other machines may not keep it.
"""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from deepprooflog.data.whole import cannot_write
from deepprooflog.errors import DataError

NAME = ".lock"
_TAKEN = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_ABSENT = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Within, no other process has the folder; one that another has is refused."""
    path = folder / NAME
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
