"""What a query's fact left out changes: the edges of its two pairs, and by how much.

A pair that loses one of its d edges has d − 1: the others weigh more, by the power of its relation,
and the one weighs nothing. A sum over all edges is put right at these few.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepprooflog.kg.walk.hops.edges import ranges
from deepprooflog.kg.walk.hops.weighted import LeftOut, Weighted, rest_of


@dataclass(frozen=True, eq=False)
class OwnEdges:
    """The edges of the pairs that lose one.

    A cell is a row of a table with one for every entity and query.
    """

    owner: Int[Tensor, " edges"]  # the pair of each
    cell: Int[Tensor, " edges"]  # where each leads
    change: Float[Tensor, " edges"]  # what is added to its weight
    of_power: Float[Tensor, " edges"]  # what is added to the gradient of its relation's power
    source: Int[Tensor, " two_batch"]  # the cell that each pair leaves
    step: Int[Tensor, " two_batch"]  # its relation and query, as a row of the table of steps
    relation: Int[Tensor, " two_batch"]
    left: Int[Tensor, " two_batch"]  # the cell that the edge left out leads to

    @classmethod
    def of(cls, weights: Weighted, without: LeftOut) -> OwnEdges:
        """Of the facts that some queries leave out."""
        edges, query, batch = weights.edges, without.query, len(without.query) // 2
        owner, edge = ranges(edges.out_row, without.pair)
        target, weight = edges.out_target[edge].long(), weights.weight[edge]
        rest = rest_of(weights, without)[owner]
        log = without.degree.log()[owner]
        less = (without.degree - 1).clamp_min(1).log()[owner]
        out = target == without.target[owner]
        return cls(
            owner, target * batch + query[owner], weight * torch.where(out, -1.0, rest - 1),
            weight * torch.where(out, log, log - less * rest),
            edges.source[without.pair] * batch + query, without.relation * batch + query,
            without.relation, without.target * batch + query,
        )  # fmt: skip

    @classmethod
    def once(cls, weights: Weighted, without: LeftOut | None) -> OwnEdges | None:
        """The same, made once for the hops of a batch."""
        if without is None:
            return None
        kept = without.__dict__.get("own_edges")
        if kept is None:
            kept = without.__dict__["own_edges"] = cls.of(weights, without)
        assert isinstance(kept, OwnEdges)
        return kept

    def put_right(
        self, moved: Float[Tensor, "cells states"], carried: Float[Tensor, "two_batch states"]
    ) -> None:
        """Change a sum over all edges, in place; `carried` is what each pair's edges carry."""
        moved.index_add_(0, self.cell, self.change[:, None] * carried[self.owner])
        for left in self.left.chunk(2):
            # What is taken away was added before: below 0 there is only rounding.
            moved[left] = moved[left].clamp_min(0)

    def put_back(
        self, at: Float[Tensor, "entities batch states"], step: Float[Tensor, "steps batch states"],
        grad: Float[Tensor, "cells fewer"], of_at: Tensor, of_step: Tensor,
        of_power: Tensor | None,
    ) -> None:  # fmt: skip
        """Change the gradients of a sum over all edges, in place; `grad` is that of the sum.

        Where the sum adds up the states of each head, they share its gradient.
        """
        states = at.shape[2]
        here, there = rows(at, self.source), rows(step, self.step)
        wide = states // grad.shape[1]
        change, of_log = (x.repeat_interleave(wide, 1) for x in self.back(grad))
        of_at.view(-1, states).index_add_(0, self.source, change * there)
        of_step.view(-1, states).index_add_(0, self.step, change * here)
        if of_power is not None:
            of_power.index_add_(0, self.relation, (of_log * here * there).sum(1))

    def back(
        self, grad: Float[Tensor, "cells states"]
    ) -> tuple[Float[Tensor, "two_batch states"], Float[Tensor, "two_batch states"]]:
        """What is added to the gradients of `carried`, and of it times a power of the degree."""
        found = grad.index_select(0, self.cell)
        return self._added(self.change, found), self._added(self.of_power, found)

    def _added(self, weight: Tensor, found: Tensor) -> Tensor:
        none = found.new_zeros(len(self.source), found.shape[1])
        return none.index_add_(0, self.owner, weight[:, None] * found)


def rows(table: Float[Tensor, "rows batch states"], cell: Int[Tensor, " some"]) -> Tensor:
    """Rows of a table, one for each of its first two axes."""
    return table.reshape(-1, table.shape[2]).index_select(0, cell)
