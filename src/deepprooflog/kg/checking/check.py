"""Counting what is odd about a graph: rows that are wrong, and what makes figures easier or harder.

*Faults* are rows that falsify figures: duplicates, triples of one split that another has too, and
rows that name columns. The rest are properties: entities and relations that train lacks, self
loops, triples whose inverse or whose two entities train already has under another name, the shares
of half-links, entities that occur once. Published graphs have many of these on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Int64

from deepprooflog.data.places import is_file
from deepprooflog.kg.checking.pairs import THRESHOLD, RelationPair, relation_pairs
from deepprooflog.kg.data.files import AS_USUAL, read_files
from deepprooflog.kg.data.folder import find_graph, graph_of_rows, split_files
from deepprooflog.kg.data.header import column_kind
from deepprooflog.kg.data.notice import plural
from deepprooflog.kg.data.reading import TripleRows
from deepprooflog.kg.data.triples import Graph, SplitName
from deepprooflog.kg.evaluation.figures import strata
from deepprooflog.syntax.terms import Atom

FAULTS = ("duplicates", "in_train", "in_valid", "header_rows")


@dataclass(frozen=True)
class SplitCheck:
    """The counts of one split; all but `rows` and `duplicates` are of triples, each once."""

    rows: int
    duplicates: int  # rows that repeat an earlier one of the split
    header_rows: int  # rows like head, relation, tail
    in_train: int  # of valid and test
    in_valid: int  # of test
    unseen_entity: int  # triples with an entity that train lacks
    unseen_relation: int
    self_loops: int
    inverse_in_train: int  # another fact, s(t, h), is in train, s any relation
    pair_in_train: int  # s(h, t) is in train, s another relation
    halves: Mapping[str, int]  # half-links of valid and test: both, head, tail, none

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {**self.__dict__, "halves": dict(self.halves)}


@dataclass(frozen=True)
class GraphCheck:
    """What there is to say about a graph's triples.

    >>> found = check_graph("village")
    >>> found.faults, found.splits["test"].unseen_entity, found.splits["test"].halves["both"]
    (0, 0, 486)
    """

    name: str
    entities: int
    relations: int
    splits: Mapping[SplitName, SplitCheck]
    unseen_entities: int  # entities that train lacks
    single_entities: int  # entities of one training triple
    single_relations: int
    pairs: tuple[RelationPair, ...]
    notices: tuple[str, ...]

    @property
    def faults(self) -> int:
        """How many rows falsify figures."""
        return sum(getattr(part, kind) for part in self.splits.values() for kind in FAULTS)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "name": self.name, "faults": self.faults, "entities": self.entities,
            "relations": self.relations, "unseen_entities": self.unseen_entities,
            "single_entities": self.single_entities, "single_relations": self.single_relations,
            "splits": {name: part.to_dict() for name, part in self.splits.items()},
            "pairs": [pair.to_dict() for pair in self.pairs], "notices": list(self.notices),
        }  # fmt: skip

    def __str__(self) -> str:
        from deepprooflog.kg.checking.report import check_text

        return check_text(self)


def check_graph(data: str | Path, threshold: float = THRESHOLD) -> GraphCheck:
    """Count what is odd about the triples of a folder, a data set's name, or a file."""
    path = Path(data) if is_file(Path(data)) else find_graph(data)
    parts, _ = read_files(split_files(path), AS_USUAL)
    return check_rows(path.name.partition(".")[0], parts, threshold)


def check_rows(
    name: str, parts: Mapping[SplitName, TripleRows], threshold: float = THRESHOLD
) -> GraphCheck:
    """Count what is odd about rows of names."""
    graph = graph_of_rows(name, parts)
    seen = np.zeros(len(graph.entities), dtype=bool)
    seen[graph.train[:, [0, 2]].ravel()] = True
    ends = graph.train[graph.train[:, 0] != graph.train[:, 2]][:, [0, 2]].ravel()
    loops = graph.train[graph.train[:, 0] == graph.train[:, 2]][:, 0]
    degree = np.bincount(np.concatenate([ends, loops]), minlength=len(graph.entities))
    uses = np.bincount(graph.train[:, 1], minlength=len(graph.relations))
    notices = [str(notice) for notice in graph.notices]
    again = graph.test[graph.holds(graph.test, ("valid",))]
    if len(again):
        told = plural(len(again), "test triple")
        notices.append(f"warning: {told} also in valid, the first {graph.text(again[0])}")
    return GraphCheck(
        name, len(graph.entities), len(graph.relations),
        {split: _split(graph, split, part, seen, uses) for split, part in parts.items()},
        int((~seen).sum()), int((degree == 1).sum()), int((uses == 1).sum()),
        relation_pairs(graph, threshold), tuple(notices),
    )  # fmt: skip


def _split(
    graph: Graph,
    split: SplitName,
    part: TripleRows,
    seen: Bool[np.ndarray, " entities"],
    uses: Int64[np.ndarray, " relations"],
) -> SplitCheck:
    rows = graph.split(split)
    loops = rows[:, 0] == rows[:, 2]
    held = split != "train"
    turned, same = _linked(graph, rows)
    halves = {name: int(which.sum()) for name, which in strata(graph, rows).items()} if held else {}
    dropped = sum("names the columns" in notice.message for notice in part.notices)
    return SplitCheck(
        rows=len(part.rows) + dropped,
        duplicates=len(part.rows) - len(rows),
        header_rows=dropped + _header_rows(part),
        in_train=int(graph.holds(rows, ("train",)).sum()) if held else 0,
        in_valid=int(graph.holds(rows, ("valid",)).sum()) if split == "test" else 0,
        unseen_entity=int((~(seen[rows[:, 0]] & seen[rows[:, 2]])).sum()),
        unseen_relation=int((uses[rows[:, 1]] == 0).sum()),
        self_loops=int(loops.sum()),
        inverse_in_train=int((turned & ~loops).sum()),
        pair_in_train=int(same.sum()),
        halves=halves,
    )


def _linked(
    graph: Graph, rows: Int64[np.ndarray, "triples 3"]
) -> tuple[Bool[np.ndarray, " triples"], Bool[np.ndarray, " triples"]]:
    """Which triples have their two entities in a training fact: turned, or of another relation."""
    size = len(graph.entities)
    keys = np.sort(graph.train[:, 0] * size + graph.train[:, 2])

    def facts(head: Int64[np.ndarray, " n"], tail: Int64[np.ndarray, " n"]) -> Any:
        wanted = head * size + tail
        return np.searchsorted(keys, wanted, "right") - np.searchsorted(keys, wanted, "left")

    own = graph.holds(rows, ("train",)).astype(np.int64)
    return facts(rows[:, 2], rows[:, 0]) > 0, facts(rows[:, 0], rows[:, 2]) - own > 0


def _header_rows(part: TripleRows) -> int:
    """Rows that read like the names of columns and were kept as triples."""
    kinds: dict[str, bool] = {}
    count = 0
    for head, relation, tail in part.rows:
        fits = kinds.get(relation)
        if fits is None:
            fits = kinds[relation] = column_kind(relation) == 1
        if fits and type(head) is Atom and type(tail) is Atom:
            count += column_kind(head.name) == 0 and column_kind(tail.name) == 2
    return count
