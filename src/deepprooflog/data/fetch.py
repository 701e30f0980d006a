"""Fetching a data set into the user's cache: only when asked to, and never without a checksum."""

from __future__ import annotations

import gzip
import hashlib
import os
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable
from pathlib import Path

from deepprooflog.data.places import cache
from deepprooflog.data.sources import File, Source
from deepprooflog.errors import DataError

SECONDS = 60.0


def fetch(source: Source, folder: Path | None = None, say: Callable[[str], object] = print) -> Path:
    """Download what is missing of a data set; the folder it is in."""
    folder = cache() / source.name if folder is None else folder
    folder.mkdir(parents=True, exist_ok=True)
    for file in source.files:
        path = folder / file.name
        if path.is_file() and fault(path.read_bytes(), file) is None:
            say(f"{path} is there")
            continue
        raw = _download(source, file, say)
        part = path.with_name(path.name + ".part")
        part.write_bytes(raw)
        os.replace(part, path)
    return folder


def fault(raw: bytes, file: File) -> str | None:
    """What is wrong with a downloaded file; None when its checksum is right."""
    try:
        body = gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        return f"is no gzip file ({error})"
    got = hashlib.md5(body, usedforsecurity=False).hexdigest()
    return None if got == file.md5 else f"has MD5 {got}, not {file.md5}"


def _download(source: Source, file: File, say: Callable[[str], object]) -> bytes:
    faults = []
    for url in source.urls:
        say(f"fetching {url}{file.name}")
        try:
            with urllib.request.urlopen(url + file.name, timeout=SECONDS) as answer:
                raw: bytes = answer.read()
        except (urllib.error.URLError, TimeoutError, OSError) as error:
            faults.append(f"{url}{file.name}: {error}")
            continue
        wrong = fault(raw, file)
        if wrong is None:
            return raw
        faults.append(f"{url}{file.name} {wrong}")
    raise DataError(
        f"{file.name} could not be fetched:\n" + "\n".join(faults),
        hint="put the file there by hand, and check that the machine is online",
    )
