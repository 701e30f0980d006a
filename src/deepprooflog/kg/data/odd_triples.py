"""Triples that stand twice, and what one split holds that another makes suspect."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int, Int64

from deepprooflog.kg.data.notice import DataNotice, plural
from deepprooflog.kg.data.triples import SPLITS, Graph, SplitName


def first_rows(triples: Int[np.ndarray, "triples 3"]) -> Bool[np.ndarray, " triples"] | None:
    """Which rows stand there for the first time; None where all do.

    >>> first_rows(np.array([[0, 0, 1], [1, 0, 0], [0, 0, 1]])).tolist()
    [True, True, False]
    """
    if not len(triples):
        return None
    key = _keys(triples)
    key.sort()
    if not (key[1:] == key[:-1]).any():
        return None
    _, first = np.unique(_keys(triples), return_index=True)
    kept = np.zeros(len(triples), dtype=bool)
    kept[first] = True
    return kept


def duplicates(
    kept: Bool[np.ndarray, " triples"],
    file: str | None,
    lines: Int64[np.ndarray, " triples"] | None,
) -> DataNotice:
    """What is told of rows that are left out; without lines they are numbered from 1."""
    first, count = int(np.flatnonzero(~kept)[0]), int((~kept).sum())
    told = "is a duplicate" if count == 1 else "are duplicates"
    line = first + 1 if lines is None else int(lines[first])
    if file is None or not line:
        message = f"{plural(count, 'triple')} {told} and left out, the first number {first + 1}"
        return DataNotice(message, file, None, count)
    message = f"{plural(count, 'triple')} {told} and left out, the first here"
    return DataNotice(message, file, line, count)


def odd_triples(
    graph: Graph, seen: Bool[np.ndarray, " entities"], counts: Int64[np.ndarray, " relations"]
) -> list[DataNotice]:
    """What is odd about a graph, given which entities train has and its triples by relation."""
    notices: list[DataNotice] = []
    for name in SPLITS[1:]:
        rows = graph.split(name)
        notices += _told(graph, name, graph.holds(rows, ("train",)), "also in train")
        unseen = ~(seen[rows[:, 0]] & seen[rows[:, 2]])
        notices += _told(graph, name, unseen, "with an entity that train does not have")
    for number in np.flatnonzero(counts == 0).tolist():
        notices.append(DataNotice(f"the relation {graph.relations[number]} has no triple in train"))
    return notices


def _keys(triples: Int[np.ndarray, "triples 3"]) -> Int64[np.ndarray, " triples"]:
    """One number for each triple: numbers sort many times faster than rows."""
    relations, tails = int(triples[:, 1].max()) + 1, int(triples[:, 2].max()) + 1
    key = triples[:, 0].astype(np.int64)
    key *= relations
    key += triples[:, 1]
    key *= tails
    key += triples[:, 2]
    return np.asarray(key)


def _told(
    graph: Graph, split: SplitName, which: Bool[np.ndarray, " triples"], what: str
) -> list[DataNotice]:
    count = int(which.sum())
    if not count:
        return []
    first = int(np.flatnonzero(which)[0])
    source = graph.sources.get(split)
    message = f"{plural(count, f'{split} triple')} {what}, the first "
    message += graph.text(graph.split(split)[first])
    if source is None:
        return [DataNotice(message, None, None, count)]
    return [DataNotice(message, source.file, int(source.lines[first]) or None, count)]
