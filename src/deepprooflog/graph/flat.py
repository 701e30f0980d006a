"""Instances of templates as one flat graph whose edges are products of atomic weights.

    w(edge) = constant + Σ over factors of  θ[factor]

A factor names an entry of a network's output (which network, which row, which value) or a trainable
label. Rows are the distinct inputs a query gives a network, numbered query by query.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from deepprooflog.graph.macro import TRUE_TARGET, Template, Templates
from deepprooflog.graph.pattern import WholeTensors
from deepprooflog.graph.unfold import Instances
from deepprooflog.logic.choice import Choice, Weigher
from deepprooflog.logic.clause import Bernoulli, Clause, Constant, Neural
from deepprooflog.syntax.terms import Slot

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# Kinds of factor that are no network: none at all, and an entry of the trainable labels.
NONE, LABEL = -1, -2


@dataclass(frozen=True)
class Asked:
    """The inputs that all queries give one network: row r is `slots[r]` of query `query[r]`."""

    network: str
    domain: int
    bernoulli: bool
    clause: Clause
    query: Ints  # [R] ascending
    slots: Ints  # [R, arity] the query's own slots


@dataclass(frozen=True)
class Flat:
    """Nodes and weighted edges of some queries; node 0 is True."""

    query: Ints  # [N] whose node it is; −1 for True
    depth: Ints  # [N]
    simple: bool  # every template has one node, so that depth counts edges
    roots: Ints  # [Q] −1 for a query without a derivation
    source: Ints  # [E]
    target: Ints  # [E]
    constant: Floats  # [E]
    kind: Ints  # [E, F] NONE, LABEL or a number into `asked`
    row: Ints  # [E, F] row of the network's outputs; a label's clause
    column: Ints  # [E, F]
    asked: list[Asked]
    clauses: list[Clause]  # trainable clauses, by number


Part = tuple[Ints, Ints, Floats, Ints, Ints, Ints, Ints]
"""Edges of one template: source, target, constant, kind, slots, column, query."""


class _Builder:
    """Numbers for the nodes inside templates, the networks and the trainable clauses met."""

    def __init__(self, instances: Instances) -> None:
        self.extra = instances.count
        self.networks: dict[tuple[str, int, bool, int], int] = {}
        self.clause_of: list[Clause] = []
        self.labels: dict[int, int] = {}
        self.clauses: list[Clause] = []

    def network(self, choice: Choice) -> int:
        clause = choice.clause
        assert clause is not None
        label = clause.label
        assert isinstance(label, Neural | Bernoulli)
        size = len(label.domain) if isinstance(label, Neural) else 1
        key = (label.network, size, isinstance(label, Bernoulli), len(choice.inputs))
        if key not in self.networks:
            self.networks[key] = len(self.networks)
            self.clause_of.append(clause)
        return self.networks[key]


class ReadTerm(WholeTensors):
    """A network is given a term: the goal graph weighs it, or says that it should be a tensor."""


def flatten(templates: Templates, instances: Instances) -> Flat:
    """The flat graph of unfolded queries."""
    builder = _Builder(instances)
    query = np.full(instances.count, -1, dtype=np.int64)
    depth = np.asarray(instances.depth, dtype=np.int64)
    parts: list[Part] = []
    extra_query: list[Ints] = []
    width = 1
    arity = 1
    simple = True
    for number, rows in instances.rows.items():
        template = templates.all[number]
        numbers = np.asarray([r[0] for r in rows], dtype=np.int64)
        queries = np.asarray([r[1] for r in rows], dtype=np.int64)
        slots = np.asarray([r[2] for r in rows], dtype=np.int64).reshape(len(rows), -1)
        children = np.asarray([r[3] for r in rows], dtype=np.int64).reshape(len(rows), -1)
        query[numbers] = queries
        nodes = [numbers]
        for _ in range(template.nodes - 1):
            simple = False
            nodes.append(np.arange(builder.extra, builder.extra + len(rows)))
            builder.extra += len(rows)
            extra_query.append(queries)
        part = _template_edges(template, builder, nodes, queries, slots, children)
        if part is not None:
            parts.append(part)
            width = max(width, part[3].shape[1])
            arity = max(arity, part[4].shape[2])
    return _assemble(instances, builder, parts, query, depth, extra_query, simple, width, arity)


def row_starts(flat: Flat) -> list[Ints]:
    """For each network, where each query's rows begin (and, last, where they end)."""
    bounds = np.arange(len(flat.roots) + 1)
    return [np.searchsorted(a.query, bounds) for a in flat.asked]


def without_dead_ends(flat: Flat) -> Flat:
    """The flat graph without edges of weight 0 and edges to nodes that have no way on."""
    keep = _ways_on(flat)
    if keep.all():
        return flat
    return replace(
        flat, source=flat.source[keep], target=flat.target[keep], constant=flat.constant[keep],
        kind=flat.kind[keep], row=flat.row[keep], column=flat.column[keep],
    )  # fmt: skip


def _ways_on(flat: Flat) -> NDArray[np.bool_]:
    keep = flat.constant > -np.inf
    left = np.bincount(flat.source[keep], minlength=len(flat.query))
    order = np.argsort(flat.target, kind="stable")
    begin = np.searchsorted(flat.target[order], np.arange(len(flat.query) + 1))
    dead = np.nonzero(left == 0)[0]
    dead = dead[dead != 0]
    while len(dead):
        # The edges into dead nodes go, and with them perhaps the last way on of other nodes.
        counts = begin[dead + 1] - begin[dead]
        offset = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        into = order[np.repeat(begin[dead], counts) + offset]
        into = into[keep[into]]
        keep[into] = False
        np.subtract.at(left, flat.source[into], 1)
        touched = np.unique(flat.source[into])
        dead = touched[left[touched] == 0]
    return keep


def _template_edges(
    template: Template,
    builder: _Builder,
    nodes: list[Ints],
    queries: Ints,
    slots: Ints,
    children: Ints,
) -> Part | None:
    """The edges of all instances of a template."""
    n = len(queries)
    sources, targets, constants, kinds, factor_slots, columns = [], [], [], [], [], []
    ways = template.ways or []
    most = max((_factors(w.choices) for w in ways), default=0) or 1
    arity = max((len(c.inputs) for w in ways for c in w.choices), default=0) or 1
    for way in ways:
        sources.append(nodes[way.source])
        if way.target == TRUE_TARGET:
            targets.append(np.zeros(n, dtype=np.int64))
        elif way.target < TRUE_TARGET:
            targets.append(children[:, -2 - way.target])
        else:
            targets.append(nodes[way.target])
        constant = 0.0
        kind = np.full((n, most), NONE, dtype=np.int64)
        inputs = np.full((n, most, arity), -1, dtype=np.int64)
        column = np.zeros((n, most), dtype=np.int64)
        f = 0
        for choice in way.choices:
            if choice.weigher is Weigher.LABEL:
                assert choice.clause is not None
                label = choice.clause.label
                assert isinstance(label, Constant)
                constant += label.log
                continue
            if choice.weigher is Weigher.TRAINABLE:
                assert choice.clause is not None
                kind[:, f] = LABEL
                column[:, f] = _label(builder, choice.clause)
            else:
                kind[:, f] = builder.network(choice)
                column[:, f] = choice.number
                for j, term in enumerate(choice.inputs):
                    if type(term) is not Slot:
                        raise ReadTerm
                    inputs[:, f, j] = slots[:, term.number]
            f += 1
        constants.append(np.full(n, constant))
        kinds.append(kind)
        factor_slots.append(inputs)
        columns.append(column)
    if not ways:
        return None
    result = (
        np.concatenate(sources), np.concatenate(targets), np.concatenate(constants),
        np.concatenate(kinds), np.concatenate(factor_slots), np.concatenate(columns),
        np.tile(queries, len(ways)),
    )  # fmt: skip
    # A step that leads nowhere stays, with weight 0: queries that differ only in where their steps
    # end keep one shape.
    nowhere = result[1] < 0
    result[1][nowhere] = 0
    result[2][nowhere] = -np.inf
    return result


def _factors(choices: tuple[Choice, ...]) -> int:
    return sum(1 for c in choices if c.weigher is not Weigher.LABEL)


def _label(builder: _Builder, clause: Clause) -> int:
    number = builder.labels.get(id(clause))
    if number is None:
        number = builder.labels[id(clause)] = len(builder.clauses)
        builder.clauses.append(clause)
    return number


def _assemble(
    instances: Instances,
    builder: _Builder,
    parts: list[Part],
    query: Ints,
    depth: Ints,
    extra_query: list[Ints],
    simple: bool,
    width: int,
    arity: int,
) -> Flat:
    def joined(arrays: list[Ints]) -> Ints:
        return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)

    def padded(a: Ints, shape: tuple[int, ...], value: int) -> Ints:
        grow = [(0, 0)] + [(0, s - have) for s, have in zip(shape, a.shape[1:], strict=True)]
        return np.pad(a, grow, constant_values=value)

    empty = np.zeros((0, width), dtype=np.int64)
    kind = np.concatenate([padded(p[3], (width,), NONE) for p in parts]) if parts else empty
    column = np.concatenate([padded(p[5], (width,), 0) for p in parts]) if parts else empty
    slots = (
        np.concatenate([padded(p[4], (width, arity), -1) for p in parts])
        if parts
        else np.zeros((0, width, arity), dtype=np.int64)
    )
    edge_query = joined([p[6] for p in parts])
    row = np.zeros_like(kind)
    asked: list[Asked] = []
    for (network, domain, bernoulli, inputs), number in builder.networks.items():
        e, f = np.nonzero(kind == number)
        keys = np.concatenate([edge_query[e][:, None], slots[e, f, :inputs]], axis=1)
        distinct, inverse = np.unique(keys, axis=0, return_inverse=True)
        row[e, f] = inverse.reshape(-1)
        asked.append(
            Asked(network, domain, bernoulli, builder.clause_of[number], distinct[:, 0],
                  distinct[:, 1:])
        )  # fmt: skip
    return Flat(
        query=np.concatenate([query, *extra_query]),
        depth=np.concatenate([depth, *(np.zeros(len(q), dtype=np.int64) for q in extra_query)]),
        simple=simple,
        roots=np.asarray(instances.roots, dtype=np.int64),
        source=joined([p[0] for p in parts]),
        target=joined([p[1] for p in parts]),
        constant=np.concatenate([p[2] for p in parts]) if parts else np.zeros(0),
        kind=kind,
        row=row,
        column=column,
        asked=asked,
        clauses=builder.clauses,
    )
