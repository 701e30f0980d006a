"""A graph as arrays in one file, with its facts sorted and its names findable.

    train valid test     rows (head, relation, tail), and `…_lines`, where each was read
    names name_ends …    the entities' names as bytes, where each ends, what term it is, the names'
                         hashes in order and whose they are
    rows start ends …    the training triples as facts, sorted by either side (`PairFacts`)

An index of a folder is such a file, and so is what a run of a large graph keeps.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from deepprooflog.data.places import is_file
from deepprooflog.data.whole import PART, write_filled
from deepprooflog.errors import DataError
from deepprooflog.kg.data.large.array_file import (
    READ_THROUGH,
    ROWS,
    ArrayFile,
    ArrayWriter,
    open_arrays,
)
from deepprooflog.kg.data.large.entity_names import EntityNames
from deepprooflog.kg.data.large.fact_orders import pair_facts, write_orders
from deepprooflog.kg.data.large.hash_table import MOST
from deepprooflog.kg.data.large.name_index import NameIndex, sorted_hashes
from deepprooflog.kg.data.notice import DataNotice
from deepprooflog.kg.data.odd_triples import odd_triples
from deepprooflog.kg.data.triples import SPLITS, Graph, SortedTrain, SplitName, TripleSource
from deepprooflog.syntax.terms import Term


@dataclass(frozen=True, eq=False)
class GraphParts:
    """A graph before it is written: triples as any integers, lines only where they are not all."""

    name: str
    entities: Sequence[Term]
    relations: tuple[str, ...]
    rows: Mapping[SplitName, np.ndarray]  # of each split, [triples, 3]
    files: Mapping[SplitName, str] = field(default_factory=dict)  # where each was read
    lines: Mapping[SplitName, np.ndarray] = field(default_factory=dict)  # else 1, 2, …
    notices: tuple[DataNotice, ...] = ()
    told: bool = False  # whether notices have all that is odd about the triples

    @classmethod
    def of(cls, graph: Graph) -> GraphParts:
        """Those of a graph in memory."""
        return cls(
            graph.name, graph.entities, graph.relations,
            {split: graph.split(split) for split in SPLITS},
            {split: source.file for split, source in graph.sources.items()},
            {split: source.lines for split, source in graph.sources.items()}, graph.notices, True,
        )  # fmt: skip


def write_graph(path: Path, parts: GraphParts, about: Mapping[str, Any] | None = None) -> int:
    """Write the file whole, or leave what was there and say why; how many bytes it has.

    `about` are further entries of its header.
    """
    names, size = EntityNames.of(parts.entities), 0
    if max(len(names), *(len(rows) for rows in parts.rows.values())) > MOST:
        raise DataError(f"more than {MOST:,} entities or triples", file=str(path))
    key = secrets.randbits(64) | 1
    header = {
        **(about or {}), "name": parts.name, "relations": parts.relations, "key": key,
        "sources": dict(parts.files), "notices": _plain(parts.notices),
    }  # fmt: skip

    def fill(file: BinaryIO) -> None:
        nonlocal size
        writer = ArrayWriter(file)
        for split in SPLITS:
            rows = parts.rows[split]
            writer.add(split, [rows], "<i8", 3)
            if split in parts.files:
                writer.add(f"{split}_lines", _lines(parts.lines.get(split), len(rows)), "<i8")
        writer.add("names", [names.names], "|u1")
        writer.add("name_ends", [names.ends], "<i8")
        writer.add("name_kinds", [names.kinds], "|u1")
        for name, array, kind in zip(
            ("name_hashes", "name_numbers"), sorted_hashes(names, key), ("<u8", "<i4"), strict=True
        ):
            writer.add(name, [array], kind)
        seen, counts = write_orders(
            writer, parts.rows["train"], len(parts.relations), len(names)
        )  # fmt: skip
        if not parts.told:
            own = _graph(ArrayFile(header, "", writer.arrays(), 0), path, sound=True)
            header["notices"] = _plain((*parts.notices, *odd_triples(own, seen, counts)))
        size = writer.close(header)

    write_filled(path, fill)
    return size


def keep_graph(path: Path, graph: Graph) -> str:
    """Have a graph in a file of that name: its own file once more, or written; the file's digest.

    A second name of its own file takes no room. Where the file system has none, or the graph is
    not all of that file, it is written.
    """
    own = graph.sorted_train
    if own is not None and _is_whole(graph, own):
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PART}")
        try:
            os.link(own.path, part)
            if open_arrays(part, "").digest == own.digest:
                os.replace(part, path)
                return own.digest
        except (OSError, DataError):
            pass
        finally:
            part.unlink(missing_ok=True)
    write_graph(path, GraphParts.of(graph))
    return open_arrays(path, "").digest


def _is_whole(graph: Graph, own: SortedTrain) -> bool:
    """Whether a graph is that of its file, held-out triples included; where it was read may be
    called otherwise now."""
    file = open_arrays(own.path, "") if is_file(own.path) else None
    return file is not None and file.digest == own.digest and all((
        all(np.array_equal(graph.split(name), file.arrays[name]) for name in SPLITS[1:]),
        list(graph.relations) == file.about["relations"],
        graph.sources.keys() == file.about["sources"].keys(),
    ))  # fmt: skip


def graph_in(file: ArrayFile, path: Path, hint: str) -> Graph:
    """The graph whose arrays a file has; they stay there until they are asked for."""
    try:
        return _graph(file, path, sound=file.bytes > READ_THROUGH)
    except (KeyError, TypeError, ValueError, IndexError, RuntimeError):
        raise DataError("the index is damaged", file=str(path), hint=hint) from None


def open_graph(path: Path, hint: str) -> tuple[Graph, ArrayFile]:
    """The graph in a file, and the file's header and arrays."""
    file = open_arrays(path, hint)
    return graph_in(file, path, hint), file


def _graph(file: ArrayFile, path: Path, *, sound: bool) -> Graph:
    """The graph; `sound`: what its numbers name is taken on trust."""
    about, arrays = file.about, file.arrays
    entities = EntityNames(arrays["names"], arrays["name_ends"], arrays["name_kinds"])
    found = arrays["name_hashes"], arrays["name_numbers"]
    entities.numbers = NameIndex(entities, about["key"], *found)
    relations, splits = tuple(about["relations"]), {name: arrays[name] for name in SPLITS}
    sources: dict[SplitName, TripleSource] = {
        name: TripleSource(read, arrays[f"{name}_lines"]) for name, read in about["sources"].items()
    }
    if any(len(source.lines) != len(splits[name]) for name, source in sources.items()):
        raise ValueError("lines that are not those of the triples")
    most = (len(entities), len(relations), len(entities))
    for rows in splits.values():
        if rows.shape[1:] != (3,):
            raise ValueError("no triples")
        if not sound and rows.size and (rows.min() < 0 or (rows.max(0) >= most).any()):
            raise ValueError("a number without a name")
    facts = pair_facts(
        {name: array for name, array in arrays.items() if name in _OF_FACTS}, len(entities)
    )
    ordered = SortedTrain(
        path.absolute(), file.digest, splits["train"], entities, arrays["rows"], facts
    )  # fmt: skip
    return Graph(
        about["name"], entities, relations, splits["train"], splits["valid"], splits["test"],
        tuple(DataNotice(*notice) for notice in about["notices"]), sources, ordered=ordered,
    )  # fmt: skip


_OF_FACTS = ("ends", "start", "head_keys", "head_begin", "tail_keys", "tail_begin", "orders")


def _lines(lines: np.ndarray | None, count: int) -> Iterable[np.ndarray]:
    if lines is not None:
        return [lines]
    return (np.arange(at, min(at + ROWS, count)) + 1 for at in range(0, count, ROWS))


def _plain(notices: Iterable[DataNotice]) -> list[list[Any]]:
    return [[n.message, n.file, n.line, n.count] for n in notices]
