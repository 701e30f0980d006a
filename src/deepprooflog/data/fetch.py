"""Fetching a data set into the user's cache: only when asked to, and never without a checksum.

Every address is given its time and no more, sends its bytes and no more; whatever goes wrong with
one, the next is tried.
"""

from __future__ import annotations

import hashlib
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deepprooflog.data.places import DataSource, File, cache
from deepprooflog.data.whole import cannot_write, unpack, write_whole
from deepprooflog.errors import DataError

SILENT_AT_MOST = 30.0
"""Seconds without a byte after which an address is given up."""
SECONDS_AT_MOST = 600.0
"""Seconds for a whole file."""
BYTES_AT_MOST = 256 * 1024 * 1024
"""What a file may have, packed."""

_PIECE = 64 * 1024


def fetch(
    source: DataSource, folder: Path | None = None, say: Callable[[str], object] = print
) -> Path:
    """Download what is missing of a data set; the folder it is in."""
    folder = cache() / source.name if folder is None else folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(error, folder) from None
    for file in source.files:
        path = folder / file.name
        if _is_there(path, file):
            say(f"{path} is there")
            continue
        write_whole(path, _download(source, file, say))
    return folder


def fault(raw: bytes, file: File) -> str | None:
    """What is wrong with a downloaded file; None when its checksum is right."""
    try:
        body = unpack(raw, file.name)
    except DataError as error:
        return f"is no gzip file ({error.message})"
    got = hashlib.md5(body, usedforsecurity=False).hexdigest()
    return None if got == file.md5 else f"has MD5 {got}, not {file.md5}"


def _is_there(path: Path, file: File) -> bool:
    try:
        return path.is_file() and fault(path.read_bytes(), file) is None
    except OSError:
        return False


def _download(source: DataSource, file: File, say: Callable[[str], object]) -> bytes:
    faults = []
    for url in source.urls:
        say(f"fetching {url}{file.name}")
        try:
            with urllib.request.urlopen(url + file.name, timeout=SILENT_AT_MOST) as answer:
                raw = _read(answer)
            wrong = fault(raw, file)
        except Exception as error:
            wrong = f"failed: {error}"
        if wrong is None:
            return raw
        faults.append(f"{url}{file.name} {wrong}")
    raise DataError(
        f"{file.name} could not be fetched:\n" + "\n".join(faults),
        hint="put the file there by hand, and check that the machine is online",
    )


def _read(answer: Any) -> bytes:
    """All that an address sends, unless it sends too much or for too long."""
    began = time.monotonic()
    pieces: list[bytes] = []
    size = 0
    while piece := answer.read1(_PIECE) if hasattr(answer, "read1") else answer.read(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > BYTES_AT_MOST:
            raise DataError(f"more than {BYTES_AT_MOST:,} bytes")
        if time.monotonic() - began > SECONDS_AT_MOST:
            raise DataError(f"not done after {SECONDS_AT_MOST:g} s")
    return b"".join(pieces)
