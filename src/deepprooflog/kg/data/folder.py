"""A knowledge graph from a folder: train, valid and test, and rules where there are some.

Each split is one file, in any of the formats of `files.py`; rules are `rules.pl`, `rules.txt` or
`rules.tsv`. What is odd about the triples is collected as notices.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from jaxtyping import Int64

from deepprooflog.data.places import VARIABLE, is_file, is_folder, places
from deepprooflog.errors import DataError
from deepprooflog.kg.data.files import AS_USUAL, RdfReading, read_files
from deepprooflog.kg.data.frame_rows import FRAME_ENDINGS
from deepprooflog.kg.data.graph_index import open_index
from deepprooflog.kg.data.large.graph_file import GraphParts
from deepprooflog.kg.data.large.tables import read_large_tables
from deepprooflog.kg.data.notice import DataNotice
from deepprooflog.kg.data.odd_triples import duplicates, first_rows, odd_triples
from deepprooflog.kg.data.rdf import RDF_ENDINGS
from deepprooflog.kg.data.reading import SHIPPED, TripleRows, graph_name, named
from deepprooflog.kg.data.triples import (
    SPLITS,
    Graph,
    SplitName,
    TripleSource,
    did_you_mean,
    numbered,
)
from deepprooflog.syntax.terms import Term

RULES = tuple(end + packed for packed in ("", ".gz") for end in (".txt", ".tsv", ".pl"))
ENDINGS = RULES + RDF_ENDINGS + FRAME_ENDINGS
NOTHING = TripleRows([])
_Numbers: TypeAlias = tuple[np.ndarray, TripleSource | None]
OWN = ("village",)  # what ships with the package


def read_graph(data: str | Path, how: RdfReading = AS_USUAL) -> Graph:
    """The graph in a folder, the data set of that name, or a file, which is all training triples.

    >>> read_graph("village").relations[:3]
    ('father', 'mother', 'husband')
    """
    if is_file(Path(data)):
        return file_graph(Path(data), how)
    folder = find_graph(data)
    # How RDF is to be read is no matter of an index, which graphs from RDF have none of.
    graph = open_index(folder, split_files(folder)) if how == AS_USUAL else None
    if graph is None:
        return read_text_graph(folder, how)
    return replace(graph, rules=_one(folder, "rules", RULES), folder=folder)


def read_text_graph(folder: Path, how: RdfReading = AS_USUAL) -> Graph:
    """The graph in a folder's files, whether or not there is an index of them."""
    parts, names = read_files(split_files(folder), how)
    graph = graph_of_rows(graph_name(folder), parts)
    return replace(graph, rules=_one(folder, "rules", RULES), folder=folder, rdf=names)


def graph_parts(folder: Path) -> GraphParts | None:
    """The parts of a folder's graph, of plain tables with little time and memory.

    None for a graph from RDF, which is more than its triples.
    """
    files = split_files(folder)
    tables = read_large_tables(files)
    if tables is None:
        graph = read_text_graph(folder)
        return None if graph.rdf is not None else GraphParts.of(graph)
    rows: dict[SplitName, np.ndarray] = {}
    lines: dict[SplitName, np.ndarray] = {}
    notices = []
    for split, path in files.items():
        rows[split] = tables.rows[split]
        kept = first_rows(rows[split])
        if kept is not None:
            notices.append(duplicates(kept, named(path), None))
            rows[split], lines[split] = rows[split][kept], np.flatnonzero(kept) + 1
    return GraphParts(
        graph_name(folder), tables.entities, tables.relations, rows,
        {split: named(path) for split, path in files.items()}, lines, tuple(notices),
    )  # fmt: skip


def file_graph(path: Path, how: RdfReading = AS_USUAL) -> Graph:
    """The graph of one file; there are no other splits."""
    parts, names = read_files({"train": path}, how)
    graph = graph_of_rows(path.name.partition(".")[0], parts)
    return replace(graph, folder=path, rdf=names)


def graph_of_rows(name: str, parts: Mapping[SplitName, TripleRows]) -> Graph:
    """A graph from rows of names; what is odd about them is in its notices."""
    entities: dict[Term, int] = {}
    relations: dict[str, int] = {}
    numbers: dict[SplitName, _Numbers] = {}
    for split in SPLITS:
        part = parts.get(split, NOTHING)
        numbers[split] = numbered(part.rows, entities, relations), part.source
    notices = [notice for split in SPLITS for notice in parts.get(split, NOTHING).notices]
    return _graph_of_numbers(name, tuple(entities), tuple(relations), numbers, notices)


def _graph_of_numbers(
    name: str,
    entities: Sequence[Term],
    relations: tuple[str, ...],
    numbers: Mapping[SplitName, _Numbers],
    notices: list[DataNotice],
) -> Graph:
    """A graph without the rows that stand twice."""
    sources: dict[SplitName, TripleSource] = {}
    arrays: dict[SplitName, Int64[np.ndarray, "triples 3"]] = {}
    for split in SPLITS:
        rows, source = numbers[split]
        kept = first_rows(rows)
        if kept is not None:
            where = (None, None) if source is None else (source.file, source.lines)
            notices = [*notices, duplicates(kept, *where)]
            rows = rows[kept]
            source = source and TripleSource(source.file, source.lines[kept])
        arrays[split] = rows
        if source is not None:
            sources[split] = source
    graph = Graph(
        name, entities, relations, arrays["train"], arrays["valid"], arrays["test"],
        sources=sources,
    )  # fmt: skip
    seen = np.zeros(len(graph.entities), dtype=bool)
    seen[graph.train[:, [0, 2]].ravel()] = True
    counts = np.bincount(graph.train[:, 1], minlength=len(graph.relations))
    return replace(graph, notices=(*notices, *odd_triples(graph, seen, counts)))


def find_graph(data: str | Path) -> Path:
    """The folder of a data set: a path, a graph that ships with the package, or a known name."""
    path = Path(data)
    if is_folder(path):
        return path
    if str(data) in OWN:
        return SHIPPED / str(data)
    looked = [place / "kg" / str(data) for place in places()]
    for folder in looked:
        if is_folder(folder):
            return folder
    if is_file(path):
        raise DataError("not a folder", file=str(path), hint="give the folder of train, valid, …")
    names = sorted({f.name for place in places() for f in (place / "kg").glob("*/")} | set(OWN))
    unset = "" if os.environ.get(VARIABLE) else f"; {VARIABLE} is not set"
    raise DataError(
        f"no folder and no knowledge graph {str(data)!r} (looked in "
        f"{', '.join(map(str, looked))}{unset})",
        hint=did_you_mean(str(data), names) or f"graphs here: {', '.join(names)}",
    )


def split_files(folder: Path) -> dict[SplitName, Path]:
    """The file of each split; a file is that of train."""
    if is_file(folder):
        return {"train": folder}
    return {name: _file(folder, name) for name in SPLITS}


def _file(folder: Path, split: SplitName) -> Path:
    found = _one(folder, split, ENDINGS)
    if found is None:
        other = next((p.name for p in sorted(folder.glob(f"{split}.*")) if is_file(p)), None)
        there = "" if other is None else f": {other} has another format"
        hint = f"one of {', '.join(split + end for end in ENDINGS)}"
        if split != "train":
            train = _one(folder, "train", ENDINGS)
            hint = f"{hint}; or name the file {train}, of which triples are then held out"
        raise DataError(f"no file for the split {split}{there}", file=str(folder), hint=hint)
    return found


def _one(folder: Path, stem: str, endings: Sequence[str]) -> Path | None:
    """The one file of that name with a known ending, if there is one."""
    found = [path for end in endings if is_file(path := folder / f"{stem}{end}")]
    if len(found) > 1:
        names = " and ".join(path.name for path in found)
        raise DataError(f"{names} are both there", file=str(folder), hint="keep one of them")
    return found[0] if found else None
