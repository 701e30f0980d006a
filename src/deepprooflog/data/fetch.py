"""Fetching a data set into the user's cache: only when asked to, and never without a checksum.

Whatever goes wrong with one address, the next is tried; files are written whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from deepprooflog.data.archive import unarchived
from deepprooflog.data.download import Partial, download
from deepprooflog.data.places import VARIABLE, cache, is_file, places
from deepprooflog.data.sources import DataSource, File
from deepprooflog.data.whole import cannot_write, unpack, unpacked, write_whole
from deepprooflog.errors import DataError

Fetched = TypeVar("Fetched")


def held(source: DataSource) -> Path | None:
    """The folder among the places for data that has all files, with the right checksums."""
    folders = (place / source.where for place in places())
    return next((f for f in folders if all(_is_there(f, file) for file in source.files)), None)


def fetch(
    source: DataSource, folder: Path | None = None, say: Callable[[str], object] = print
) -> Path:
    """Download what is missing of a data set; the folder it is in."""
    if folder is None:
        there = held(source)
        if there is not None:
            say(f"{there} is there")
            return there
        folder = cache() / source.where
    missing = [file for file in source.files if not _is_there(folder, file)]
    if not missing:
        say(f"{folder} is there")
        return folder
    if not source.urls and not source.archives:
        raise _by_hand(source, folder, missing, [])
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(error, folder) from None
    faults: list[str] = []
    while missing:
        raw = _from_folders(source, missing[0], folder, faults, say)
        if raw is None:
            break
        write_whole(folder / missing.pop(0).name, raw)
    if missing:
        for file, raw in _from_archives(source, missing, folder, faults, say).items():
            write_whole(folder / file.name, raw)
    return folder


def fault(raw: bytes, file: File) -> str | None:
    """What is wrong with a downloaded file; None when its checksum is right."""
    try:
        body = unpack(raw, file.name) if file.name.endswith(".gz") else raw
    except DataError as error:
        return f"is no gzip file ({error.message})"
    return file.fault(body)


def _is_there(folder: Path, file: File) -> bool:
    """Whether a file, or its gzipped form, is in a folder and is what it must be."""
    for path in (folder / file.name, folder / f"{file.name}.gz"):
        if is_file(path):
            try:
                body = unpacked(path)
            except DataError:
                return False
            return not (file.md5 or file.lines_sha256) or file.fault(body) is None
    return False


def _from_folders(
    source: DataSource, file: File, folder: Path, faults: list[str], say: Callable[[str], object]
) -> bytes | None:
    """One file, from the first address that serves it as it must be."""

    def check(raw: bytes) -> bytes:
        wrong = fault(raw, file)
        if wrong is not None:
            raise DataError(wrong)
        return raw

    for url in source.urls:
        raw = _tried(url + file.name, folder, faults, say, check)
        if raw is not None:
            return raw
    return None


def _from_archives(
    source: DataSource,
    missing: Iterable[File],
    folder: Path,
    faults: list[str],
    say: Callable[[str], object],
) -> dict[File, bytes]:
    """All files that are missing, from the first archive that has them as they must be."""
    files = {file.name: file for file in missing}
    for archive in source.archives:

        def check(raw: bytes, inner: str = archive.inner) -> dict[File, bytes]:
            found = unarchived(raw, files, inner)
            for name, body in found.items():
                wrong = files[name].fault(body)
                if wrong is not None:
                    raise DataError(f"holds {name}, which {wrong}")
            return {files[name]: body for name, body in found.items()}

        bodies = _tried(archive.url, folder, faults, say, check)
        if bodies is not None:
            return bodies
    raise _by_hand(source, folder, list(files.values()), faults)


def _tried(
    url: str,
    folder: Path,
    faults: list[str],
    say: Callable[[str], object],
    check: Callable[[bytes], Fetched],
) -> Fetched | None:
    """What an address serves, once more from the start where an old beginning may be to blame."""
    partial = Partial.of(folder, url)
    wrong = ""
    for again in (True, False):
        have = partial.size
        say(f"fetching {url}" + (f", from byte {have:,} on" if have else ""))
        try:
            raw = download(url, partial)
        except Exception as error:
            wrong = f"failed: {error}"
            break
        partial.discard()
        try:
            return check(raw)
        except DataError as error:
            wrong = error.message
        if not (again and have):
            break
    faults.append(f"{url} {wrong}")
    return None


def _by_hand(source: DataSource, folder: Path, missing: list[File], faults: list[str]) -> DataError:
    names = ", ".join(file.name for file in missing)
    told = f"{names} of {source.name} could not be fetched:\n" + "\n".join(faults)
    if not faults:
        told = f"{source.name} cannot be fetched: {source.hint}"
    return DataError(
        told,
        hint=f"put {names} into {folder} by hand, or into {source.where} below the folder that "
        f"{VARIABLE} names" + (", or check that the machine is online" if faults else ""),
    )
