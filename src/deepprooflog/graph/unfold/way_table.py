"""The ways of templates as arrays, and unfolded queries as rows of them.

    log w(way) = constant + Σ over factors of  θ[factor]

A factor names an entry of a network's output (which network, which row, which value) or a trainable
label. Rows are the distinct inputs that a query gives a network, numbered query by query. A
template's table is made once; an unfolded query only says which rows its instances read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deepprooflog.graph.unfold.pattern import WholeTensors
from deepprooflog.graph.unfold.template import Template, TemplateStore
from deepprooflog.graph.unfold.unfold import Instances
from deepprooflog.logic.choice import Choice, WeightSource
from deepprooflog.logic.clause import Bernoulli, Clause, Constant, Neural
from deepprooflog.syntax.terms import Slot

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# Kinds of factor that are no network: none at all, and an entry of the trainable labels.
NONE, LABEL = -1, -2
# A row is told by one number below this, which is many times faster to sort than several.
MOST_KEY = 1 << 62


class TermReading(WholeTensors):
    """A network is given a term: the goal graph weighs it, or says that it should be a tensor."""


@dataclass(frozen=True)
class Bunches:
    """The ways of a template that may be taken, by target."""

    targets: Ints  # [K]
    ways: Ints  # [W] sorted by target
    bunch: Ints  # [W] whose target it is
    place: Ints  # [W] number among the ways of its target
    counts: Ints  # [K]


@dataclass(frozen=True)
class WayTable:
    """A template's ways; networks and labels are numbered as in the store."""

    source: Ints  # [W] a node
    target: Ints  # [W] a node, −1 for True, −2 − e for exit e
    constant: Floats  # [W]
    kind: Ints  # [W, F] NONE, LABEL or a network
    given: Ints  # [W, F] which of the inputs a network reads; −1 for none
    column: Ints  # [W, F] which value of a network, or which label
    inputs: tuple[tuple[int, tuple[int, ...]], ...]  # networks and slots that they read, each once
    labels: tuple[int, ...]  # in order of first occurrence

    @cached_property
    def bunches(self) -> Bunches:
        """The ways of weight above 0 by target, True and the first exit first."""
        able = np.nonzero(self.constant > -np.inf)[0]
        turned, bunch, counts = np.unique(
            -self.target[able], return_inverse=True, return_counts=True
        )
        order = np.argsort(bunch, kind="stable")
        bunch = bunch[order]
        place = np.arange(len(able)) - (np.cumsum(counts) - counts)[bunch]
        return Bunches(-turned, able[order], bunch, place, counts)


@dataclass(frozen=True)
class AskedRows:
    """The inputs that all queries give one network: row r is `slots[r]` of query `query[r]`."""

    network: str
    domain: int
    bernoulli: bool
    clause: Clause
    query: Ints  # [R] ascending
    slots: Ints  # [R, arity] the query's own slots


@dataclass(frozen=True)
class InstanceRows:
    """All instances of one template."""

    table: WayTable
    nodes: int
    number: Ints  # [n]
    query: Ints  # [n]
    children: Ints  # [n, exits] instances
    rows: Ints  # [n, inputs] rows of the networks that the table's inputs name


@dataclass(frozen=True)
class Unfolded:
    """Unfolded queries: instances by template; instance 0 is True."""

    parts: list[InstanceRows]
    query: Ints  # [N] whose instance it is; −1 for True
    depth: Ints  # [N]
    roots: Ints  # [Q] −1 for a query without a derivation
    asked: list[AskedRows]
    clauses: list[Clause]  # trainable clauses, by number
    network: Ints  # a network's number in the store → in `asked`
    label: Ints  # a label's number in the store → in `clauses`

    def starts(self) -> list[Ints]:
        """For each network, where each query's rows begin (and, last, where they end)."""
        bounds = np.arange(len(self.roots) + 1)
        return [np.searchsorted(a.query, bounds) for a in self.asked]


def way_table(template: Template, store: TemplateStore) -> WayTable:
    """The table of a template's ways."""
    if template.table is None:
        template.table = _made(template, store)
    return template.table


def _made(template: Template, store: TemplateStore) -> WayTable:
    ways = template.ways or []
    most = max((_factors(w.choices) for w in ways), default=0) or 1
    shape = (len(ways), most)
    kind, given = np.full(shape, NONE, dtype=np.int64), np.full(shape, -1, dtype=np.int64)
    column = np.zeros(shape, dtype=np.int64)
    constant = np.zeros(len(ways))
    inputs: dict[tuple[int, tuple[int, ...]], int] = {}
    labels: dict[int, None] = {}
    for w, way in enumerate(ways):
        f = 0
        for choice in way.choices:
            assert choice.clause is not None
            if choice.weigher is WeightSource.LABEL:
                assert isinstance(choice.clause.label, Constant)
                constant[w] += choice.clause.label.log
                continue
            if choice.weigher is WeightSource.TRAINABLE:
                number = _label(store, choice.clause)
                labels[number] = None
                kind[w, f], column[w, f] = LABEL, number
            else:
                read = (_network(store, choice), _slots(choice))
                kind[w, f], column[w, f] = read[0], choice.number
                given[w, f] = inputs.setdefault(read, len(inputs))
            f += 1
    return WayTable(
        np.asarray([w.source for w in ways], dtype=np.int64),
        np.asarray([w.target for w in ways], dtype=np.int64),
        constant, kind, given, column, tuple(inputs), tuple(labels),
    )  # fmt: skip


def _factors(choices: tuple[Choice, ...]) -> int:
    return sum(1 for c in choices if c.weigher is not WeightSource.LABEL)


def _slots(choice: Choice) -> tuple[int, ...]:
    numbers = []
    for term in choice.inputs:
        if type(term) is not Slot:
            raise TermReading
        numbers.append(term.number)
    return tuple(numbers)


def _network(store: TemplateStore, choice: Choice) -> int:
    clause = choice.clause
    assert clause is not None
    label = clause.label
    assert isinstance(label, Neural | Bernoulli)
    size = len(label.domain) if isinstance(label, Neural) else 1
    key = (label.network, size, isinstance(label, Bernoulli), len(choice.inputs))
    number = store.networks.get(key)
    if number is None:
        number = store.networks[key] = len(store.network_clauses)
        store.network_clauses.append(clause)
    return number


def _label(store: TemplateStore, clause: Clause) -> int:
    number = store.labels.get(id(clause))
    if number is None:
        number = store.labels[id(clause)] = len(store.label_clauses)
        store.label_clauses.append(clause)
    return number


def unfolded_rows(store: TemplateStore, instances: Instances) -> Unfolded:
    """The instances of some queries as arrays, with the rows that networks are to read."""
    query = np.full(instances.count, -1, dtype=np.int64)
    tables = [way_table(store.all[number], store) for number in instances.rows]
    used = list(dict.fromkeys(network for table in tables for network, _ in table.inputs))
    labels = list(dict.fromkeys(label for table in tables for label in table.labels))
    parts: list[InstanceRows] = []
    reads: dict[int, list[tuple[Ints, Ints, Ints]]] = {network: [] for network in used}
    for (number, rows), table in zip(instances.rows.items(), tables, strict=True):
        numbers, queries, own, children = zip(*rows, strict=True)
        n = len(rows)
        part = InstanceRows(
            table,
            store.all[number].nodes,
            np.asarray(numbers, dtype=np.int64),
            np.asarray(queries, dtype=np.int64),
            np.asarray(children, dtype=np.int64).reshape(n, -1),
            np.zeros((n, len(table.inputs)), dtype=np.int64),
        )
        slots = np.asarray(own, dtype=np.int64).reshape(n, -1)
        query[part.number] = part.query
        for i, (network, read) in enumerate(table.inputs):
            # A view of the column of rows, filled when all inputs of the network are known.
            reads[network].append((part.query, slots[:, read], part.rows[:, i]))
        parts.append(part)
    keys = list(store.networks)
    asked = []
    for network in used:
        asking, slots = _number_rows(reads[network])
        name, domain, bernoulli, _ = keys[network]
        clause = store.network_clauses[network]
        asked.append(AskedRows(name, domain, bernoulli, clause, asking, slots))
    return Unfolded(
        parts, query, np.asarray(instances.depth, dtype=np.int64),
        np.asarray(instances.roots, dtype=np.int64), asked,
        [store.label_clauses[number] for number in labels],
        _places(used, len(store.network_clauses)), _places(labels, len(store.label_clauses)),
    )  # fmt: skip


def _number_rows(reads: list[tuple[Ints, Ints, Ints]]) -> tuple[Ints, Ints]:
    """Number the distinct inputs of a network by query and slots, and tell the readers."""
    query = np.concatenate([q for q, _, _ in reads])
    slots = np.concatenate([s for _, s, _ in reads])
    key = query
    wide = int(slots.max(initial=0)) + 1
    for i in range(slots.shape[1]):
        if int(key.max(initial=0)) >= MOST_KEY // wide:
            key = np.unique(key, return_inverse=True)[1]
        key = key * wide + slots[:, i]
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    end = 0
    for _, _, rows in reads:
        rows[:] = inverse[end : end + len(rows)]
        end += len(rows)
    return query[first], slots[first]


def _places(numbers: list[int], count: int) -> Ints:
    places = np.zeros(count, dtype=np.int64)
    places[numbers] = np.arange(len(numbers))
    return places
