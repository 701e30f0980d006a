"""Facts that a graph is given, or loses, after it was read: nothing is learned anew.

A run keeps them beside what it was trained on, in `facts.json`: those that were added and those
that were removed, as a program writes them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

import numpy as np
from jaxtyping import Bool, Int64

from deepprooflog.errors import DataError
from deepprooflog.kg.data.notice import plural
from deepprooflog.kg.data.triples import Graph, binary_atom, did_you_mean
from deepprooflog.learn.run.folder import RunFolder
from deepprooflog.syntax.reader import read_term
from deepprooflog.syntax.terms import Atom, Struct, Term, Var
from deepprooflog.syntax.writer import write_term

NAME = "facts.json"
FactLike: TypeAlias = "str | tuple[str | int, str, str | int]"
"""A triple as text, `uncle(ann, bob)`, or in Python, `("ann", "uncle", "bob")`."""


@dataclass(frozen=True)
class FactChanges:
    """What a run's graph has more and fewer than the graph it was trained on."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    def __str__(self) -> str:
        told = [(len(self.added), "added"), (len(self.removed), "removed")]
        return " and ".join(f"{plural(n, 'fact')} {what}" for n, what in told if n)

    def followed_by(
        self, graph: Graph, added: Iterable[FactLike] = (), removed: Iterable[FactLike] = ()
    ) -> FactChanges:
        """These changes of a graph, and further ones; what cancels out is no change."""
        now = changed_graph(graph, self.added, self.removed)
        after = changed_graph(now, added, removed)
        before, entities = fact_keys(graph, len(after.entities)), len(after.entities)
        own = fact_keys(after, entities)
        return FactChanges(
            tuple(after.text(row) for row in after.train[~np.isin(own, before)]),
            tuple(graph.text(row) for row in graph.train[~np.isin(before, own)]),
        )


def read_changes(run: RunFolder) -> FactChanges:
    """The changes that a run keeps; none where no fact was ever added or removed."""
    path = run.path / NAME
    if not path.exists():
        return FactChanges()
    value = run.read_json(NAME)
    parts = [value.get("added"), value.get("removed")]
    if value.keys() != {"added", "removed"} or not all(
        isinstance(part, list) and all(isinstance(text, str) for text in part) for part in parts
    ):
        raise DataError("no record of added facts", file=str(path), hint="remove the file")
    return FactChanges(*(tuple(cast("list[str]", part)) for part in parts))


def write_changes(run: RunFolder, changes: FactChanges) -> None:
    """Keep the changes in the run, whole or not at all."""
    run.write_json(NAME, {"added": list(changes.added), "removed": list(changes.removed)})


def changed_graph(
    graph: Graph, added: Iterable[object] = (), removed: Iterable[object] = ()
) -> Graph:
    """The graph with other training triples; new entities are numbered after the others.

    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = graph_of([("ann", "knows", "bob"), ("bob", "knows", "cy")])
    >>> more = changed_graph(graph, ["knows(cy, dee)"], ["knows(ann, bob)"])
    >>> [more.text(row) for row in more.train]
    ['knows(bob,cy)', 'knows(cy,dee)']
    """
    for name, facts in (("added", added), ("removed", removed)):
        if isinstance(facts, str):
            raise DataError(f"{name} is one text, not a list of facts", hint=f"{name}=[{facts!r}]")
    added, removed = list(added), list(removed)
    if not added and not removed:
        return graph
    entities = dict(graph.entity_ids)
    gone = _rows([fact_row(graph, fact, dict(graph.entity_ids)) for fact in removed])
    new = _rows(dict.fromkeys(fact_row(graph, fact, entities) for fact in added))
    known = fact_keys(graph, len(entities))
    lost = np.isin(known, _keys(gone, graph, len(entities)))
    absent = ~_among(gone, graph)
    if absent.any():
        fact = removed[int(np.flatnonzero(absent)[0])]
        if isinstance(fact, tuple):
            fact = f"{fact[1]}({fact[0]}, {fact[2]})"
        raise DataError(f"{fact} is no training triple: there is nothing to remove")
    keys = _keys(new, graph, len(entities))
    fresh = new[~np.isin(keys, known[~lost])]
    sources = dict(graph.sources)
    if "train" in sources:
        lines = np.append(sources["train"].lines[~lost], np.zeros(len(fresh), dtype=np.int64))
        sources["train"] = replace(sources["train"], lines=lines)
    return replace(
        graph, train=np.concatenate([graph.train[~lost], fresh]), entities=tuple(entities),
        sources=sources,
    )  # fmt: skip


def fact_row(graph: Graph, fact: object, entities: dict[Term, int]) -> tuple[int, int, int]:
    """A fact in numbers; entities that are not known yet get the next ones."""
    if isinstance(fact, str):
        atom = binary_atom(read_term(fact, end_optional=True).term)
        if atom is None or atom[0] in _NO_RELATIONS:
            raise DataError(f"{fact} is no triple", hint="relation(head, tail)")
        relation, (head, tail) = atom
    else:
        head, relation, tail = _triple(fact)
    number = graph.relation_ids.get(relation)
    if number is None:
        raise DataError(
            f"the model knows no relation {relation}",
            hint=did_you_mean(relation, graph.relations) or "train on a graph that has it",
        )
    for end in (head, tail):
        if type(end) is Var:
            raise DataError(f"{fact} has a variable, and facts are ground", hint="write names only")
        if type(end) is Struct:
            raise DataError(f"{write_term(end)} is no name of an entity", hint="relation(a, b)")
    first = entities.setdefault(head, len(entities))
    return first, number, entities.setdefault(tail, len(entities))


def _triple(fact: object) -> tuple[Term, str, Term]:
    """Head, relation and tail of a triple in Python."""
    match fact:
        case (str() | int() as head, str() as relation, str() | int() as tail):
            return _entity(head), relation, _entity(tail)
    raise DataError(
        f"{fact!r} is no triple", hint="(head, relation, tail), or relation(head, tail) as text"
    )


def _entity(name: str | int) -> Term:
    return name if isinstance(name, int) else cast("Term", Atom(name))


def fact_keys(graph: Graph, entities: int) -> Int64[np.ndarray, " train"]:
    """Each training triple as one number, of a graph that may grow to so many entities."""
    return _keys(graph.train, graph, entities)


def _keys(
    rows: Int64[np.ndarray, "triples 3"], graph: Graph, entities: int
) -> Int64[np.ndarray, " triples"]:
    found = (rows[:, 0] * len(graph.relations) + rows[:, 1]) * entities + rows[:, 2]
    return np.asarray(found)


def _among(rows: Int64[np.ndarray, "triples 3"], graph: Graph) -> Bool[np.ndarray, " triples"]:
    """Which rows are training triples; those with a new entity are none."""
    known = np.asarray((rows[:, [0, 2]] < len(graph.entities)).all(axis=1))
    found = np.zeros(len(rows), dtype=bool)
    found[known] = graph.holds(rows[known], ("train",))
    return found


def _rows(rows: Iterable[tuple[int, int, int]]) -> Int64[np.ndarray, "triples 3"]:
    return np.array(list(rows), dtype=np.int64).reshape(-1, 3)


# What binds looser than a relation's name is a rule, a label or a conjunction.
_NO_RELATIONS = frozenset({":-", "::", ",", ";", "->", "-"})
