"""Walks over what they can reach: hops that touch no entity where no walk can stand.

A few hops from its head a query stands on few of a graph's entities. `Reached` keeps a row for each
pair of a query and an entity that it can stand on, a *cell*, and a hop goes along the edges that
leave cells. The sums are those of `hop`, differentiated by torch; they are worth their numbering
while the edges to go along are few beside all edges of the graph for every query.

Rows are taken by `index_select`, whose gradient is added up row by row: that of indexing sorts
first and then adds what goes to one row by one after another, which on a GPU is most of the time
where millions of rows share a few dozen weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepprooflog.device import GPU
from deepprooflog.kg.walk.hops.edges import BLOCK, Edges, ranges
from deepprooflog.kg.walk.hops.weighted import LeftOut

FEW = 0.25
"""The share of all edges up to which cells are quicker than sweeps over all entities."""
FEW_OF_GPU = 0.005
"""The same of a GPU, which sweeps more quickly and waits for what cells are numbered by."""
AT_ONCE = (GPU,)
"""Devices on which one large product is quicker than many small ones that do less."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Pairs of a query and an entity, sorted, each once."""

    entities: int
    queries: int
    key: Int[Tensor, " cells"]  # query · entities + entity
    row: Int[Tensor, " keys"]  # the cell of every key; −1 where there is none

    @classmethod
    def of(cls, key: Int[Tensor, " some"], entities: int, queries: int) -> Cells:
        """The cells of some keys, which may come more than once."""
        there = torch.zeros(queries * entities, dtype=torch.bool, device=key.device)
        there[key] = True
        own = there.nonzero()[:, 0]
        row = torch.full((queries * entities,), -1, device=key.device)
        row[own] = torch.arange(len(own), device=key.device)
        return cls(entities, queries, own, row)

    @property
    def entity(self) -> Int[Tensor, " cells"]:
        """Where each stands."""
        return self.key % self.entities

    @property
    def query(self) -> Int[Tensor, " cells"]:
        """Whose each is."""
        return self.key // self.entities

    @cached_property
    def sizes(self) -> Int[Tensor, " queries"]:
        """How many each query has."""
        return torch.bincount(self.query, minlength=self.queries)

    @cached_property
    def most(self) -> int:
        """How many the query with most of them has."""
        return int(self.sizes.max())

    @property
    def place(self) -> Int[Tensor, " cells"]:
        """Where each stands in a table with a row for every entity and a column for every query."""
        return self.entity * self.queries + self.query


@dataclass(frozen=True, eq=False)
class Fan:
    """What leaves some cells: the pairs of their entities, and the edges of those pairs."""

    cell: Int[Tensor, " pairs"]
    query: Int[Tensor, " pairs"]
    relation: Int[Tensor, " pairs"]
    degree: Float[Tensor, " pairs"]
    pair: Int[Tensor, " edges"]  # the edge's place among the pairs
    target: Int[Tensor, " edges"]

    @classmethod
    def of(
        cls,
        cells: Cells,
        edges: Edges,
        degree: Float[Tensor, " graph_pairs"],
        kept: Float[Tensor, " graph_edges"] | None,
        without: LeftOut | None,
    ) -> Fan:
        """The edges that leave cells, without those that are not kept or that the query leaves out.

        `degree` has the edges of each pair of the graph that are kept.
        """
        cell, place = ranges(edges.from_row, cells.entity)
        query, own = cells.query[cell], edges.from_pair[place].long()
        of_pair, edge = ranges(edges.out_row, own)
        target, count = edges.out_target[edge].long(), degree[own]
        keep = None if kept is None else kept[edge] > 0
        if without is not None:
            for part in (slice(0, cells.queries), slice(cells.queries, None)):
                less = (own == without.pair[part][query]) & without.there[part][query]
                count = count - less.to(count)
                out = less[of_pair] & (target == without.target[part][query[of_pair]])
                keep = ~out if keep is None else keep & ~out
        if keep is not None:
            of_pair, target = of_pair[keep], target[keep]
        relation = edges.block[own // BLOCK]
        return cls(cell, query, relation, count.clamp_min(1), of_pair, target)


@dataclass(frozen=True, eq=False)
class Reached:
    """What walks weigh at the cells that they have reached."""

    cells: Cells
    at: Float[Tensor, "cells states"]

    @classmethod
    def heads(
        cls, head: Int[Tensor, " batch"], begin: Float[Tensor, "batch states"], entities: int
    ) -> Reached:
        """Walks that stand on the heads of their queries."""
        key = torch.arange(len(head), device=head.device) * entities + head
        return cls(Cells.of(key, entities, len(head)), begin)

    def few(self, edges: Edges) -> bool:
        """True where the edges to go along are few beside all edges for every query."""
        leaving = edges.in_row.diff()  # as many as lead there, since every fact goes both ways
        ahead = int(leaving[self.cells.entity].sum())
        share = FEW_OF_GPU if self.at.device.type == GPU else FEW
        return ahead <= share * edges.count * self.cells.queries

    def turned(
        self, gate: Float[Tensor, "cells states"] | None, turn: Float[Tensor, "batch states states"]
    ) -> Reached:
        """Behind the gates of their entities, in new states."""
        at = self.at if gate is None else self.at * gate
        return Reached(self.cells, by_query(at, turn, self.cells))

    def step(
        self, step: Float[Tensor, "steps batch states"], power: Float[Tensor, " directed"], fan: Fan
    ) -> Reached:
        """After a step along the fan, or staying."""
        cells, weight = self.cells, self._leaving(step, power, fan)
        there = fan.query[fan.pair] * cells.entities + fan.target
        now = Cells.of(torch.cat([cells.key, there]), cells.entities, cells.queries)
        at = self.at.new_zeros(len(now.key), self.at.shape[1])
        stay = self.at * step[-1].index_select(0, cells.query)
        at = at.index_add(0, now.row[cells.key], stay)
        return Reached(now, at.index_add(0, now.row[there], weight.index_select(0, fan.pair)))

    def last_step(
        self,
        step: Float[Tensor, "steps batch states"],
        power: Float[Tensor, " directed"],
        fan: Fan,
        heads: int,
    ) -> Float[Tensor, "entities batch heads"]:
        """The same for the last step, after which states no longer matter."""
        cells, batch = self.cells, self.cells.queries
        weight = torch.unflatten(self._leaving(step, power, fan), 1, (heads, -1)).sum(-1)
        stay = self.at * step[-1].index_select(0, cells.query)
        stay = torch.unflatten(stay, 1, (heads, -1)).sum(-1)
        at = self.at.new_zeros(cells.entities * batch, heads)
        at = at.index_add(0, cells.place, stay)
        there = fan.target * batch + fan.query[fan.pair]
        at = at.index_add(0, there, weight.index_select(0, fan.pair))
        return at.view(cells.entities, batch, heads)

    def spread(self) -> Float[Tensor, "entities batch states"]:
        """The same with a row for every entity."""
        cells = self.cells
        at = self.at.new_zeros(cells.entities, cells.queries, self.at.shape[1])
        return at.index_put((cells.entity, cells.query), self.at)

    def _leaving(self, step: Tensor, power: Tensor, fan: Fan) -> Float[Tensor, "pairs states"]:
        """What each edge of a pair carries."""
        batch = self.cells.queries
        steps = step.reshape(-1, step.shape[2])
        steps = steps.index_select(0, fan.relation * batch + fan.query)
        power = power.index_select(0, fan.relation)
        thin = (-power * fan.degree.to(power.dtype).log()).exp()
        return self.at.index_select(0, fan.cell) * steps * thin[:, None]


def at_once(values: Tensor) -> bool:
    """True where all queries are to be worked out in one product."""
    return values.device.type in AT_ONCE


def by_query(
    values: Float[Tensor, "cells width"], matrix: Float[Tensor, "batch width other"], cells: Cells
) -> Float[Tensor, "cells other"]:
    """Each cell's values times the matrix of its query.

    All at once, each query has as many rows as the one that has most.
    """
    query, size = cells.query, cells.sizes
    if not at_once(values):
        parts = zip(torch.split(values, size.tolist()), matrix, strict=True)
        return torch.cat([part @ own for part, own in parts])
    most, begin = cells.most, size.cumsum(0) - size
    place = query * most + torch.arange(len(query), device=query.device) - begin[query]
    padded = values.new_zeros(cells.queries * most, values.shape[1]).index_copy(0, place, values)
    found = torch.bmm(padded.view(cells.queries, most, -1), matrix)
    return found.flatten(0, 1).index_select(0, place)
