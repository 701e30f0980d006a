"""Files that may be gzipped: their bytes, with a cap on what compressed ones may unpack to.

A megabyte of gzip can unpack to a gigabyte. Plain files have no cap: their size is there to see.
"""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

from deepprooflog.errors import DataError

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
