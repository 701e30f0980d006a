"""A knowledge graph from a folder: train, valid and test, and rules where there are some.

Each split is one file, `train.txt`, `train.tsv` or `train.pl`, plain or gzipped; rules are
`rules.pl`, `rules.txt` or `rules.tsv`. What is odd about the triples is collected as notices.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Int64

from deepprooflog.data.places import VARIABLE, is_file, is_folder, places
from deepprooflog.errors import DataError
from deepprooflog.kg.data.notice import DataNotice, plural
from deepprooflog.kg.data.reading import SHIPPED, TripleRows, read_triples
from deepprooflog.kg.data.triples import (
    SPLITS,
    Graph,
    SplitName,
    TripleSource,
    did_you_mean,
    graph_of,
    numbered,
)
from deepprooflog.syntax.terms import Term

ENDINGS = tuple(end + packed for packed in ("", ".gz") for end in (".txt", ".tsv", ".pl"))
OWN = ("village",)  # what ships with the package


def read_graph(data: str | Path) -> Graph:
    """The graph in a folder, or the data set of that name.

    >>> read_graph("village").relations[:3]
    ('father', 'mother', 'husband')
    """
    folder = find_graph(data)
    parts: dict[SplitName, TripleRows] = {
        name: read_triples(path) for name, path in split_files(folder).items()
    }
    entities: dict[Term, int] = {}
    relations: dict[str, int] = {}
    arrays = {name: numbered(part.rows, entities, relations) for name, part in parts.items()}
    notices: list[DataNotice] = []
    sources: dict[SplitName, TripleSource] = {}
    for name in SPLITS:
        notices += parts[name].notices
        source = parts[name].source
        kept = _first_ones(arrays[name])
        if not kept.all():
            notices.append(_duplicates(kept, source))
        arrays[name] = arrays[name][kept]
        sources[name] = TripleSource(source.file, source.lines[kept])
    graph = Graph(
        folder.name,
        tuple(entities),
        tuple(relations),
        arrays["train"],
        arrays["valid"],
        arrays["test"],
        sources=sources,
        rules=_one(folder, "rules"),
        folder=folder,
    )
    return replace(graph, notices=(*notices, *_odd(graph)))


def load_graph(
    source: str | Path | Iterable[tuple[str | int, str, str | int]],
    valid: Iterable[tuple[str | int, str, str | int]] = (),
    test: Iterable[tuple[str | int, str, str | int]] = (),
) -> Graph:
    """A graph from a folder, a data set's name, a file of triples, or triples in Python.

    A file, or a list, is all training triples; `valid` and `test` may come beside a list.

    >>> load_graph([("ann", "mother", "bob"), ("bob", "mother", "cy")])
    Graph('graph': 3 entities, 1 relation, 2 / 0 / 0 triples)
    >>> load_graph("village")
    Graph('village': 182 entities, 13 relations, 1,544 / 305 / 644 triples)
    """
    if not isinstance(source, str | Path):
        return graph_of(source, valid, test)
    path = Path(source)
    if not is_file(path):
        return read_graph(source)
    entities: dict[Term, int] = {}
    relations: dict[str, int] = {}
    read = read_triples(path)
    train = numbered(read.rows, entities, relations)
    kept = _first_ones(train)
    notices = (*read.notices, *([] if kept.all() else [_duplicates(kept, read.source)]))
    none = train[:0]
    return Graph(
        path.name.partition(".")[0], tuple(entities), tuple(relations), train[kept], none, none,
        notices, {"train": TripleSource(read.source.file, read.source.lines[kept])},
    )  # fmt: skip


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
    """The file of each split."""
    return {name: _file(folder, name) for name in SPLITS}


def _file(folder: Path, split: SplitName) -> Path:
    found = _one(folder, split)
    if found is None:
        other = next((p.name for p in sorted(folder.glob(f"{split}.*")) if is_file(p)), None)
        there = "" if other is None else f": {other} has another format"
        raise DataError(
            f"no file for the split {split}{there}",
            file=str(folder),
            hint=f"one of {', '.join(split + end for end in ENDINGS)}",
        )
    return found


def _one(folder: Path, stem: str) -> Path | None:
    """The one file of that name with a known ending, if there is one."""
    found = [path for end in ENDINGS if is_file(path := folder / f"{stem}{end}")]
    if len(found) > 1:
        names = " and ".join(path.name for path in found)
        raise DataError(f"{names} are both there", file=str(folder), hint="keep one of them")
    return found[0] if found else None


def _first_ones(triples: Int64[np.ndarray, "triples 3"]) -> Bool[np.ndarray, " triples"]:
    # One number for each triple: numbers sort many times faster than rows.
    entities, relations = triples[:, [0, 2]].max() + 1, triples[:, 1].max() + 1
    key = (triples[:, 0] * relations + triples[:, 1]) * entities + triples[:, 2]
    _, first = np.unique(key, return_index=True)
    kept = np.zeros(len(triples), dtype=bool)
    kept[first] = True
    return kept


def _duplicates(kept: Bool[np.ndarray, " triples"], source: TripleSource) -> DataNotice:
    first, count = int(np.flatnonzero(~kept)[0]), int((~kept).sum())
    told = "is a duplicate" if count == 1 else "are duplicates"
    message = f"{plural(count, 'triple')} {told} and left out, the first here"
    return DataNotice(message, source.file, int(source.lines[first]), count)


def _odd(graph: Graph) -> list[DataNotice]:
    """What one split holds that another makes suspect."""
    seen = np.zeros(len(graph.entities), dtype=bool)
    seen[graph.train[:, [0, 2]].ravel()] = True
    notices: list[DataNotice] = []
    for name in SPLITS[1:]:
        rows = graph.split(name)
        notices += _told(graph, name, graph.holds(rows, ("train",)), "also in train")
        unseen = ~(seen[rows[:, 0]] & seen[rows[:, 2]])
        notices += _told(graph, name, unseen, "with an entity that train does not have")
    counts = np.bincount(graph.train[:, 1], minlength=len(graph.relations))
    for number in np.flatnonzero(counts == 0).tolist():
        notices.append(DataNotice(f"the relation {graph.relations[number]} has no triple in train"))
    return notices


def _told(
    graph: Graph, split: SplitName, which: Bool[np.ndarray, " triples"], what: str
) -> list[DataNotice]:
    count = int(which.sum())
    if not count:
        return []
    first = int(np.flatnonzero(which)[0])
    source = graph.sources[split]
    message = f"{plural(count, f'{split} triple')} {what}, the first "
    message += graph.text(graph.split(split)[first])
    return [DataNotice(message, source.file, int(source.lines[first]), count)]
