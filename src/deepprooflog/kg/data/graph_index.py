r"""The index of a graph's folder: one file of plain arrays, made once and opened by memory map.

Reading text is what takes long with millions of triples: the arrays of `graph.index` are used as
they lie in the file, and facts and names are found in it by binary search (`large/graph_file.py`).
An index that is cut off, damaged, not one, or of another version is refused; one of files that have
changed since is not used, and a notice says so.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deepprooflog.data.places import is_file
from deepprooflog.data.whole import sweep_left
from deepprooflog.errors import DataError, Notice
from deepprooflog.kg.data.large.array_file import check_arrays, open_arrays
from deepprooflog.kg.data.large.graph_file import graph_in, write_graph
from deepprooflog.kg.data.reading import graph_name, named
from deepprooflog.kg.data.triples import Graph, SplitName

NAME = "graph.index"
AGAIN = "dprl data index FOLDER makes it anew; without the file the text is read"
READ_AGAIN = 16 * 1024 * 1024
"""Files of so many bytes are read again on each opening, larger ones where size or time differ."""


@dataclass(frozen=True)
class IndexedGraph:
    """What making an index came to."""

    path: str
    entities: int
    relations: int
    triples: int
    bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, as scripts read it."""
        return dict(self.__dict__)

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.triples:,} triples, {self.entities:,} entities, "
            f"{self.relations:,} relations, {self.bytes / 1e6:,.1f} MB"
        )


def index_folder(folder: str | Path) -> IndexedGraph:
    """Make the index of the graph in a folder; the file is written whole or not at all."""
    from deepprooflog.kg.data.folder import find_graph, graph_parts, split_files

    own = find_graph(folder)
    paths = split_files(own)
    files = {split: _seen(path) for split, path in paths.items()}
    parts = graph_parts(own)
    if parts is None:
        raise DataError(
            "a graph from RDF has no index: its prefixes and labels stand in its files",
            file=str(own), hint="write its triples as head<TAB>relation<TAB>tail",
        )  # fmt: skip
    for split, path in paths.items():
        _check_still(path, files[split])
    path = own / NAME
    sweep_left(path)
    size = write_graph(path, parts, {"files": files})
    count = sum(map(len, parts.rows.values()))
    return IndexedGraph(str(path), len(parts.entities), len(parts.relations), count, size)


def open_index(folder: Path, files: Mapping[SplitName, Path]) -> Graph | None:
    """The graph of a folder's index; None where there is none, or it is of other files."""
    path = folder / NAME
    if not is_file(path):
        return None
    found = open_arrays(path, AGAIN)
    known = found.about.get("files")
    if known is None:
        raise DataError("the index of a run, not of this folder", file=str(path), hint=AGAIN)
    changed = [
        name for name, one in known.items() if name not in files or _changed(files[name], one)
    ]
    if changed or known.keys() != files.keys():
        what = ", ".join(changed) or "its files"
        warnings.warn(
            f"{path} was made before {what} changed and is not used: {AGAIN}", Notice, stacklevel=3
        )
        return None
    return _placed(graph_in(found, path, AGAIN), folder, files)


def check_index(folder: str | Path) -> tuple[Path, int]:
    """Compare all of a folder's index with its checksums; its path, and how many bytes it has."""
    from deepprooflog.kg.data.folder import find_graph

    path = find_graph(folder) / NAME
    if not is_file(path):
        raise DataError("there is no index", file=str(path), hint="dprl data index FOLDER")
    return path, check_arrays(path, AGAIN)


def _placed(graph: Graph, folder: Path, files: Mapping[SplitName, Path]) -> Graph:
    """The graph with its files called as they are now: a folder may have been moved."""
    now = {source.file: named(files[split]) for split, source in graph.sources.items()}
    return replace(
        graph, name=graph_name(folder),
        sources={s: replace(source, file=now[source.file]) for s, source in graph.sources.items()},
        notices=tuple(replace(n, file=now.get(n.file or "", n.file)) for n in graph.notices),
    )  # fmt: skip


def _changed(path: Path, known: Mapping[str, Any]) -> bool:
    """Whether a file is another one than when the index was made."""
    now = _stat(path)
    if path.name != known["file"] or now.st_size != known["bytes"]:
        return True
    if now.st_size > READ_AGAIN and now.st_mtime_ns == known["mtime_ns"]:
        return False
    return bool(_seen(path)["sha256"] != known["sha256"])


def _check_still(path: Path, known: Mapping[str, object]) -> None:
    """Refuse a file that was written to while it was read."""
    now = _stat(path)
    if (now.st_size, now.st_mtime_ns) != (known["bytes"], known["mtime_ns"]):
        raise DataError(
            "the file was written to while it was read", file=str(path),
            hint="dprl data index FOLDER once it is whole",
        )  # fmt: skip


def _stat(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except OSError as error:
        raise DataError(f"cannot read: {error.strerror or error}", file=str(path)) from None


def _seen(path: Path) -> dict[str, object]:
    """A file's name, size, time and checksum, read a piece at a time."""
    try:
        with path.open("rb") as file:
            stat = path.stat()
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"cannot read: {error.strerror or error}", file=str(path)) from None
    return {
        "file": path.name, "bytes": stat.st_size, "mtime_ns": stat.st_mtime_ns, "sha256": digest,
    }  # fmt: skip
