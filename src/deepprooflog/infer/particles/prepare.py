"""Batches of queries for particles: their goals unfolded once, weighed anew at each call.

    unfolded    instances of templates as one flat graph; runs of certain steps are one step
    graphs      goal graphs, where the scorer reads whole goals or a query cannot be unfolded
    wandering   queries whose goals have no end: found out step by step as particles go

Structure only is kept: which steps are live is a boolean question, no weight enters it. The tensors
stay in a bank that can be replaced, and a selection of the queries is evaluated by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from deepprooflog.graph.bundles import Bundle, bundle, place_tensors, renumber
from deepprooflog.graph.explore import RECURSION, explore
from deepprooflog.graph.unfold.flat import flatten
from deepprooflog.graph.unfold.way_table import Ints
from deepprooflog.infer.batches.bank import (
    Select,
    StackedBank,
    bank_of,
    moved,
    narrowed,
    replaced,
    selection,
)
from deepprooflog.infer.batches.unfolded_part import unfold_queries
from deepprooflog.infer.particles.arena import Arena, ArenaSource
from deepprooflog.infer.particles.frontier import Frontier
from deepprooflog.infer.particles.unfolded_arena import FlatPart, distances, flat_part
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.logic.resolve import start
from deepprooflog.score.edges import EdgeTable, edge_table
from deepprooflog.score.weigh import ModelWeights, WeighRequest, edge_weights

Form = Literal["auto", "graph", "steps"]


@dataclass(frozen=True)
class BundlePart:
    """A goal graph that some queries share, its live steps, and who weighs them."""

    bundle: Bundle
    table: EdgeTable
    live: Ints  # numbers of the live steps, ascending
    distance: Ints  # [nodes] fewest steps to True; −1 for none


@dataclass(frozen=True)
class ParticleBatch:
    """A batch of queries for particles; `infer.particles.smc` and rollouts run on it."""

    program: Program
    queries: int
    flat: FlatPart | None
    bundles: tuple[BundlePart, ...]
    goals: Mapping[int, Goal]  # the wandering queries, over the bank's slots
    interner: Interner
    bank: StackedBank

    def __len__(self) -> int:
        return self.queries

    def with_bank(self, bank: Sequence[Tensor] | Tensor) -> ParticleBatch:
        """The same queries over other tensors, without unfolding again."""
        return replace(self, bank=replaced(self.bank, bank))

    def to(self, device: torch.device | str) -> ParticleBatch:
        """The same batch with its tensors and indices on a device."""
        target = torch.device(device)
        flat = None if self.flat is None else self.flat.to(target)
        return replace(self, bank=moved(self.bank, target), flat=flat)


def prepare(
    program: Program,
    queries: Sequence[Query],
    *,
    unfolding: bool,
    budget: Budget | None = None,
    form: Form = "auto",
) -> ParticleBatch:
    """Unfold or explore a batch of queries; `form="steps"` leaves all of it to the particles.

    `form="graph"` explores goal graphs without collapsing runs of certain steps.
    """
    budget = (budget or Budget()).start()
    placed = place_tensors(queries)
    interner = Interner()
    rest = list(range(len(queries)))
    flat: FlatPart | None = None
    if form == "auto" and unfolding and queries and not _grows(program, queries[0]):
        unfolded = unfold_queries(program, queries, budget)
        if unfolded is not None:
            flat, rest = flat_part(flatten(unfolded), placed.rows), []
    bundles: list[BundlePart] = []
    wandering = rest
    if form != "steps" and rest:
        wandering = []
        for item in bundle(program, queries, budget, placed=placed).bundles:
            if item.graph.complete:
                bundles.append(_bundle_part(item))
            else:
                wandering.extend(item.queries.reshape(-1).tolist())
    goals = {i: start(renumber(queries[i].atoms, placed.rows[i])[0], interner) for i in wandering}
    return ParticleBatch(
        program, len(queries), flat, tuple(bundles), goals, interner, bank_of(placed.bank)
    )


def _grows(program: Program, query: Query) -> bool:
    """True when a query's goals are soon seen to grow without end: nothing to unfold."""
    interner = Interner()
    goal = start(query.atoms, interner)
    return explore(program, [goal], interner, Budget(max_goals=GLIMPSE)).stopped == RECURSION


# Goals of one query looked at before a batch is unfolded.
GLIMPSE = 500


def _bundle_part(item: Bundle) -> BundlePart:
    graph = item.graph
    true = np.asarray(graph.true_nodes(), dtype=np.int64)
    distance = distances(graph.nodes, graph.source, graph.target, true)
    keep = np.nonzero((distance[graph.source] >= 0) & (distance[graph.target] >= 0))[0]
    return BundlePart(item, edge_table(graph.choices), keep, distance)


def arenas(
    paths: ParticleBatch,
    weights: ModelWeights,
    select: Select | None = None,
) -> list[tuple[Ints, ArenaSource]]:
    """Where the particles of the batch, or of the selected queries, can be put.

    Each comes with the places of its queries in the result.
    """
    device = weights.device
    result: list[tuple[Ints, ArenaSource]] = []
    some = torch.arange(len(paths)) if select is None else selection(select, len(paths))
    if paths.flat is not None:
        part = paths.flat.to(device)
        # A selection that is on the GPU already stays there: nothing waits for the device.
        arena = part.arena(some.to(device), paths.bank, weights, padded=some.device.type != "cpu")
        return [(np.arange(len(some)), arena)]
    wanted = some.cpu().numpy()
    places, arenas = _bundle_arenas(paths, wanted, weights)
    result.extend(zip(places, arenas, strict=True))
    where = np.asarray([i for i, q in enumerate(wanted.tolist()) if q in paths.goals], dtype=int)
    if len(where):
        roots = [paths.goals[q] for q in wanted[where].tolist()]
        bank = [t.to(device) for t in paths.bank]
        frontier = Frontier(paths.program, roots, paths.interner, bank, weights)
        result.append((where, frontier))
    return result


def _bundle_arenas(
    paths: ParticleBatch,
    wanted: Ints,
    weights: ModelWeights,
) -> tuple[list[Ints], list[Arena]]:
    device = weights.device
    asked: list[WeighRequest] = []
    chosen: list[tuple[BundlePart, Ints, Ints, Ints]] = []
    for part in paths.bundles:
        rows, columns, places = [], [], []
        row_of: dict[int, int] = {}
        position = {q: rc for rc, q in np.ndenumerate(part.bundle.queries)}
        for place, q in enumerate(wanted.tolist()):
            if q in position:
                b, r = position[q]
                rows.append(row_of.setdefault(b, len(row_of)))
                columns.append(r)
                places.append(place)
        if places:
            asked.append(
                WeighRequest(part.table, part.bundle.graph, part.bundle.slots[list(row_of)])
            )
            chosen.append((part, np.asarray(rows), np.asarray(columns), np.asarray(places)))
    if not chosen:
        return [], []
    found = edge_weights(*narrowed(asked, paths.bank, device), weights)
    arenas = [
        _bundle_arena(part, rows, columns, w, device)
        for (part, rows, columns, _), w in zip(chosen, found, strict=True)
    ]
    return [places for *_, places in chosen], arenas


def _bundle_arena(
    part: BundlePart, rows: Ints, columns: Ints, weights: Tensor, device: torch.device
) -> Arena:
    """One copy of the graph's live steps for each row of tensors."""
    graph = part.bundle.graph
    copies, nodes, edges = weights.shape[1], graph.nodes, len(part.live)
    source, target = graph.source[part.live], graph.target[part.live]
    first = np.searchsorted(source, np.arange(nodes + 1))
    node_shift = np.arange(copies)[:, None] * nodes
    edge_shift = np.arange(copies)[:, None] * edges
    roots = graph.roots[columns]
    live = part.distance[roots] >= 0

    def tensor(values: np.ndarray) -> Tensor:
        return torch.as_tensor(values.reshape(-1), device=device)

    return Arena(
        roots=tensor(np.where(live, roots + rows * nodes, -1)),
        true=tensor(np.tile(part.distance == 0, copies)),
        begin=tensor(first[:-1] + edge_shift),
        end=tensor(first[1:] + edge_shift),
        source=tensor(source + node_shift),
        target=tensor(target + node_shift),
        weights=weights[torch.as_tensor(part.live, device=device)].T.reshape(-1),
        distance=tensor(np.tile(np.maximum(part.distance, 0), copies)),
    )
