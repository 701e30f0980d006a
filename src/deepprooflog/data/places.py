"""Where data sets lie: the folder `DEEPPROOFLOG_DATA` names, then a cache of the user's own.

Nothing is downloaded on the way: a data set that is not there is an error which says how to get it.
"""

from __future__ import annotations

import difflib
import os
import sys
from pathlib import Path

from deepprooflog.data.sources import DataSource
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


def instead_of(path: Path) -> str:
    """What to try in place of a program that is not there: its neighbours, the like-named first.

    >>> instead_of(Path("no/such/folder/coin.pl"))
    'there is no folder no/such/folder'
    """
    folder = path.parent
    if not is_folder(folder):
        return f"there is no folder {folder}"
    try:
        there = sorted(one.name for one in folder.iterdir() if is_file(one))
    except OSError:
        return f"the folder {folder} cannot be read"
    near = difflib.get_close_matches(path.name, there, 1)
    programs = [name for name in there if name.endswith(".pl")][:5]
    if near:
        return f"did you mean {folder / near[0]}?"
    where = "here" if str(folder) == "." else f"in {folder}"
    return f"programs {where}: {', '.join(programs)}" if programs else f"no program is {where}"


def places() -> list[Path]:
    """The folders that data sets are looked for in, in order."""
    given = os.environ.get(VARIABLE)
    return [*([Path(given)] if given else []), cache()]


def find(source: DataSource) -> Path:
    """The folder that holds all files of a data set."""
    folders = [place / source.where for place in places()]
    for folder in folders:
        if all(is_file(folder / file.name) for file in source.files):
            return folder
    looked = ", ".join(map(str, folders))
    unset = "" if os.environ.get(VARIABLE) else f"; {VARIABLE} is not set"
    raise DataError(
        f"the data set {source.name} was not found (looked in {looked}{unset})",
        hint=f"{VARIABLE}=FOLDER with the files in FOLDER/{source.where}, or, online, "
        f"dprl data get {source.name}",
    )
