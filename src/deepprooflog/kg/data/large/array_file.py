r"""Arrays in one file, each as it lies in memory, to be mapped and shared by processes.

    deepprooflog graph index 2\n
    8 + 8 bytes      where the header is and how long it is, little-endian; zeros up to byte 64
    arrays           each from a multiple of 64 on, zeros behind it
    header           its own SHA-256, then JSON: what the arrays are of, and of each its type,
                     shape, place and CRC-32

The header stands last, so that arrays are written as they are made. A file that is cut off, or has
another length than its header says, is refused when it is opened. The arrays of one of at most
`READ_THROUGH` bytes are compared with their checksums then; those of a larger one only where
`check_arrays` is asked to.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from deepprooflog.errors import DataError

MAGIC = b"deepprooflog graph index "
VERSION = b"2\n"
READ_THROUGH = 256 * 1024 * 1024
_ALIGNED = 64
_PIECE = 16 * 1024 * 1024
ROWS = 2**16
"""Rows that are worked on at a time: as many as a cache holds."""


@dataclass(frozen=True, eq=False)
class ArrayFile:
    """What stands in a file: the header's entries, its digest, and the arrays as maps."""

    about: Mapping[str, Any]
    digest: str
    arrays: Mapping[str, np.ndarray]
    bytes: int


class ArrayWriter:
    """A file of arrays that is being written; nothing is valid before `close`."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._places: dict[str, tuple[str, list[int], int, int, int]] = {}
        file.write(b"\0" * _ALIGNED)
        self._at = _ALIGNED

    def add(
        self,
        name: str,
        pieces: Iterable[np.ndarray],
        kind: str,
        *tail: int,
        rows: int | None = None,
    ) -> None:
        """Write an array from pieces of it; `rows` where these are no rows."""
        begin, size, crc = self._at, 0, 0
        dtype = np.dtype(kind)
        for piece in pieces:
            for at in range(0, len(piece), ROWS):
                raw = (
                    np.ascontiguousarray(piece[at : at + ROWS], dtype=dtype)
                    .reshape(-1)
                    .view(np.uint8)
                    .data
                )
                crc = zlib.crc32(raw, crc)
                size += self._file.write(raw)
        each = dtype.itemsize * int(np.prod(tail, dtype=np.int64))
        shape = [size // each if rows is None else rows, *tail]
        filled = b"\0" * (-size % _ALIGNED)
        self._file.write(filled)
        self._places[name] = (dtype.str, shape, begin, size, zlib.crc32(filled, crc))
        self._at = begin + size + len(filled)

    def arrays(self) -> dict[str, np.ndarray]:
        """Those written so far, as maps."""
        self._file.flush()
        found = _mapped(self._file, self._places)
        self._file.seek(self._at)
        return found

    def close(self, about: Mapping[str, Any]) -> int:
        """Write the header; the length of the whole."""
        text = json.dumps({**about, "arrays": self._places}).encode()
        text = hashlib.sha256(text).hexdigest().encode() + text
        self._file.write(text)
        self._file.seek(0)
        self._file.write(MAGIC + VERSION + _number(self._at) + _number(len(text)))
        return self._at + len(text)


def open_arrays(path: Path, hint: str) -> ArrayFile:
    """The arrays of a file; one that is not whole is refused with a hint."""
    return _opened(path, hint, READ_THROUGH)


def check_arrays(path: Path, hint: str) -> int:
    """Compare every array of a file, however large, with its checksum; how many bytes were read."""
    return _opened(path, hint, sys.maxsize).bytes


def _opened(path: Path, hint: str, read_through: int) -> ArrayFile:
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            about, digest = _header(file, size)
            places = about.pop("arrays")
            if size <= read_through:
                _compare(file, places)
            return ArrayFile(about, digest, _mapped(file, places), size)
    except OSError as error:
        raise DataError(f"cannot be read: {error}", file=str(path), hint=hint) from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        said = error.args[0] if isinstance(error, _Refusal) else "the index is cut off or damaged"
        raise DataError(said, file=str(path), hint=hint) from None


class _Refusal(ValueError):
    """What is wrong with a file, in words."""


def _header(file: BinaryIO, size: int) -> tuple[dict[str, Any], str]:
    """The header, checked, and its digest."""
    first = file.read(_ALIGNED)
    if not first.startswith(MAGIC):
        raise _Refusal("not the index of a graph")
    at = len(MAGIC) + len(VERSION)
    if first[len(MAGIC) : at] != VERSION:
        raise _Refusal("an index of another version")
    begin, length = (int.from_bytes(first[at + n : at + n + 8], "little") for n in (0, 8))
    if any(first[at + 16 :]) or len(first) < _ALIGNED or begin + length != size:
        raise ValueError("another length")
    file.seek(begin)
    text = file.read(length)
    digest = hashlib.sha256(text[64:]).hexdigest()
    if text[:64] != digest.encode():
        raise ValueError("another header")
    return json.loads(text[64:]), digest


def _compare(file: BinaryIO, places: Mapping[str, Any]) -> None:
    """Read each array, with what fills it up, and compare its checksum."""
    for _, _, begin, size, known in places.values():
        file.seek(begin)
        crc = 0
        for piece in _read(file, size + -size % _ALIGNED):
            crc = zlib.crc32(piece, crc)
        if crc != known:
            raise ValueError("other bytes")


def _read(file: BinaryIO, size: int) -> Iterator[bytes]:
    while size:
        piece = file.read(min(size, _PIECE))
        if not piece:
            raise ValueError("cut off")
        size -= len(piece)
        yield piece


def _mapped(file: BinaryIO, places: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Each array as a map of its own, which is copied where it is written to: torch asks for that,
    and nothing ever does."""
    return {
        name: np.asarray(np.memmap(file, dtype=kind, mode="c", offset=begin, shape=tuple(shape)))
        if size else np.zeros(shape, dtype=kind)
        for name, (kind, shape, begin, size, _) in places.items()
    }  # fmt: skip


def _number(value: int) -> bytes:
    return value.to_bytes(8, "little")
