"""Unfolded queries as one flat graph whose edges are the ways of templates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepprooflog.graph.goalgraph import ragged_ranges
from deepprooflog.graph.unfold.template import TRUE_TARGET
from deepprooflog.graph.unfold.way_table import (
    LABEL,
    NONE,
    AskedRows,
    Floats,
    InstanceRows,
    Ints,
    Unfolded,
)
from deepprooflog.logic.clause import Clause


@dataclass(frozen=True)
class Flat:
    """Nodes and weighted edges of some queries; node 0 is True."""

    query: Ints  # [N] whose node it is; −1 for True
    roots: Ints  # [Q] −1 for a query without a derivation
    source: Ints  # [E]
    target: Ints  # [E]
    constant: Floats  # [E]
    kind: Ints  # [E, F] NONE, LABEL or a number into `asked`
    row: Ints  # [E, F] row of the network's outputs; a label's clause
    column: Ints  # [E, F]
    asked: list[AskedRows]
    clauses: list[Clause]  # trainable clauses, by number


def flatten(unfolded: Unfolded, queries: Ints | None = None) -> Flat:
    """The flat graph of unfolded queries, or of some of them."""
    chosen = np.zeros(len(unfolded.roots), dtype=bool)
    chosen[slice(None) if queries is None else queries] = True
    nodes = len(unfolded.query)
    extra: list[Ints] = []
    parts: list[tuple[Ints, ...]] = []
    constants = [np.zeros(0)]
    width = max((part.table.kind.shape[1] for part in unfolded.parts), default=1)
    for part in unfolded.parts:
        here = np.nonzero(chosen[part.query])[0]
        inner = nodes + np.arange(len(here) * (part.nodes - 1)).reshape(part.nodes - 1, len(here))
        nodes += inner.size
        extra.append(np.tile(part.query[here], max(part.nodes - 1, 0)))
        edges, constant = _edges(unfolded, part, here, inner, width)
        parts.append(edges)
        constants.append(constant)
    empty = [np.zeros(0, dtype=np.int64)] * 2 + [np.zeros((0, width), dtype=np.int64)] * 3
    source, target, kind, row, column = (
        np.concatenate(arrays) for arrays in zip(empty, *parts, strict=True)
    )
    more = np.concatenate([np.zeros(0, dtype=np.int64), *extra])
    return Flat(
        query=np.concatenate([unfolded.query, more]),
        roots=unfolded.roots,
        source=source,
        target=target,
        constant=np.concatenate(constants),
        kind=kind,
        row=row,
        column=column,
        asked=unfolded.asked,
        clauses=unfolded.clauses,
    )


def _edges(
    unfolded: Unfolded, part: InstanceRows, here: Ints, inner: Ints, width: int
) -> tuple[tuple[Ints, ...], Floats]:
    """The edges of some instances of a template: source, target, kind, row, column; constant."""
    table, ways, n = part.table, len(part.table.source), len(here)
    nodes = np.concatenate([part.number[here][None], inner])  # [nodes, n]
    source = nodes[table.source].T if ways else np.zeros((n, 0), dtype=np.int64)
    # Nodes, then True, then the exits' instances: one table of where a target may lie.
    ends = np.concatenate([nodes, np.zeros((1, n), dtype=np.int64), part.children[here].T])
    at = np.where(table.target >= 0, table.target, part.nodes + TRUE_TARGET - table.target)
    target = ends[at].T
    constant = np.tile(table.constant, (n, 1))
    # A step that leads nowhere stays, with weight 0: queries that differ only in where their steps
    # end keep one shape.
    nowhere = target < 0
    constant[nowhere] = -np.inf
    target = np.where(nowhere, 0, target)
    factors = table.kind.shape[1]
    kind = np.full((ways, width), NONE, dtype=np.int64)
    kind[:, :factors] = table.kind
    column = np.zeros((ways, width), dtype=np.int64)
    column[:, :factors] = table.column
    row = np.zeros((n, ways, width), dtype=np.int64)
    read = table.kind >= 0
    row[:, :, :factors][:, read] = part.rows[here][:, table.given[read]]
    labelled = kind == LABEL
    column[labelled] = unfolded.label[column[labelled]]
    kind[kind >= 0] = unfolded.network[kind[kind >= 0]]
    edges = (
        source.reshape(-1), target.reshape(-1), np.tile(kind, (n, 1)), row.reshape(-1, width),
        np.tile(column, (n, 1)),
    )  # fmt: skip
    return edges, constant.reshape(-1)


@dataclass(frozen=True)
class Links:
    """Which instances lead to which, by ways that all have one target; dead ends are left out."""

    source: Ints  # [L] instances
    target: Ints  # [L] instances; 0 is True
    part: Ints  # [L] whose template it is
    row: Ints  # [L] which of the part's instances
    exit: Ints  # [L] which of the template's targets
    ways: Ints  # [L] how many ways


def find_links(unfolded: Unfolded) -> Links:
    """The links of unfolded queries."""
    columns: list[tuple[Ints, ...]] = [(np.zeros(0, dtype=np.int64),) * 6]
    for number, part in enumerate(unfolded.parts):
        bunches = part.table.bunches
        n, k = len(part.number), len(bunches.targets)
        ends = np.concatenate([np.zeros((n, 1), dtype=np.int64), part.children], axis=1)
        target = ends[:, np.maximum(TRUE_TARGET - bunches.targets, 0)]
        # A way back into the template is a way from the instance to itself.
        target = np.where(bunches.targets >= 0, part.number[:, None], target)
        owner = (np.repeat(part.number, k), target.reshape(-1), np.full(n * k, number))
        place = (np.repeat(np.arange(n), k), np.tile(np.arange(k), n), np.tile(bunches.counts, n))
        columns.append((*owner, *place))
    source, target, parts, row, exit_, ways = (
        np.concatenate(arrays) for arrays in zip(*columns, strict=True)
    )
    keep = _ways_on(len(unfolded.query), source, target)
    return Links(source[keep], target[keep], parts[keep], row[keep], exit_[keep], ways[keep])


def _ways_on(nodes: int, source: Ints, target: Ints) -> NDArray[np.bool_]:
    """The links that do not lead nowhere (−1), nor to nodes from which nothing leads on."""
    keep = target >= 0
    left = np.bincount(source[keep], minlength=nodes)
    order = np.argsort(target, kind="stable")
    begin = np.searchsorted(target[order], np.arange(nodes + 1))
    dead = np.nonzero(left == 0)[0]
    dead = dead[dead != 0]
    while len(dead):
        # The links to dead nodes go, and with them perhaps the last way on of other nodes.
        _, at = ragged_ranges(begin[dead], begin[dead + 1] - begin[dead])
        into = order[at]
        into = into[keep[into]]
        keep[into] = False
        np.subtract.at(left, source[into], 1)
        touched = np.unique(source[into])
        dead = touched[left[touched] == 0]
    return keep
