"""Where data sets lie: the folder `DEEPPROOFLOG_DATA` names, then a cache of the user's own.

Nothing is downloaded on the way: a data set that is not there is an error which says how to get it.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from deepprooflog.errors import DataError

VARIABLE = "DEEPPROOFLOG_DATA"


def cache() -> Path:
    """The user's cache folder for data sets; it need not exist."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "deepprooflog"


def is_folder(path: Path) -> bool:
    """True for a folder; a name that no file can have is none."""
    try:
        return path.is_dir()
    except OSError:
        return False


def is_file(path: Path) -> bool:
    """True for a file; a name that no file can have is none."""
    try:
        return path.is_file()
    except OSError:
        return False


def places() -> list[Path]:
    """The folders that data sets are looked for in, in order."""
    given = os.environ.get(VARIABLE)
    return [*([Path(given)] if given else []), cache()]


def find(source: DataSource) -> Path:
    """The folder that holds all files of a data set."""
    for place in places():
        folder = place / source.name
        if all(is_file(folder / file.name) for file in source.files):
            return folder
    looked = ", ".join(str(place / source.name) for place in places())
    unset = "" if os.environ.get(VARIABLE) else f"; {VARIABLE} is not set"
    raise DataError(
        f"the data set {source.name} was not found (looked in {looked}{unset})",
        hint=f"{VARIABLE}=FOLDER with the files in FOLDER/{source.name}, or, online, "
        f"python -m deepprooflog.data {source.name}",
    )


@dataclass(frozen=True)
class File:
    """A file of a data set; `md5` is that of its unpacked bytes, which repacking leaves alone."""

    name: str
    md5: str


@dataclass(frozen=True)
class DataSource:
    """A data set: its folder's name, its files and the addresses that serve them."""

    name: str
    files: tuple[File, ...]
    urls: tuple[str, ...]  # each is a folder of the files


MNIST = DataSource(
    name="mnist",
    files=(
        File("train-images-idx3-ubyte.gz", "6bbc9ace898e44ae57da46a324031adb"),
        File("train-labels-idx1-ubyte.gz", "a25bea736e30d166cdddb491f175f624"),
        File("t10k-images-idx3-ubyte.gz", "2646ac647ad5339dbf082846283269ea"),
        File("t10k-labels-idx1-ubyte.gz", "27ae3e4e09519cfbb04c329615203637"),
    ),
    urls=(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
)

SOURCES = {source.name: source for source in (MNIST,)}
