"""The flat graph of unfolded queries as an arena: live steps by query, factors looked up at once.

    log w(e) = constant(e) + Σ over the factors f of e of  θ[f]

θ is one vector: log 1, the trainable labels, then the networks' outputs for the rows that the
selected queries ask for. Steps and rows of a query stand next to each other, so that selecting
queries is copying ranges: as long as each is, or all as long as the longest (`padded`), so that the
sizes do not depend on the selection and a GPU need not be asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from deepprooflog.graph.goalgraph import ragged_ranges
from deepprooflog.graph.unfold.flat import Flat
from deepprooflog.graph.unfold.way_table import LABEL, AskedRows, Ints
from deepprooflog.infer.particles.arena import Arena
from deepprooflog.logic.clause import Clause
from deepprooflog.score.segments import tensor_ranges
from deepprooflog.score.weigh import ModelWeights

# In place of a goal's number: True, which is no query's own, and nothing at all.
TRUE, NOWHERE = -2, -1


@dataclass(frozen=True)
class LiveRows:
    """What one network reads for each query, as numbers into the bank."""

    asked: AskedRows
    first: Tensor  # [Q + 1] rows of query q are first[q] … first[q + 1] − 1
    most: int  # rows of any one query
    bank: Tensor  # [R, arity]
    alone: bool  # no two rows are the same


@dataclass(frozen=True)
class FlatPart:
    """Live goals and steps of unfolded queries, sorted by query and steps from its root."""

    roots: Tensor  # [Q] a goal, TRUE, or NOWHERE for a query without a derivation
    first_node: Tensor  # [Q + 1] goals of query q, True not among them
    first_edge: Tensor  # [Q + 1]
    levels: Tensor  # [Q, D + 2] where the goals d steps from the root of query q begin
    most: tuple[int, int]  # goals and steps of any one query
    longest: int | None  # steps of the longest derivation; None where derivations have no end
    begin: Tensor  # [N] steps of each goal
    end: Tensor  # [N]
    distance: Tensor  # [N] fewest steps to True
    source: Tensor  # [E]
    target: Tensor  # [E] a goal or TRUE
    twin: Tensor  # [E] the first of the steps with the same source and target
    constant: Tensor  # [E]
    kind: Tensor  # [E, F] NONE, LABEL or a network's number
    row: Tensor  # [E, F]
    column: Tensor  # [E, F]
    networks: tuple[LiveRows, ...]
    clauses: tuple[Clause, ...]

    def to(self, device: torch.device) -> FlatPart:
        """The same part with its indices on a device."""
        if self.begin.device == device:
            return self
        moved = {name: getattr(self, name).to(device) for name in TENSORS}
        networks = tuple(
            replace(r, bank=r.bank.to(device), first=r.first.to(device)) for r in self.networks
        )
        return replace(self, networks=networks, **moved)

    def arena(
        self,
        queries: Tensor,
        bank: Sequence[Tensor] | Tensor,
        model: ModelWeights,
        *,
        padded: bool = False,
    ) -> Arena:
        """The arena of some queries, in this order; a query may come twice."""
        most = self.most if padded else (None, None)
        nodes = _ranges(self.first_node, queries, most[0])
        edges = _ranges(self.first_edge, queries, most[1])
        # In the arena goal 0 is True, and the goals of the first query begin at 1.
        shift = nodes.shift + 1
        source = self.source[edges.items] + shift[edges.of]
        target = self.target[edges.items]
        target = torch.where(target == TRUE, 0, target + shift[edges.of])
        twin = self.twin[edges.items] + edges.shift[edges.of]
        zero = self.begin.new_zeros(1)
        begin = torch.cat([zero, self.begin[nodes.items] + edges.shift[nodes.of]])
        end = torch.cat([zero, self.end[nodes.items] + edges.shift[nodes.of]])
        true = torch.arange(len(begin), device=begin.device) == 0
        roots = self.roots[queries]
        weights = self._weights(edges, queries, bank, model, padded)
        if padded:
            # What is there for its length only belongs to True, which has no steps, and weighs 0.
            source, target = source * edges.there, target * edges.there
            twin = torch.where(edges.there, twin, torch.arange(len(twin), device=twin.device))
            weights = torch.where(edges.there, weights, -torch.inf)
        return Arena(
            roots=torch.where(roots >= 0, roots + shift, torch.where(roots == TRUE, 0, -1)),
            true=true,
            begin=begin,
            end=end,
            source=source,
            target=target,
            weights=weights,
            distance=torch.cat([zero, self.distance[nodes.items]]),
            longest=self.longest,
            levels=self.levels[queries] + shift[:, None],
            twin=twin,
        )

    def _weights(
        self,
        edges: Ranges,
        queries: Tensor,
        bank: Sequence[Tensor] | Tensor,
        model: ModelWeights,
        padded: bool,
    ) -> Tensor:
        index = edges.items
        kind, row, column = self.kind[index], self.row[index], self.column[index]
        used = model.log_labels(self.clauses)
        parts = [used.new_zeros(1), used]
        entry = torch.where(kind == LABEL, column + 1, 0)
        count = 1 + len(used)
        for number, asked in enumerate(self.networks):
            rows = _ranges(asked.first, queries, asked.most if padded else None)
            distinct = asked.alone or padded
            log = model.ask(asked.asked, bank, asked.bank[rows.items], distinct=distinct)
            place = count + (row + rows.shift[edges.of][:, None]) * asked.asked.domain + column
            entry = torch.where((kind == number) & edges.there[:, None], place, entry)
            parts.append(log.reshape(-1))
            count += len(parts[-1])
        theta = torch.cat(parts)
        return theta[entry].sum(1) + self.constant[index]


TENSORS = (
    "roots", "first_node", "first_edge", "levels", "begin", "end", "distance", "source", "target",
    "twin", "constant", "kind", "row", "column",
)  # fmt: skip


class Ranges(NamedTuple):
    """The items of some queries one after another."""

    items: Tensor  # [items] the number of each
    of: Tensor  # [items] its query's place
    shift: Tensor  # [queries] what to add to a number for its place among the items
    there: Tensor  # [items] False for what only fills up


def _ranges(first: Tensor, queries: Tensor, most: int | None) -> Ranges:
    """The items `first[q]` … `first[q + 1]` − 1 of each query, filled up to `most` where given."""
    device = first.device
    begin, count = first[queries], first[queries + 1] - first[queries]
    place = torch.arange(len(queries), device=device)
    if most is not None:
        step = torch.arange(most, device=device)
        there = step < count[:, None]
        index = torch.where(there, begin[:, None] + step, 0)
        shift = place * most - begin
        return Ranges(index.reshape(-1), place.repeat_interleave(most), shift, there.reshape(-1))
    total = int(count.sum())
    shift = torch.cumsum(count, 0) - count - begin
    of, index = tensor_ranges(begin, count, total)
    return Ranges(index, of, shift, torch.ones_like(index, dtype=torch.bool))


def flat_part(flat: Flat, placed: Sequence[Sequence[int]]) -> FlatPart:
    """Sort a flat graph by query and leave out what cannot reach True."""
    queries = len(flat.roots)
    # A step that always weighs nothing leads nowhere.
    able = np.nonzero(flat.constant > -np.inf)[0]
    true = np.zeros(1, dtype=np.int64)
    distance = distances(len(flat.query), flat.source[able], flat.target[able], true)
    live = distance >= 0
    starts = np.unique(flat.roots[flat.roots > 0])
    depth = distances(len(flat.query), flat.target[able], flat.source[able], starts)
    keep = np.nonzero(live & (flat.query >= 0))[0]
    keep = keep[np.lexsort((depth[keep], flat.query[keep]))]
    number = np.full(len(flat.query), -1, dtype=np.int64)
    number[keep] = np.arange(len(keep))
    edges = able[live[flat.source[able]] & live[flat.target[able]]]
    edges = edges[np.argsort(number[flat.source[edges]], kind="stable")]
    source = number[flat.source[edges]]
    target = np.where(flat.target[edges] == 0, TRUE, number[flat.target[edges]])
    first = np.searchsorted(source, np.arange(len(keep) + 1))
    node_query = flat.query[keep]
    roots = np.where(flat.roots == 0, TRUE, number[flat.roots])
    roots[flat.roots < 0] = NOWHERE
    first_node = np.searchsorted(node_query, np.arange(queries + 1))
    first_edge = np.searchsorted(node_query[source], np.arange(queries + 1))
    # A goal that no root leads to is in no derivation; it must not make derivations look long.
    met = depth[keep] >= 0
    return FlatPart(
        roots=torch.as_tensor(roots),
        first_node=torch.as_tensor(first_node),
        first_edge=torch.as_tensor(first_edge),
        levels=torch.as_tensor(_levels(queries, node_query[met], depth[keep][met])),
        most=(_most(first_node), _most(first_edge)),
        longest=longest(len(keep), source, target),
        begin=torch.as_tensor(first[:-1]),
        end=torch.as_tensor(first[1:]),
        distance=torch.as_tensor(distance[keep]),
        source=torch.as_tensor(source),
        target=torch.as_tensor(target),
        twin=torch.as_tensor(_twins(source, target)),
        constant=torch.as_tensor(flat.constant[edges]),
        kind=torch.as_tensor(flat.kind[edges]),
        row=torch.as_tensor(flat.row[edges]),
        column=torch.as_tensor(flat.column[edges]),
        networks=tuple(_rows(a, queries, placed) for a in flat.asked),
        clauses=tuple(flat.clauses),
    )


def _twins(source: Ints, target: Ints) -> Ints:
    """The first of the steps that have the same source and target."""
    # One number for each pair: many times faster to sort than pairs. TRUE is negative.
    pair = source * (int(target.max(initial=0)) - TRUE + 1) + target - TRUE
    _, first, which = np.unique(pair, return_index=True, return_inverse=True)
    twins: Ints = first[which]
    return twins


def _rows(asked: AskedRows, queries: int, placed: Sequence[Sequence[int]]) -> LiveRows:
    width = max((len(p) for p in placed), default=0)
    table = np.zeros((queries, max(width, 1)), dtype=np.int64)
    for i, p in enumerate(placed):
        table[i, : len(p)] = p
    bank = table[asked.query[:, None], asked.slots]
    alone = len(np.unique(bank, axis=0)) == len(bank)
    first = np.searchsorted(asked.query, np.arange(queries + 1))
    return LiveRows(asked, torch.as_tensor(first), _most(first), torch.as_tensor(bank), alone)


def _most(first: Ints) -> int:
    return int(np.diff(first).max(initial=0))


def _levels(queries: int, query: Ints, depth: Ints) -> Ints:
    """Where the goals of each query and depth begin, among goals sorted by both."""
    width = int(depth.max(initial=0)) + 2
    wanted = np.arange(queries)[:, None] * width + np.arange(width)
    found: Ints = np.searchsorted(query * width + depth, wanted)
    return found


def longest(nodes: int, source: Ints, target: Ints) -> int | None:
    """The most steps from any goal to True (a negative target); None where steps form a cycle."""
    inner = np.nonzero(target >= 0)[0]
    first = np.searchsorted(source[inner], np.arange(nodes + 1))
    waiting = np.bincount(target[inner], minlength=nodes)
    front = np.nonzero(waiting == 0)[0]
    done, steps = 0, 0
    while len(front):
        done, steps = done + len(front), steps + 1
        _, at = ragged_ranges(first[front], first[front + 1] - first[front])
        reached, times = np.unique(target[inner[at]], return_counts=True)
        waiting[reached] -= times
        front = reached[waiting[reached] == 0]
    return steps if done == nodes else None


def distances(nodes: int, source: Ints, target: Ints, ends: Ints) -> Ints:
    """The fewest steps from each goal to one of `ends`; −1 where there is no way."""
    order = np.argsort(target, kind="stable")
    first = np.searchsorted(target[order], np.arange(nodes + 1))
    result = np.full(nodes, -1, dtype=np.int64)
    front = ends
    steps = 0
    while len(front):
        result[front] = steps
        steps += 1
        _, at = ragged_ranges(first[front], first[front + 1] - first[front])
        front = np.unique(source[order[at]])
        front = front[result[front] < 0]
    return result
