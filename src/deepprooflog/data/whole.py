r"""Files that are written whole or not at all, and that tell when they are not what was written.

A file is written beside its place under a name of its own and then moved there: what goes wrong on
the way (a full disk, a signal) leaves the old file as it was and nothing behind. A sealed file
begins with a line that holds the SHA-256 of the rest, a sealed JSON object has an entry with that
of the others.

    deepprooflog <kind> 2 sha256 <64 digits>\n<the rest>

Data sets may be gzipped: their bytes are read with a cap on what compressed ones may become.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import secrets
import sys
import warnings
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from deepprooflog.errors import DataError

PART = ".part"
BINARY = getattr(os, "O_BINARY", 0)  # which Windows asks for
_LOCKS = sys.platform != "win32"  # where there are none nothing is swept
FORMAT = 2
SEAL, VERSION = "sha256", "format"
_HEADER = "deepprooflog {kind} {format} sha256 "


def write_whole(path: Path, *pieces: bytes | memoryview) -> None:
    """Write a file of some pieces, or leave what was there and say why.

    What is no file, a terminal or a pipe, is written into, as is all of /dev (/dev/stdout).
    """
    if path.parts[:2] == ("/", "dev") or (path.exists() and not path.is_file()):
        return _write_into(path, *pieces)

    def fill(file: BinaryIO) -> None:
        for piece in pieces:
            file.write(piece)

    return write_filled(path, fill)


def write_filled(path: Path, fill: Callable[[BinaryIO], None]) -> None:
    """Write a file that a function fills, or leave what was there and say why."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PART}")
    try:
        try:
            with _created(part) as file:
                fill(file)
                file.flush()
                os.fsync(file.fileno())
                if _LOCKS:  # while it is locked: what is not may be swept
                    os.replace(part, path)
            if not _LOCKS:  # nor is an open file moved there
                os.replace(part, path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:
        raise cannot_write(error, path) from None


def _write_into(path: Path, *pieces: bytes | memoryview) -> None:
    try:
        with open(path, "wb") as file:
            for piece in pieces:
                file.write(piece)
    except OSError as error:
        raise cannot_write(error, path) from None


def _created(path: Path) -> BinaryIO:
    """A new file that is locked until it is closed, or its process dies: `sweep_left` leaves it."""
    while True:
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | BINARY, 0o666)
        _lock(number, wait=True)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(number), path.stat()):
                return os.fdopen(number, "r+b")
        os.close(number)  # swept before it was locked


def _lock(number: int, *, wait: bool) -> bool:
    """Lock an open file, where the system can; whether it is."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def cannot_write(error: Exception, path: Path) -> DataError:
    """What a failed write is told as."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return DataError(
        f"cannot write: {reason}", file=str(path), hint="another folder, or room on the disk"
    )


def sweep(folder: Path) -> None:
    """Remove what a killed process left half written."""
    for part in folder.glob(f".*{PART}"):
        part.unlink(missing_ok=True)


def sweep_left(path: Path) -> None:
    """Remove what killed processes left of writing one file; what one is writing now stays."""
    for part in path.parent.glob(f".{path.name}.*{PART}"):
        with suppress(OSError), part.open("r+b") as file:
            if _lock(file.fileno(), wait=False):
                part.unlink()


def sealed(kind: str, raw: bytes) -> bytes:
    """The bytes of a sealed file."""
    return f"{_header(kind)}{hashlib.sha256(raw).hexdigest()}\n".encode() + raw


def unsealed(kind: str, raw: bytes) -> bytes | None:
    """What was sealed, where it is what was sealed; None where it is not."""
    header = _header(kind).encode()
    end = len(header) + 65
    body = raw[end:]
    said = raw[:end]
    return body if said == header + hashlib.sha256(body).hexdigest().encode() + b"\n" else None


def _header(kind: str) -> str:
    return _HEADER.format(kind=kind, format=FORMAT)


def sealed_json(value: Mapping[str, object]) -> str:
    """A JSON object for people and machines, with its checksum.

    >>> unsealed_json(sealed_json({"n": 4}))
    ({'n': 4}, True)
    """
    plain = json.loads(json.dumps(value))
    return json.dumps({**plain, VERSION: FORMAT, SEAL: _digest(plain)}, indent=2) + "\n"


def unsealed_json(text: str) -> tuple[dict[str, Any], bool] | None:
    """The object and whether it has a checksum; None where that is not the object's.

    Blanks and the order of the entries are no part of what is sealed.
    """
    value = json.loads(text)
    if not isinstance(value, dict):
        return None
    digest, version = value.pop(SEAL, None), value.pop(VERSION, None)
    if digest is None and version is None:
        # Where they stand elsewhere in the text, its lines were moved about.
        return None if f'"{SEAL}"' in text or f'"{VERSION}"' in text else (value, False)
    return (value, True) if version == FORMAT and digest == _digest(value) else None


def read_json(path: Path) -> dict[str, Any]:
    """The object in a sealed JSON file of a run; one that was changed is refused."""
    try:
        found = unsealed_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"cannot be read: {error}", file=str(path)) from None
    if found is None:
        raise DataError(
            "the file is damaged or was edited: its checksum is not that of its contents",
            file=str(path), hint="train into another folder",
        )  # fmt: skip
    value, checked = found
    if not checked:
        warnings.warn(f"{path} has no checksum: whether it is damaged is not seen", stacklevel=3)
    return value


def _digest(value: Mapping[str, object]) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


UNPACKED_AT_MOST = 512 * 1024 * 1024
"""The bytes that one compressed file may unpack to."""

_PIECE = 1024 * 1024
_MAGIC = b"\x1f\x8b"


def is_packed(raw: bytes) -> bool:
    """Whether bytes are gzipped, by how they begin."""
    return raw[:2] == _MAGIC


def read_file(path: Path) -> bytes:
    """A file's bytes as they are."""
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"cannot read: {reason}", file=str(path)) from None


def unpacked(path: Path) -> bytes:
    """A file's bytes, unpacked when it is gzipped, whatever its name."""
    raw = read_file(path)
    return unpack(raw, str(path)) if is_packed(raw) else raw


def unpack(raw: bytes, file: str, at_most: int | None = None) -> bytes:
    """Gzipped bytes unpacked, up to the cap."""
    cap = UNPACKED_AT_MOST if at_most is None else at_most
    pieces: list[bytes] = []
    size = 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as stream:
            while piece := stream.read(_PIECE):
                size += len(piece)
                if size > cap:
                    raise DataError(
                        f"the gzip data unpack to more than {cap:,} bytes", file=file,
                        hint="unpack the file by hand: plain files have no cap",
                    )  # fmt: skip
                pieces.append(piece)
    except (EOFError, OSError, ValueError, zlib.error) as error:
        raise DataError(f"the gzip data are damaged: {error}", file=file) from None
    return b"".join(pieces)
