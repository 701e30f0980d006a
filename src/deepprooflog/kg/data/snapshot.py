"""The copy of its graph that a run keeps: names, triples, the rules' text, checksums of the files.

    graph.json           names, rules and files, for people to read
    graph.safetensors    the triples, as rows of numbers of names, and the lines they stand in
    graph.index          of a large graph in place of both: names, triples and lines as the index
                         of a folder has them, opened by memory map

With it a run opens wherever it lies, whether or not the files it was trained on are still there,
and tells what has changed in them since.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from deepprooflog.data.places import is_file
from deepprooflog.data.whole import read_json, sealed_json, write_whole
from deepprooflog.errors import DataError, ProofLogError
from deepprooflog.kg.data.folder import read_graph, split_files
from deepprooflog.kg.data.graph_index import NAME as INDEX
from deepprooflog.kg.data.graph_index import READ_AGAIN
from deepprooflog.kg.data.large.entity_names import EntityNames
from deepprooflog.kg.data.large.graph_file import keep_graph, open_graph
from deepprooflog.kg.data.notice import plural
from deepprooflog.kg.data.rdf_names import RdfNames
from deepprooflog.kg.data.reading import read_text
from deepprooflog.kg.data.rules import Rules, parse_rules
from deepprooflog.kg.data.triples import SPLITS, Graph, SplitName, TripleSource
from deepprooflog.learn.run import checkpoint
from deepprooflog.learn.run.weights import ENDING, load_state, save_state
from deepprooflog.logic.limits.gc_pause import gc_paused
from deepprooflog.syntax.terms import Atom, Float, Str, Term

NAME, OLD_NAME = "graph.json", "graph.pt"
KIND = "graph"
SHAPE: checkpoint.EntryTypes = {
    "train": Tensor, "valid": Tensor, "test": Tensor, "train_lines": Tensor,
    "valid_lines": Tensor, "test_lines": Tensor,
}  # fmt: skip
RULES = "rules"
_KEYS = {"name", "entities", "relations", "sources", "rules", "rules_file", "folder", "files",
         "domains"}  # fmt: skip
LARGE = 1_000_000
"""From so many training triples on, names and triples are kept as arrays to be mapped."""
_INDEX, _STATS = "index", "stats"
_OF_RDF = "rdf"  # an entry of graphs that were read from RDF alone
_TRIPLES = "triples"  # the checksum of the file with the triples
_COPY = "copy the folder again, or train into another"


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A graph and rules as they were when a run began; where they came from."""

    graph: Graph
    rules: Rules
    folder: str = ""  # the graph's, absolute; empty for one that was made in Python
    files: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # path and SHA-256 by use
    domains: tuple[str, str] | None = None  # file and text
    stats: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # size, time of the files

    def digest(self) -> bytes:
        """The SHA-256 of names, triples, rules and domains, wherever and however they were read."""
        found = hashlib.sha256()
        for split in SPLITS:
            found.update(np.ascontiguousarray(self.graph.split(split)).reshape(-1).data)
            found.update(b"|")
        entities = EntityNames.of(self.graph.entities)
        for array in (entities.names, entities.ends, entities.kinds):
            found.update(array.data)
        names = [*map(str, self.graph.relations)]
        rules = [str(rule) for rule in self.rules]
        domains = None if self.domains is None else self.domains[1]
        found.update(json.dumps([names, rules, domains]).encode())
        return found.digest()

    def changes(self) -> list[str]:
        """What the files say now that the snapshot does not; the order of rows is no change."""
        told: list[str] = []
        altered = {
            name for name, (path, digest) in self.files.items()
            if _altered(path, digest, self.stats.get(name))
        }  # fmt: skip
        splits = [name for name in SPLITS if name in altered]
        if splits and len(self.graph.train) >= LARGE:
            told.append(f"{', '.join(splits)} changed (so large a graph is not compared further)")
        elif splits:
            told += self._graph_changes()
        if RULES in altered:
            told += self._rule_changes(Path(self.files[RULES][0]))
        return told

    def about(self, graph: Graph) -> Snapshot:
        """The same rules and another graph, with this one's numbers for the names they share.

        Where the graph has the same triples in whatever order, it is this one.
        """
        fresh = [r for r in graph.relations if r not in self.graph.relation_ids]
        if fresh:
            raise DataError(
                f"{graph.name} has {plural(len(fresh), 'relation')} that the run knows nothing "
                f"of, the first {fresh[0]}",
                hint="a graph with the run's relations, or train on this one",
            )
        other = renumbered(graph, self.graph)
        return replace(self, graph=other) if differences(self.graph, other) else self

    def _graph_changes(self) -> list[str]:
        # Of one file, the triples of the other splits were held out.
        own = self.graph if not is_file(Path(self.folder)) else _all_in_train(self.graph)
        try:
            return differences(own, renumbered(read_graph(self.folder), own))
        except DataError as error:
            return [f"the graph in {self.folder} cannot be read any more: {error.message}"]

    def _rule_changes(self, path: Path) -> list[str]:
        try:
            both = parse_rules(read_text(path), str(path)), self.rules
        except ProofLogError as error:
            return [f"the rules in {path} cannot be read any more: {error.message}"]
        now, own = ({str(rule) for rule in rules} for rules in both)
        more, fewer = len(now - own), len(own - now)
        told = [f"{plural(more, 'new rule')}"] * bool(more) + [f"{fewer} fewer"] * bool(fewer)
        return [f"{path}: {', '.join(told)}"] if told else []


def snapshot_of(
    graph: Graph,
    rules: Rules,
    rules_path: Path | None = None,
    domains: tuple[str, str] | None = None,
) -> Snapshot:
    """A graph and rules with where they were read."""
    folder = None if graph.folder is None else graph.folder.absolute()
    paths: dict[str, Path] = {}
    if folder is not None:
        paths.update(split_files(folder).items())
    if rules_path is not None:
        paths[RULES] = rules_path.absolute()
    files = {name: (str(path), digest(path)) for name, path in paths.items()}
    stats = {name: _stat(path) for name, path in paths.items()}
    return Snapshot(graph, rules, "" if folder is None else str(folder), files, domains, stats)


def snapshot_path(folder: Path) -> Path:
    """The snapshot in a run's folder: as it is written now, or else as older runs have it."""
    path, old = folder / NAME, folder / OLD_NAME
    return old if not path.exists() and old.exists() else path


def is_mapped(graph: Graph) -> bool:
    """Whether a run keeps the graph as arrays to be mapped."""
    return len(graph.train) >= LARGE and graph.rdf is None


def save_snapshot(path: Path, kept: Snapshot) -> None:
    """Write a snapshot, sealed: JSON for people, and the triples beside it."""
    graph, rules = kept.graph, kept.rules
    about: dict[str, Any] = {
        "name": graph.name, "relations": list(graph.relations),
        "rules": rules.source or rules.text(),
        "sources": {name: source.file for name, source in graph.sources.items()},
        "rules_file": rules.file, "folder": kept.folder, "files": dict(kept.files),
        "domains": kept.domains, _STATS: dict(kept.stats),
    }  # fmt: skip
    if is_mapped(graph):
        about[_INDEX] = keep_graph(path.with_name(INDEX), graph)
        write_whole(path, sealed_json(about).encode())
        return
    about["entities"] = [_plain(e) for e in graph.entities]
    if graph.rdf is not None:
        about[_OF_RDF] = {"prefixes": graph.rdf.prefixes, "labels": graph.rdf.labels}
    state: dict[str, Any] = {}
    for name in SPLITS:
        source = graph.sources.get(name)
        lines = np.zeros(0, dtype=np.int64) if source is None else source.lines
        state[name] = torch.from_numpy(graph.split(name).astype(np.int32))
        state[f"{name}_lines"] = torch.from_numpy(lines.astype(np.int32))
    # Last: where it is, the triples are there.
    about[_TRIPLES] = save_state(path.with_suffix(ENDING), KIND, state)
    write_whole(path, sealed_json(about).encode())


@gc_paused()
def read_snapshot(path: Path) -> Snapshot:
    """The snapshot of a run."""
    state: dict[str, Any] = {}
    if path.name == OLD_NAME:
        state = checkpoint.load(path, {**SHAPE, "about": str})
        with checkpoint.fitting(path, "run"):
            about = json.loads(state["about"])
    else:
        about = read_json(path)
        if _INDEX not in about:
            state = load_state(
                path.with_suffix(ENDING), KIND, SHAPE, digest=str(about.pop(_TRIPLES, ""))
            )
    with checkpoint.fitting(path, "run"):
        rdf, known = about.pop(_OF_RDF, None), about.pop(_INDEX, None)
        stats = {name: (size, time) for name, (size, time) in about.pop(_STATS, {}).items()}
        if about.keys() != (_KEYS if known is None else _KEYS - {"entities"}):
            raise ValueError("other entries")
        names = None if rdf is None else RdfNames(**rdf)
        if known is None:
            graph = replace(_graph(about, state), rdf=names)
        else:
            graph = _mapped(path.with_name(INDEX), str(known))
            sources = {
                name: replace(source, file=about["sources"][name])
                for name, source in graph.sources.items()
            }
            graph = replace(graph, name=about["name"], sources=sources)
        text = about["rules"]
        rules = parse_rules(text, about["rules_file"]) if text.strip() else Rules(())
        files = {name: (path, known) for name, (path, known) in about["files"].items()}
        domains = None if about["domains"] is None else tuple(about["domains"])
        return Snapshot(graph, rules, about["folder"], files, domains, stats)


def _graph(about: Mapping[str, Any], state: Mapping[str, Any]) -> Graph:
    """A graph whose names are in JSON, its triples in tensors."""
    entities = tuple(map(_term, about["entities"]))
    relations = tuple(about["relations"])
    splits = {name: _rows(state[name], len(entities), len(relations)) for name in SPLITS}
    sources = {
        name: TripleSource(file, state[f"{name}_lines"].numpy().astype(np.int64))
        for name, file in about["sources"].items()
    }
    if any(len(source.lines) != len(splits[name]) for name, source in sources.items()):
        raise ValueError("lines that are not those of the triples")
    return Graph(
        about["name"], entities, relations, splits["train"], splits["valid"], splits["test"],
        sources=sources,
    )  # fmt: skip


def _mapped(path: Path, known: str) -> Graph:
    """A graph in arrays, where they are those that were written with the run."""
    if not is_file(path):
        raise DataError("there is no graph", file=str(path), hint=_COPY)
    graph, file = open_graph(path, _COPY)
    if file.digest != known:
        raise DataError(
            "it is not the one that was written with the files beside it", file=str(path),
            hint=_COPY,
        )  # fmt: skip
    return replace(graph, notices=())


def digest(path: Path) -> str:
    """The SHA-256 of a file, read a piece at a time."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"cannot read: {error.strerror or error}", file=str(path)) from None


def _stat(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def _altered(path: str, known: str, stat: tuple[int, int] | None) -> bool:
    """Whether a file is there and is not what it was; a large one of that size and time is."""
    try:
        if stat is not None and stat[0] > READ_AGAIN and _stat(Path(path)) == stat:
            return False
        return digest(Path(path)) != known
    except (DataError, OSError):
        return False


def renumbered(graph: Graph, like: Graph) -> Graph:
    """The graph with the numbers of another for the names they share, new ones after them.

    Entities that only the other has are left out, so that no one is asked about them; relations
    stay, since what is learned of them is kept by their numbers.

    >>> from deepprooflog.kg.data.triples import graph_of
    >>> one = graph_of([("a", "r", "b"), ("b", "s", "c")])
    >>> other = graph_of([("c", "s", "d"), ("d", "s", "b")])
    >>> found = renumbered(other, one)
    >>> [found.entity_text(e) for e in range(3)], found.relations, found.train.tolist()
    (['b', 'c', 'd'], ('r', 's'), [[1, 1, 2], [2, 1, 0]])
    """
    own = graph.entity_ids
    entities = [e for e in like.entities if e in own]
    entities += [e for e in graph.entities if e not in like.entity_ids]
    relations = [*like.relations, *(r for r in graph.relations if r not in like.relation_ids)]
    numbers = {entity: number for number, entity in enumerate(entities)}
    of_entity = np.array([numbers[e] for e in graph.entities], dtype=np.int64)
    ranks = {relation: number for number, relation in enumerate(relations)}
    of_relation = np.array([ranks[r] for r in graph.relations], dtype=np.int64)
    splits: dict[str, Any] = {}
    for name in SPLITS:
        rows = graph.split(name)
        columns = (of_entity[rows[:, 0]], of_relation[rows[:, 1]], of_entity[rows[:, 2]])
        splits[name] = np.stack(columns, 1) if len(rows) else rows
    return replace(graph, entities=tuple(entities), relations=tuple(relations), **splits)


def differences(own: Graph, other: Graph) -> list[str]:
    """What another graph has more or fewer than this one, split by split."""
    told = []
    new = [e for e in other.entities if e not in own.entity_ids]
    if new:
        first = other.entity_text(other.entity_ids[new[0]])
        told.append(f"{plural(len(new), 'new entity', 'new entities')}, the first {first}")
    gone = sum(e not in other.entity_ids for e in own.entities)
    if gone:
        told.append(f"{plural(gone, 'entity', 'entities')} fewer")
    known = own.relation_ids
    fresh = [r for r in other.relations if r not in known]
    if fresh:
        told.append(f"{plural(len(fresh), 'new relation')}, the first {fresh[0]}")
    for name in SPLITS:
        here, there = _texts(own, name), _texts(other, name)
        for what, more in (("more", there - here), ("fewer", here - there)):
            if more:
                shown = min(more)
                told.append(
                    f"{plural(len(more), f'{name} triple')} {what}, "
                    f"the first {shown[1]}({shown[0]}, {shown[2]})"
                )
    return told


def _all_in_train(graph: Graph) -> Graph:
    rows, none = np.concatenate([graph.split(name) for name in SPLITS]), graph.train[:0]
    return replace(graph, train=rows, valid=none, test=none, sources={})


def _texts(graph: Graph, split: SplitName) -> set[tuple[str, str, str]]:
    names = [graph.entity_text(e) for e in range(len(graph.entities))]
    rows = graph.split(split).tolist()
    return {(names[h], graph.relations[r], names[t]) for h, r, t in rows}


def _rows(rows: Tensor, entities: int, relations: int) -> Int64[np.ndarray, "triples 3"]:
    """Triples that are numbers of the names there are."""
    found = rows.numpy().astype(np.int64)
    if found.ndim != 2 or found.shape[1] != 3:
        raise ValueError("no triples")
    if len(found) and ((found < 0) | (found >= [entities, relations, entities])).any():
        raise ValueError("a number without a name")
    return found


def _plain(term: Term) -> object:
    """A constant in JSON: integers and atoms as they are."""
    if isinstance(term, int):
        return term
    if type(term) is Atom:
        return term.name
    if type(term) is Float:
        return {"float": term.value}
    assert type(term) is Str
    return {"string": term.value}


def _term(value: Any) -> Term:
    if isinstance(value, str):
        return Atom(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return Float(value["float"]) if "float" in value else Str(value["string"])
