"""A knowledge graph: numbered entities and relations, and triples as integer arrays.

A triple r(h, t) is a row (h, r, t) of numbers. Entities and relations are numbered by first
occurrence over train, valid and test, heads before tails, so that the same files always give the
same numbers.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Int, Int64

from deepprooflog.errors import DataError
from deepprooflog.kg.data.large.entity_names import EntityNames
from deepprooflog.kg.data.large.known_facts import KnownFacts, KnownTriples
from deepprooflog.kg.data.large.row_order import by_relation
from deepprooflog.kg.data.notice import DataNotice, plural
from deepprooflog.kg.data.rdf_names import RdfNames
from deepprooflog.kg.data.triple_set import Side, TripleSet, contexts
from deepprooflog.relational.pair_facts import PairFacts
from deepprooflog.syntax.reader import read_term
from deepprooflog.syntax.terms import Atom, Functor, Struct, Term, Var, deref, functor_of
from deepprooflog.syntax.writer import write_term

SplitName: TypeAlias = Literal["train", "valid", "test"]
TriplePattern: TypeAlias = tuple[int | None, int, int | None]

SPLITS: tuple[SplitName, ...] = ("train", "valid", "test")
# Among more entities the search for a similar name would take longer than reading the message.
SIMILAR = 50_000
SIDES: tuple[Side, ...] = ("head", "tail")


@dataclass(frozen=True, eq=False)
class TripleSource:
    """Where a split's triples were read."""

    file: str
    lines: Int64[np.ndarray, " triples"]


@dataclass(frozen=True, eq=False)
class SortedTrain:
    """Training triples that lie sorted in a file, as facts; with what they are the order of."""

    path: Path  # of the file, and what tells that it is still the same
    digest: str
    train: Int64[np.ndarray, "train 3"]
    entities: Sequence[Term]
    rows: Int[np.ndarray, " train"]  # by relation, within each as they stand
    facts: PairFacts  # fact n is triple rows[n]

    def holds(self, triples: Int64[np.ndarray, "triples 3"]) -> Bool[np.ndarray, " triples"]:
        """Which triples are among them."""
        relation, ends = torch.from_numpy(triples[:, 1]), torch.from_numpy(triples[:, [0, 2]])
        return np.asarray((self.facts.lookup(relation, ends)[1] > 0).numpy())


@dataclass(frozen=True, eq=False)
class Graph:
    """A knowledge graph with its splits.

    >>> graph = graph_of([("ann", "knows", "bob"), ("bob", "knows", "ann")])
    >>> graph.relations, [graph.entity_text(e) for e in range(2)], graph.train.tolist()
    (('knows',), ['ann', 'bob'], [[0, 0, 1], [1, 0, 0]])
    """

    name: str
    entities: Sequence[Term]  # a tuple, or names in a file
    relations: tuple[str, ...]
    train: Int64[np.ndarray, "train 3"]
    valid: Int64[np.ndarray, "valid 3"]
    test: Int64[np.ndarray, "test 3"]
    notices: tuple[DataNotice, ...] = ()
    sources: Mapping[SplitName, TripleSource] = field(default_factory=dict)
    rules: Path | None = None  # the folder's own rules file
    folder: Path | None = None  # where the splits were read; a file where it is all there is
    rdf: RdfNames | None = None  # what names stand for, of a graph that was read from RDF
    ordered: SortedTrain | None = field(default=None, repr=False)  # `sorted_train` of some graph

    def __post_init__(self) -> None:
        if len(self.entities) ** 2 * len(self.relations) >= 2**63:
            raise DataError(
                f"{len(self.entities):,} entities and {len(self.relations):,} relations are more "
                "than a 64-bit number can tell apart as triples"
            )

    def __repr__(self) -> str:
        sizes = " / ".join(f"{len(self.split(name)):,}" for name in SPLITS)
        return (
            f"Graph({self.name!r}: {plural(len(self.entities), 'entity', 'entities')}, "
            f"{plural(len(self.relations), 'relation')}, {sizes} triples)"
        )

    def split(self, name: SplitName) -> Int64[np.ndarray, "triples 3"]:
        """The triples of a split."""
        found = {"train": self.train, "valid": self.valid, "test": self.test}.get(name)
        if found is None:
            raise DataError(f"no split {name!r}", hint=f"one of {', '.join(SPLITS)}")
        return found

    @property
    def sorted_train(self) -> SortedTrain | None:
        """The training triples sorted in a file; None where those there are others."""
        own = self.ordered
        is_own = own is not None and own.train is self.train and own.entities is self.entities
        return own if is_own else None

    @cached_property
    def entity_ids(self) -> Mapping[Term, int]:
        """Each entity's number."""
        if isinstance(self.entities, EntityNames) and self.entities.numbers is not None:
            return self.entities.numbers
        return {term: number for number, term in enumerate(self.entities)}

    @cached_property
    def relation_ids(self) -> Mapping[str, int]:
        """Each relation's number."""
        return {name: number for number, name in enumerate(self.relations)}

    @cached_property
    def by_relation(
        self,
    ) -> tuple[Int[np.ndarray, " train"], Int64[np.ndarray, " relations_and_one"]]:
        """The rows of train by relation, within each as they stand, and where each begins."""
        own = self.sorted_train
        if own is not None:
            return own.rows, own.facts.start.numpy()
        return by_relation(self.train[:, 1], len(self.relations))

    def known(self, side: Side, splits: Sequence[SplitName] = SPLITS) -> KnownTriples:
        """The entities that stand on one side of the triples of some splits, by the other side."""
        key = (side, tuple(splits))
        found = self._known.get(key)
        if found is None:
            own = self.sorted_train if "train" in splits else None
            among = [name for name in splits if own is None or name != "train"]
            rows = np.concatenate([self.train[:0], *(self.split(name) for name in among)])
            if own is not None:
                rows = rows[~own.holds(rows)]
            found = TripleSet.of(rows, entities=len(self.entities), side=side)
            if own is not None:
                found = KnownFacts(own.facts, found)
            self._known[key] = found
        return found

    @cached_property
    def _known(self) -> dict[tuple[Side, tuple[SplitName, ...]], KnownTriples]:
        return {}

    def holds(
        self, triples: Int64[np.ndarray, "triples 3"], splits: Sequence[SplitName] = SPLITS
    ) -> Bool[np.ndarray, " triples"]:
        """Which triples are among those of some splits."""
        known = self.known("tail", splits)
        return known.has(self.contexts(triples, "tail"), triples[:, 2])

    def contexts(
        self, triples: Int64[np.ndarray, "triples 3"], side: Side
    ) -> Int64[np.ndarray, " triples"]:
        """What is left of each triple without its entity on one side, as one number."""
        return contexts(triples, side, len(self.entities))

    def entity_text(self, number: int) -> str:
        """An entity as a program writes it."""
        return write_term(self.entities[number])

    def term(self, triple: Sequence[int] | Int64[np.ndarray, " 3"]) -> Struct:
        """A triple as a ground atom."""
        head, relation, tail = map(int, triple)
        functor = Functor(self.relations[relation], 2)
        return Struct(functor, (self.entities[head], self.entities[tail]), True)

    def text(self, triple: Sequence[int] | Int64[np.ndarray, " 3"]) -> str:
        """A triple as a program writes it."""
        return write_term(self.term(triple))

    def pattern(self, query: str | Term) -> TriplePattern:
        """The numbers in a query `relation(head, tail)`, None for a variable.

        >>> graph_of([("ann", "knows", "bob")]).pattern("knows(X, bob)")
        (None, 0, 1)
        """
        term = read_term(query, end_optional=True).term if isinstance(query, str) else deref(query)
        atom = binary_atom(term)
        if atom is None:
            raise DataError(f"{write_term(term)} is no triple", hint="relation(head, tail)")
        name, (head, tail) = atom
        relation = self.relation_ids.get(name)
        if relation is None:
            raise DataError(
                f"unknown relation {write_term(Atom(name))}",
                hint=did_you_mean(name, self.relations) or "relations: " + _some(self.relations),
            )
        return self.entity_number(head), relation, self.entity_number(tail)

    def entity_number(self, term: Term) -> int | None:
        """The number of an entity, None for a variable; an error for who is not known."""
        term = deref(term)
        if type(term) is Var:
            return None
        number = self.entity_ids.get(term)
        if number is None:
            text = write_term(term)
            hint = None
            if len(self.entities) <= SIMILAR:
                hint = did_you_mean(text, map(write_term, self.entities))
            raise DataError(f"unknown entity {text}", hint=hint)
        return number


def graph_of(
    train: Iterable[tuple[str | int, str, str | int]],
    valid: Iterable[tuple[str | int, str, str | int]] = (),
    test: Iterable[tuple[str | int, str, str | int]] = (),
    name: str = "graph",
) -> Graph:
    """A graph from triples (head, relation, tail) in Python."""
    entities: dict[Term, int] = {}
    relations: dict[str, int] = {}
    splits = [
        numbered([(constant(h), r, constant(t)) for h, r, t in rows], entities, relations)
        for rows in (train, valid, test)
    ]
    return Graph(name, tuple(entities), tuple(relations), splits[0], splits[1], splits[2])


def numbered(
    rows: Sequence[tuple[Term, str, Term]], entities: dict[Term, int], relations: dict[str, int]
) -> Int64[np.ndarray, "triples 3"]:
    """Rows of names as rows of numbers; names not met before get the next number."""
    heads, between = [head for head, _, _ in rows], [relation for _, relation, _ in rows]
    tails = [tail for _, _, tail in rows]
    for name in dict.fromkeys(chain.from_iterable(zip(heads, tails, strict=True))):
        entities.setdefault(name, len(entities))
    for relation in dict.fromkeys(between):
        relations.setdefault(relation, len(relations))
    found = np.empty((len(rows), 3), dtype=np.int64)
    found[:, 0] = np.fromiter(map(entities.__getitem__, heads), np.int64, len(rows))
    found[:, 1] = np.fromiter(map(relations.__getitem__, between), np.int64, len(rows))
    found[:, 2] = np.fromiter(map(entities.__getitem__, tails), np.int64, len(rows))
    return found


def binary_atom(term: Term) -> tuple[str, tuple[Term, Term]] | None:
    """Name and arguments of `r(x, y)`; a hyphen in a bare name is part of it.

    Prolog reads `co-occurs_with(a, b)` as a difference, which no triple is.

    >>> binary_atom(read_term("co-occurs_with(a, b).").term)
    ('co-occurs_with', (Atom('a'), Atom('b')))
    """
    names: list[str] = []
    while type(term) is Struct and term.functor is _MINUS:
        left, right = deref(term.args[0]), deref(term.args[1])
        if names or functor_of(right) is None or functor_of(right) is _MINUS:
            return None
        prefix = _hyphenated(left)
        if prefix is None:
            return None
        names.append(prefix)
        term = right
    if type(term) is not Struct or term.functor.arity != 2:
        return None
    return "-".join([*names, term.functor.name]), (deref(term.args[0]), deref(term.args[1]))


def _hyphenated(term: Term) -> str | None:
    parts: list[str] = []
    while type(term) is Struct and term.functor is _MINUS:
        last = deref(term.args[1])
        if type(last) is not Atom:
            return None
        parts.append(last.name)
        term = deref(term.args[0])
    return "-".join([term.name, *reversed(parts)]) if type(term) is Atom else None


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint with the name that comes nearest, or None.

    >>> did_you_mean("brohter", ["brother", "sister"])
    'did you mean brother?'
    """
    near = difflib.get_close_matches(name, list(known), 1, 0.6)
    return f"did you mean {near[0]}?" if near else None


def _some(names: Sequence[str], most: int = 12) -> str:
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def constant(name: str | int) -> Term:
    """A name in Python as a constant: text is an atom."""
    return name if isinstance(name, int) else Atom(name)


_MINUS = Functor("-", 2)
