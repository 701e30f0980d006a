"""The order in which a GPU adds up a hop: edges by target, by source, by relation, in even chunks.

A sum over the edges of one row may be long or short: rows are cut into chunks of at most `MOST`
edges, each of which is one program's work. The first of a row is written where it belongs, and the
others are added to it afterwards. Staying is an edge from an entity to itself, of a relation of its
own and of weight 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Int, Integer
from torch import Tensor

from deepprooflog.kg.walk.hops.edges import BLOCK, Edges

MOST = 64


@dataclass(frozen=True, eq=False)
class Chunks:
    """Rows of a sum, cut into chunks of the places begin … end − 1.

    >>> chunks = Chunks.of(torch.tensor([0, 1, 1, 6]), most=2)
    >>> chunks.begin.tolist(), chunks.end.tolist()
    ([0, 1, 1, 3, 5], [1, 1, 3, 5, 6])
    >>> chunks.place.tolist(), chunks.more.tolist(), chunks.rows
    ([0, 1, 2, 3, 4], [2, 2], 3)
    """

    rows: int
    begin: Int[Tensor, " chunks"]
    end: Int[Tensor, " chunks"]
    row: Int[Tensor, " chunks"]
    place: Int[Tensor, " chunks"]  # the row, or behind all rows where it is not a row's first
    more: Int[Tensor, " behind"]  # the row of each place behind all rows

    @classmethod
    def of(cls, pointer: Integer[Tensor, " rows_and_1"], most: int = MOST) -> Chunks:
        """From compressed rows."""
        pointer = pointer.long()
        count, device = pointer.diff(), pointer.device
        chunks = (-(-count // most)).clamp_min(1)
        row = torch.repeat_interleave(chunks)
        first = chunks.cumsum(0) - chunks
        number = torch.arange(len(row), device=device) - first[row]
        begin = pointer[row] + most * number
        end = torch.minimum(begin + most, pointer[row + 1])
        more = number > 0
        behind = len(count) + more.cumsum(0) - 1
        place = torch.where(more, behind, row)
        return cls(len(count), begin.int(), end.int(), row, place.int(), row[more])


@dataclass(frozen=True, eq=False)
class Gathered:
    """What is added up for each row: from which row, of which relation, times which edge's weight.

    The last edge, one more than there are, is that of staying.
    """

    other: Int[Tensor, " terms"]
    relation: Int[Tensor, " terms"]
    edge: Int[Tensor, " terms"]
    chunks: Chunks


@dataclass(frozen=True, eq=False)
class HopPlan:
    """The sums of a hop and of its gradients."""

    into: Gathered  # by target, from sources
    back: Gathered  # by source, from targets
    of_relation: Gathered  # by relation, from sources ...
    target: Int[Tensor, " terms"]  # ... and targets
    # Pairs by their source, and by their relation, for the last hop.
    of_source: Gathered
    blocks: Chunks

    @classmethod
    def of(cls, edges: Edges) -> HopPlan:
        """The plan of a graph's edges, where they are."""
        device, entities = edges.source.device, edges.entities
        own = torch.arange(entities, device=device)
        stay = torch.full_like(own, 2 * edges.relations)
        source = torch.cat([edges.source[edges.pair_of], own])
        target = torch.cat([edges.out_target.long(), own])
        relation = torch.cat([edges.block[edges.pair_of // BLOCK], stay])
        edge = torch.arange(edges.count, device=device)
        edge = torch.cat([edge, torch.full_like(own, edges.count)])

        def by(row: Tensor, other: Tensor, rows: int, most: int = MOST) -> tuple[Gathered, Tensor]:
            # Within a row by relation, whose weights are then at hand.
            order = (row * (2 * edges.relations + 1) + relation).argsort(stable=True)
            pointer = torch.cat([own.new_zeros(1), torch.bincount(row, minlength=rows).cumsum(0)])
            chunks = Chunks.of(pointer, most)
            return Gathered(
                other[order].int(), relation[order].int(), edge[order], chunks
            ), order  # fmt: skip

        into, _ = by(target, source, entities)
        back, _ = by(source, target, entities)
        of_relation, order = by(relation, source, 2 * edges.relations + 1, 4 * MOST)
        pair = edges.from_pair.long()
        of_source = Gathered(
            edges.from_pair, edges.block[pair // BLOCK].int(), pair, Chunks.of(edges.from_row)
        )
        begin = torch.arange(0, edges.pairs, BLOCK, device=device)
        blocks = Chunks(
            2 * edges.relations, begin, begin + BLOCK, edges.block, begin, begin[:0]
        )  # fmt: skip
        return cls(into, back, of_relation, target[order].int(), of_source, blocks)
