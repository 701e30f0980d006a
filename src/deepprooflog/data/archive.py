"""Files out of a tar or zip archive from elsewhere: only those asked for, and never onto the disk.

An archive that is after something else is refused as a whole: one that unpacks to more than the cap
(`UNPACKED_AT_MOST`), names a path outside its folder, holds a link or a device, or has more members
than a data set would.
"""

from __future__ import annotations

import io
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath

from deepprooflog.data import whole
from deepprooflog.errors import DataError

MEMBERS_AT_MOST = 10_000
"""What an archive may hold, files and folders."""


def unarchived(raw: bytes, names: Iterable[str], inner: str = "") -> dict[str, bytes]:
    """The bytes of the files of these names, which lie in the folder `inner` of the archive."""
    members = _from_zip if zipfile.is_zipfile(io.BytesIO(raw)) else _from_tar
    found = members(raw, inner)
    read = {}
    for name in names:
        if name not in found:
            raise DataError(f"the archive has no {inner}{name}")
        read[name] = found[name]()
    return read


def _from_tar(raw: bytes, inner: str) -> dict[str, Callable[[], bytes]]:
    if whole.is_packed(raw):
        raw = whole.unpack(raw, "the archive")
    try:
        archive = tarfile.open(fileobj=io.BytesIO(raw), mode="r:")  # noqa: SIM115
        members = archive.getmembers()
    except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:
        raise DataError(f"no tar and no zip archive ({error})") from None
    _refuse_many(len(members), sum(member.size for member in members))
    found: dict[str, Callable[[], bytes]] = {}
    for member in members:
        _refuse_path(member.name)
        if not (member.isreg() or member.isdir()):
            raise DataError(f"the archive holds a link or a device, {member.name}")
        if member.isreg():

            def read(member: tarfile.TarInfo = member) -> bytes:
                file = archive.extractfile(member)
                body = b"" if file is None else file.read()
                if len(body) != member.size:
                    raise DataError(f"the archive ends within {member.name}")
                return body

            _add(found, member.name, inner, read)
    return found


def _from_zip(raw: bytes, inner: str) -> dict[str, Callable[[], bytes]]:
    try:
        archive = zipfile.ZipFile(io.BytesIO(raw))
    except (zipfile.BadZipFile, ValueError) as error:
        raise DataError(f"the zip archive is damaged ({error})") from None
    members = archive.infolist()
    _refuse_many(len(members), sum(member.file_size for member in members))
    found: dict[str, Callable[[], bytes]] = {}
    for member in members:
        _refuse_path(member.filename)
        kind = stat.S_IFMT(member.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise DataError(f"the archive holds a link or a device, {member.filename}")
        if not member.is_dir():

            def read(member: zipfile.ZipInfo = member) -> bytes:
                try:
                    return archive.read(member)
                except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError) as error:
                    raise DataError(f"{member.filename} is damaged ({error})") from None

            _add(found, member.filename, inner, read)
    return found


def _add(
    found: dict[str, Callable[[], bytes]], name: str, inner: str, read: Callable[[], bytes]
) -> None:
    path = name.removeprefix("./")
    if not path.startswith(inner):
        return
    short = path.removeprefix(inner)
    if short in found:
        raise DataError(f"the archive has {name} twice")
    found[short] = read


def _refuse_many(members: int, size: int) -> None:
    if members > MEMBERS_AT_MOST:
        raise DataError(f"the archive has {members:,} members, more than {MEMBERS_AT_MOST:,}")
    if size > whole.UNPACKED_AT_MOST:
        raise DataError(f"the archive unpacks to more than {whole.UNPACKED_AT_MOST:,} bytes")


def _refuse_path(name: str) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or "\0" in name:
        raise DataError(f"the archive names a path outside its folder, {name}")
