r"""A graph as one file of plain arrays, made once and opened by memory map.

    deepprooflog graph index 1\n
    8 bytes          how long the header is, little-endian
    header           JSON: the graph's name and relations, the files it was made of with their
                     SHA-256, where each array is, how long the arrays are and their CRC-32, behind
                     the header's own SHA-256
    arrays           triples and lines of each split, the entities' names and where each begins

Reading text is what takes long with millions of triples: the arrays are used as they lie in the
file. An index that is cut off, damaged, not one, or of another version is refused; one of files
that have changed since is not used, and a notice says so.
"""

from __future__ import annotations

import hashlib
import json
import warnings
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from deepprooflog.data.places import is_file
from deepprooflog.data.whole import write_whole
from deepprooflog.errors import DataError, Notice
from deepprooflog.kg.data.large.entity_names import EntityNames
from deepprooflog.kg.data.notice import DataNotice
from deepprooflog.kg.data.triples import SPLITS, Graph, SplitName, TripleSource

NAME = "graph.index"
MAGIC = b"deepprooflog graph index "
VERSION = b"1\n"
_ALIGNED = 64
_AGAIN = "dprl data index FOLDER makes it anew; without the file the text is read"


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
    from deepprooflog.kg.data.folder import find_graph, read_plain_graph, split_files

    own = find_graph(folder)
    graph = read_plain_graph(own)
    if graph.rdf is not None:
        raise DataError(
            "a graph from RDF has no index: its prefixes and labels stand in its files",
            file=str(own), hint="write its triples as head<TAB>relation<TAB>tail",
        )  # fmt: skip
    files = {split: _seen(path) for split, path in split_files(own).items()}
    pieces = _pieces_of(graph, files)
    path = own / NAME
    write_whole(path, *pieces)
    size = sum(len(piece) for piece in pieces)
    count = sum(len(graph.split(name)) for name in SPLITS)
    return IndexedGraph(str(path), len(graph.entities), len(graph.relations), count, size)


def open_index(folder: Path, files: Mapping[SplitName, Path]) -> Graph | None:
    """The graph of a folder's index; None where there is none, or it is of other files."""
    path = folder / NAME
    if not is_file(path):
        return None
    header, begin, whole = _header(path)
    changed = [
        name for name, known in header["files"].items()
        if name not in files or files[name].name != known["file"] or _seen(files[name]) != known
    ]  # fmt: skip
    if changed or header["files"].keys() != files.keys():
        what = ", ".join(changed) or "its files"
        warnings.warn(
            f"{path} was made before {what} changed and is not used: {_AGAIN}", Notice, stacklevel=3
        )
        return None
    try:
        if zlib.crc32(whole[begin:].data) != header["crc32"]:
            raise ValueError("other bytes")
        arrays = {
            name: whole[begin + at : begin + at + size].view(kind).reshape(shape)
            for name, (kind, shape, at, size) in header["arrays"].items()
        }
        return _graph(header, arrays)
    except (KeyError, TypeError, ValueError, IndexError):
        raise DataError("the index is damaged", file=str(path), hint=_AGAIN) from None


def _header(path: Path) -> tuple[dict[str, Any], int, np.ndarray]:
    """The header, where the arrays begin, and the bytes of the file as a map."""
    try:
        # Copied where it is written to, which only torch asks for: the file never changes.
        whole = np.asarray(np.memmap(path, dtype=np.uint8, mode="c"))
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be read: {error}", file=str(path), hint=_AGAIN) from None
    first = len(MAGIC) + len(VERSION)
    said = whole[:first].tobytes()
    if not said.startswith(MAGIC):
        raise DataError("not the index of a graph", file=str(path), hint=_AGAIN)
    if said != MAGIC + VERSION:
        raise DataError("an index of another version", file=str(path), hint=_AGAIN)
    length = int.from_bytes(whole[first : first + 8].tobytes(), "little")
    raw = whole[first + 8 : first + 8 + length].tobytes()
    try:
        digest, text = raw[:64], raw[64:]
        if len(raw) != length or hashlib.sha256(text).hexdigest().encode() != digest:
            raise ValueError
        header = json.loads(text)
        begin = _round(first + 8 + length)
        filled = whole[first + 8 + length : begin]
        if len(whole) != begin + header["bytes"] or filled.any():
            raise ValueError
    except (ValueError, KeyError):
        raise DataError("the index is cut off or damaged", file=str(path), hint=_AGAIN) from None
    return header, begin, whole


def _pieces_of(
    graph: Graph, files: Mapping[SplitName, Mapping[str, object]]
) -> list[bytes | memoryview]:
    """The bytes of an index; those of the arrays are the arrays' own."""
    arrays: dict[str, np.ndarray] = {}
    for split in SPLITS:
        arrays[split] = np.ascontiguousarray(graph.split(split), dtype=np.int64)
        if split in graph.sources:
            arrays[f"{split}_lines"] = graph.sources[split].lines.astype(np.int64)
    entities = EntityNames.of(graph.entities)
    arrays |= {"kinds": entities.kinds, "ends": entities.ends, "names": entities.names}
    places, at = {}, 0
    for name, array in arrays.items():
        places[name] = (array.dtype.str, array.shape, at, array.nbytes)
        at = _round(at + array.nbytes)
    notices = [[n.message, n.file, n.line, n.count] for n in graph.notices]
    body = [
        part
        for array in arrays.values()
        for part in (array.reshape(-1).view(np.uint8).data, b"\0" * _missing(array.nbytes))
    ]
    crc = 0
    for part in body:
        crc = zlib.crc32(part, crc)
    header = {
        "name": graph.name, "relations": graph.relations, "files": files, "arrays": places,
        "sources": {name: source.file for name, source in graph.sources.items()},
        "notices": notices, "bytes": at, "crc32": crc,
    }  # fmt: skip
    text = json.dumps(header).encode()
    text = hashlib.sha256(text).hexdigest().encode() + text
    head = MAGIC + VERSION + len(text).to_bytes(8, "little") + text
    return [head, b"\0" * _missing(len(head)), *body]


def _graph(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Graph:
    sources: dict[SplitName, TripleSource] = {
        name: TripleSource(file, arrays[f"{name}_lines"])
        for name, file in header["sources"].items()
    }
    entities = EntityNames(arrays["names"], arrays["ends"], arrays["kinds"])
    splits = {name: arrays[name] for name in SPLITS}
    graph = Graph(
        header["name"], entities, tuple(header["relations"]), splits["train"], splits["valid"],
        splits["test"], sources=sources,
    )  # fmt: skip
    most = (len(entities), len(graph.relations), len(entities))
    for rows in splits.values():
        if rows.shape[1:] != (3,) or (
            rows.size and (rows.min() < 0 or (rows.max(0) >= most).any())
        ):
            raise ValueError("a number without a name")
    if any(len(source.lines) != len(splits[name]) for name, source in sources.items()):
        raise ValueError("lines that are not those of the triples")
    return replace(graph, notices=tuple(DataNotice(*notice) for notice in header["notices"]))


def _seen(path: Path) -> dict[str, object]:
    """A file's name and checksum, read a piece at a time."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"cannot read: {error.strerror or error}", file=str(path)) from None
    return {"file": path.name, "sha256": digest}


def _round(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def _missing(size: int) -> int:
    return _round(size) - size
