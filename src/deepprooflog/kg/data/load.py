"""A graph from whatever holds triples: a folder, a file, a list, a frame, a table, PyKEEN."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from deepprooflog.data.places import is_file
from deepprooflog.errors import DataError
from deepprooflog.kg.data.files import RdfReading, read_files
from deepprooflog.kg.data.folder import file_graph, graph_of_rows, read_graph
from deepprooflog.kg.data.frame_rows import frame_rows, is_frame
from deepprooflog.kg.data.pykeen_triples import dataset_rows, factory_rows, is_dataset, is_factory
from deepprooflog.kg.data.reading import TripleRows
from deepprooflog.kg.data.triples import SPLITS, Graph, SplitName, constant, graph_of

TripleLike: TypeAlias = "tuple[str | int, str, str | int]"
GraphLike: TypeAlias = "str | Path | Iterable[TripleLike] | Any"
"""A path or a name, triples, a frame, an Arrow table, a PyKEEN dataset or triples factory."""

_KINDS = (
    "a folder, a file, a list of (head, relation, tail), a DataFrame, an Arrow table, or a dataset "
    "or triples factory of PyKEEN"
)


def load_graph(
    source: GraphLike,
    valid: GraphLike = (),
    test: GraphLike = (),
    *,
    name: str | None = None,
    prefixes: Mapping[str, str] | None = None,
    literals: bool = False,
    language: str = "en",
) -> Graph:
    """A graph from a folder, a data set's name, a file of triples, or triples in Python.

    What is no folder and no PyKEEN dataset is all training triples; `valid` and `test` may come
    beside it. Of RDF, `prefixes` shorten names further than the file's own do, `literals=True`
    makes constants of literals, and `language` is that of the labels where there are several.

    >>> load_graph([("ann", "mother", "bob"), ("bob", "mother", "cy")])
    Graph('graph': 3 entities, 1 relation, 2 / 0 / 0 triples)
    >>> load_graph("village")
    Graph('village': 182 entities, 13 relations, 1,544 / 305 / 644 triples)
    """
    how = RdfReading(prefixes or {}, literals, language)
    beside = {"valid": valid, "test": test}
    given: dict[SplitName, Any] = {"train": source}
    given |= {split: part for split, part in beside.items() if not _is_nothing(part)}  # type: ignore[misc]
    if isinstance(source, str | Path) and not is_file(Path(source)):
        _alone(given, "a folder")
        graph = read_graph(source, how)
    elif is_dataset(source):
        _alone(given, "a dataset")
        title = type(source).__name__.lower()
        graph = graph_of_rows(title, {s: TripleRows(r) for s, r in dataset_rows(source).items()})
    elif len(given) == 1 and isinstance(source, str | Path):
        graph = file_graph(Path(source), how)
    elif all(isinstance(part, list | tuple) for part in given.values()):
        rows = {split: _listed(given.get(split, ())) for split in SPLITS}
        graph = graph_of(rows["train"], rows["valid"], rows["test"])
    else:
        graph = _of_parts(given, how)
    return graph if name is None else replace(graph, name=name)


def _of_parts(given: Mapping[SplitName, Any], how: RdfReading) -> Graph:
    """A graph whose splits come from wherever."""
    paths = {split: Path(part) for split, part in given.items() if isinstance(part, str | Path)}
    parts, names = read_files(paths, how)
    for split, part in given.items():
        if split not in paths:
            parts[split] = TripleRows(_rows(part))
    first = paths.get("train")
    title = "graph" if first is None else first.name.partition(".")[0]
    return replace(graph_of_rows(title, parts), rdf=names)


def _rows(source: Any) -> Any:
    if is_factory(source):
        return factory_rows(source)
    if is_frame(source):
        return frame_rows(source)
    return [(constant(h), r, constant(t)) for h, r, t in _listed(source)]


def _listed(source: Any) -> list[TripleLike]:
    """Triples in Python, one by one."""
    try:
        rows = list(source)
    except TypeError:
        raise DataError(f"no graph can be made of {type(source).__name__}", hint=_KINDS) from None
    for number, row in enumerate(rows, 1):
        fits = isinstance(row, list | tuple) or hasattr(row, "tolist")
        if not fits or len(row) != 3:
            raise DataError(
                f"number {number} of the list is no triple: {row!r:.60}",
                hint="(head, relation, tail); other sources are " + _KINDS,
            )
        for what, value in zip(("head", "relation", "tail"), row, strict=True):
            if not (isinstance(value, str) or (what != "relation" and _is_whole(value))):
                raise DataError(
                    f"number {number} of the list: the {what} is {value!r:.40}, which is no name",
                    hint="names are text, of entities also whole numbers",
                )
    return [(_plain(h), str(r), _plain(t)) for h, r, t in rows]


def _is_whole(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _plain(value: Any) -> str | int:
    return str(value) if isinstance(value, str) else int(value)


def _is_nothing(part: Any) -> bool:
    return part is None or (isinstance(part, list | tuple) and not part)


def _alone(given: Mapping[SplitName, Any], what: str) -> None:
    more = [split for split in given if split != "train"]
    if more:
        raise DataError(f"{what} has its own {' and '.join(more)}", hint=f"without {more[0]}=…")
