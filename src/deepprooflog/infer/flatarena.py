"""The flat graph of unfolded queries as an arena: live steps by query, factors looked up at once.

    log w(e) = constant(e) + Σ over the factors f of e of  θ[f]

θ is one vector: log 1, the trainable labels, then the networks' outputs for the rows that the
selected queries ask for. Steps and rows of a query stand next to each other, so that selecting
queries is copying ranges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from deepprooflog.graph.flat import LABEL, Asked, Flat, Ints
from deepprooflog.infer.particles import Arena
from deepprooflog.logic.clause import Clause
from deepprooflog.score.network import Network
from deepprooflog.score.parameters import Labels
from deepprooflog.score.weigh import network_of, stack

# In place of a goal's number: True, which is no query's own, and nothing at all.
TRUE, NOWHERE = -2, -1


@dataclass(frozen=True)
class Rows:
    """What one network reads for each query, as numbers into the bank."""

    asked: Asked
    first: Ints  # [Q + 1] rows of query q are first[q] … first[q + 1] − 1
    bank: Tensor  # [R, arity]
    alone: bool  # no two rows are the same


@dataclass(frozen=True)
class FlatPart:
    """Live goals and steps of unfolded queries, sorted by query."""

    roots: Ints  # [Q] a goal, TRUE, or NOWHERE for a query without a derivation
    first_node: Ints  # [Q + 1] goals of query q, True not among them
    first_edge: Ints  # [Q + 1]
    begin: Tensor  # [N] steps of each goal
    end: Tensor  # [N]
    distance: Tensor  # [N] fewest steps to True
    source: Tensor  # [E]
    target: Tensor  # [E] a goal or TRUE
    constant: Tensor  # [E]
    kind: Tensor  # [E, F] NONE, LABEL or a network's number
    row: Tensor  # [E, F]
    column: Tensor  # [E, F]
    networks: tuple[Rows, ...]
    clauses: tuple[Clause, ...]

    def to(self, device: torch.device) -> FlatPart:
        """The same part with its indices on a device."""
        if self.begin.device == device:
            return self
        moved = {name: getattr(self, name).to(device) for name in TENSORS}
        networks = tuple(replace(r, bank=r.bank.to(device)) for r in self.networks)
        return replace(self, networks=networks, **moved)

    def arena(
        self,
        queries: Ints,
        bank: Sequence[Tensor] | Tensor,
        networks: Mapping[str, Network],
        labels: Labels,
    ) -> Arena:
        """The arena of some queries, in this order; a query may come twice."""
        device = self.begin.device
        edges, edge_of, edge_shift = _ranges(self.first_edge, queries, device)
        nodes, node_of, node_shift = _ranges(self.first_node, queries, device)
        # In the arena goal 0 is True, and the goals of the first query begin at 1.
        shift = node_shift + 1
        source = self.source[edges] + shift[edge_of]
        target = self.target[edges]
        target = torch.where(target == TRUE, 0, target + shift[edge_of])
        zero = self.begin.new_zeros(1)
        begin = torch.cat([zero, self.begin[nodes] + edge_shift[node_of]])
        end = torch.cat([zero, self.end[nodes] + edge_shift[node_of]])
        true = torch.zeros(len(begin), dtype=torch.bool, device=device)
        true[0] = True
        roots = torch.as_tensor(self.roots[queries], device=device)
        return Arena(
            roots=torch.where(roots >= 0, roots + shift, torch.where(roots == TRUE, 0, -1)),
            true=true,
            begin=begin,
            end=end,
            source=source,
            target=target,
            weights=self._weights(edges, edge_of, queries, bank, networks, labels),
            distance=torch.cat([zero, self.distance[nodes]]),
        )

    def _weights(
        self,
        edges: Tensor,
        edge_of: Tensor,
        queries: Ints,
        bank: Sequence[Tensor] | Tensor,
        networks: Mapping[str, Network],
        labels: Labels,
    ) -> Tensor:
        device = self.begin.device
        kind, row, column = self.kind[edges], self.row[edges], self.column[edges]
        used = labels.log_values()
        used = used[labels.numbers(self.clauses)] if self.clauses else used[:0]
        parts = [used.new_zeros(1), used]
        entry = torch.where(kind == LABEL, column + 1, 0)
        count = 1 + len(used)
        for number, asked in enumerate(self.networks):
            rows, _, shift = _ranges(asked.first, queries, device)
            log = _ask(asked, asked.bank[rows], bank, networks, device)
            place = count + (row + shift[edge_of][:, None]) * asked.asked.domain + column
            entry = torch.where(kind == number, place, entry)
            parts.append(log.reshape(-1))
            count += len(parts[-1])
        theta = torch.cat(parts)
        return theta[entry].sum(1) + self.constant[edges]


TENSORS = ("begin", "end", "distance", "source", "target", "constant", "kind", "row", "column")


def _ranges(first: Ints, queries: Ints, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """The items of some queries one after another.

    For each item its number and its query's place; for each query what to add to its numbers to
    get their places among the items.
    """
    begin, count = first[queries], first[queries + 1] - first[queries]
    total = int(count.sum())
    shift = np.cumsum(count) - count - begin
    shifts = torch.as_tensor(shift, device=device)
    counts = torch.as_tensor(count, device=device)
    place = torch.arange(len(queries), device=device)
    place = place.repeat_interleave(counts, output_size=total)
    return torch.arange(total, device=device) - shifts[place], place, shifts


def _ask(
    rows: Rows,
    numbers: Tensor,
    bank: Sequence[Tensor] | Tensor,
    networks: Mapping[str, Network],
    device: torch.device,
) -> Tensor:
    asked = rows.asked
    inverse: Tensor | None = None
    if not rows.alone:
        numbers, inverse = torch.unique(numbers, dim=0, return_inverse=True)
    net = network_of(networks, asked.network, asked.clause)
    if not len(numbers):
        return torch.zeros((0, asked.domain), dtype=torch.float64, device=device)
    inputs = [
        stack(bank, numbers[:, j], asked.network, asked.clause, device)
        for j in range(numbers.shape[1])
    ]
    log = net.log_probabilities(inputs, asked.domain, asked.bernoulli, asked.network, asked.clause)
    return log if inverse is None else log[inverse]


def flat_part(flat: Flat, placed: Sequence[Sequence[int]]) -> FlatPart:
    """Sort a flat graph by query and leave out what cannot reach True."""
    queries = len(flat.roots)
    # A step that always weighs nothing leads nowhere.
    able = np.nonzero(flat.constant > -np.inf)[0]
    true = np.zeros(1, dtype=np.int64)
    distance = distances(len(flat.query), flat.source[able], flat.target[able], true)
    live = distance >= 0
    keep = np.nonzero(live & (flat.query >= 0))[0]
    keep = keep[np.argsort(flat.query[keep], kind="stable")]
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
    return FlatPart(
        roots=roots,
        first_node=np.searchsorted(node_query, np.arange(queries + 1)),
        first_edge=np.searchsorted(node_query[source], np.arange(queries + 1)),
        begin=torch.as_tensor(first[:-1]),
        end=torch.as_tensor(first[1:]),
        distance=torch.as_tensor(distance[keep]),
        source=torch.as_tensor(source),
        target=torch.as_tensor(target),
        constant=torch.as_tensor(flat.constant[edges]),
        kind=torch.as_tensor(flat.kind[edges]),
        row=torch.as_tensor(flat.row[edges]),
        column=torch.as_tensor(flat.column[edges]),
        networks=tuple(_rows(a, queries, placed) for a in flat.asked),
        clauses=tuple(flat.clauses),
    )


def _rows(asked: Asked, queries: int, placed: Sequence[Sequence[int]]) -> Rows:
    width = max((len(p) for p in placed), default=0)
    table = np.zeros((queries, max(width, 1)), dtype=np.int64)
    for i, p in enumerate(placed):
        table[i, : len(p)] = p
    bank = table[asked.query[:, None], asked.slots]
    alone = len(np.unique(bank, axis=0)) == len(bank)
    first = np.searchsorted(asked.query, np.arange(queries + 1))
    return Rows(asked, first, torch.as_tensor(bank), alone)


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
        count = first[front + 1] - first[front]
        at = np.arange(count.sum()) + np.repeat(first[front] - (np.cumsum(count) - count), count)
        front = np.unique(source[order[at]])
        front = front[result[front] < 0]
    return result
