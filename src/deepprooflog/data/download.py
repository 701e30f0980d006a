"""Downloading one file: bounded in bytes and seconds, and going on where it was cut off.

What has arrived is kept beside the file's place under a hidden name, with the server's tag of the
version it is from, until all of it is there: a cut connection, a full disk or Ctrl-C loses nothing
that came. A server that has another version by then, or cannot send a part, sends the whole.
"""

from __future__ import annotations

import hashlib
import time
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

from deepprooflog.data.whole import PART
from deepprooflog.errors import DataError

SILENT_AT_MOST = 30.0
"""Seconds without a byte after which an address is given up."""
SECONDS_AT_MOST = 600.0
"""Seconds for a whole file."""
BYTES_AT_MOST = 256 * 1024 * 1024
"""What a file may have, packed."""

_PIECE = 64 * 1024
_TRIES = 5  # as long as each brings more


@dataclass(frozen=True)
class Partial:
    """What has come of a file from one address, on the disk."""

    path: Path

    @classmethod
    def of(cls, folder: Path, url: str) -> Partial:
        """Where that of an address lies."""
        return cls(folder / f".{hashlib.sha256(url.encode()).hexdigest()[:16]}.download{PART}")

    @property
    def tag_path(self) -> Path:
        """The file with the server's tag of the version."""
        return self.path.with_suffix(".tag" + PART)

    @property
    def size(self) -> int:
        """How many bytes have come."""
        return self.path.stat().st_size if self.path.is_file() else 0

    @property
    def tag(self) -> str:
        """The server's tag of the version they are from, or nothing."""
        return self.tag_path.read_text(encoding="latin-1") if self.tag_path.is_file() else ""

    def discard(self) -> None:
        """Remove it."""
        self.path.unlink(missing_ok=True)
        self.tag_path.unlink(missing_ok=True)


def download(url: str, partial: Partial) -> bytes:
    """All bytes that an address serves; `partial` has them too, until it is discarded."""
    began = time.monotonic()
    for _ in range(_TRIES):
        before = partial.size
        try:
            _more(url, partial, began)
        except (OSError, HTTPException):
            if partial.size <= before:
                raise
            continue
        return partial.path.read_bytes()
    raise DataError(f"was cut off {_TRIES} times")


def _more(url: str, partial: Partial, began: float) -> None:
    """Ask for what is missing, and append it."""
    have, tag = partial.size, partial.tag
    headers = {"User-Agent": "deepprooflog", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
        if tag:
            headers["If-Range"] = tag
    request = urllib.request.Request(url, headers=headers)
    try:
        answer = urllib.request.urlopen(request, timeout=SILENT_AT_MOST)
    except HTTPError as error:
        if error.code == 416:  # what is kept is no beginning of what is served
            partial.discard()
        raise
    with answer:
        if have and not _goes_on(answer, have):
            partial.discard()
            have = 0
        partial.tag_path.write_text(_tag(answer), encoding="latin-1")
        length = answer.headers.get("Content-Length", "")
        with partial.path.open("ab") as file:
            size = _copy(answer, file, have, began, partial)
        if length.isdigit() and size < have + int(length):
            raise ConnectionError(f"cut off after {size:,} of {have + int(length):,} bytes")


def _goes_on(answer: Any, have: int) -> bool:
    """Whether the answer is the rest, and not the whole."""
    given = answer.headers.get("Content-Range", "").replace(" ", "")
    return getattr(answer, "status", None) == 206 and given.startswith(f"bytes{have}-")


def _tag(answer: Any) -> str:
    """What tells a server's versions apart: only a strong tag may be asked for parts."""
    tag = str(answer.headers.get("ETag", ""))
    if tag and not tag.startswith("W/"):
        return tag
    return str(answer.headers.get("Last-Modified", ""))


def _copy(answer: Any, file: Any, have: int, began: float, partial: Partial) -> int:
    """Append all that an address sends, unless it sends too much or for too long."""
    size = have
    while piece := answer.read1(_PIECE) if hasattr(answer, "read1") else answer.read(_PIECE):
        size += len(piece)
        if size > BYTES_AT_MOST:
            partial.discard()
            raise DataError(f"more than {BYTES_AT_MOST:,} bytes")
        file.write(piece)
        if time.monotonic() - began > SECONDS_AT_MOST:
            raise DataError(f"not done after {SECONDS_AT_MOST:g} s; what came is kept")
    return size
