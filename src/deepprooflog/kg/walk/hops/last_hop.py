"""The last hop, of which only the sum over the states of each head is asked for.

The states of a pair are added up before its edges are gone along, which so have a number to carry
where other hops have one for each state:

    last(y, head) = Σ over pairs (x, r) that lead to y of weight · Σ over states of the head of
                    at(x, s) · step(r, s),    and at(y, s) · step(stay, s) of them all

`PairSums` is what a device does its own way: the sums over pairs and their gradients.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function

from deepprooflog.kg.walk.hops.edges import BLOCK, Edges
from deepprooflog.kg.walk.hops.hop import sparse_sum
from deepprooflog.kg.walk.hops.own_edges import OwnEdges, rows
from deepprooflog.kg.walk.hops.weighted import LeftOut, Weighted

BLOCKS = 32
"""Blocks of pairs that a CPU works out at a time: what they take stays in its cache."""


@runtime_checkable
class PairSums(Protocol):
    """The sums of a last hop that go over pairs; tables are flat, `narrow` states are one head."""

    def carried(self, at: Tensor, step: Tensor, edges: Edges, narrow: int) -> Tensor:
        """Σ over states of at(source) · step(relation), for each pair and head."""

    def stayed(self, at: Tensor, step: Tensor, narrow: int) -> Tensor:
        """Σ over states of at · step, for each entity and head."""

    def of_at(self, back: Tensor, step: Tensor, edges: Edges, narrow: int) -> Tensor:
        """Σ over the pairs of each source of back · step(relation)."""

    def of_step(
        self, at: Tensor, back: Tensor, edges: Edges, log: Tensor | None, narrow: int
    ) -> tuple[Tensor, Tensor | None]:
        """Σ over the pairs of each relation of at(source) · back; and of that times `log`."""

    def of_stay(self, at: Tensor, grad: Tensor, narrow: int) -> Tensor:
        """Σ over entities of at · grad, as one row."""


def last_hop(
    at: Float[Tensor, "entities batch states"],
    step: Float[Tensor, "steps batch states"],
    weights: Weighted,
    heads: int,
    without: LeftOut | None,
    sums: PairSums,
) -> Float[Tensor, "entities batch heads"]:
    """Where the walks stand after their last step, the states of each head added up."""
    found: Tensor = _LastHop.apply(at, step, weights.power, weights, heads, without, sums)  # type: ignore[no-untyped-call]
    return found


class _LastHop(Function):
    @staticmethod
    def forward(
        ctx: Any, at: Tensor, step: Tensor, power: Tensor, weights: Weighted, heads: int,
        without: LeftOut | None, sums: PairSums,
    ) -> Tensor:  # fmt: skip
        edges, (entities, batch, states) = weights.edges, at.shape
        narrow = states // heads
        at, step = at.contiguous(), step.contiguous()
        own = OwnEdges.once(weights, without)
        ctx.save_for_backward(at, step)
        ctx.weights, ctx.own, ctx.narrow, ctx.sums = weights, own, narrow, sums
        flat, flat_step = at.view(entities, -1), step.view(len(step), -1)
        pairs = sums.carried(flat, flat_step, edges, narrow)
        moved = sparse_sum(edges.in_row, edges.in_pair, weights.into, pairs, entities)
        moved += sums.stayed(flat, flat_step[-1:], narrow)
        if own is not None:
            carried = rows(at, own.source) * rows(step, own.step)
            own.put_right(moved.view(-1, heads), torch.unflatten(carried, 1, (heads, -1)).sum(-1))
        return moved.view(entities, batch, heads)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        weights, narrow, sums = ctx.weights, ctx.narrow, ctx.sums
        own: OwnEdges | None = ctx.own
        at, step = ctx.saved_tensors
        edges, (entities, _, states) = weights.edges, at.shape
        flat, flat_step = at.view(entities, -1), step.view(len(step), -1)
        few = grad.contiguous().view(entities, -1)
        back = sparse_sum(edges.out_row, edges.out_target, weights.weight, few, edges.pairs)
        of_at = sums.of_at(back, flat_step, edges, narrow)
        of_at.view(entities, -1, narrow).addcmul_(
            few[..., None], flat_step[-1].view(1, -1, narrow)
        )  # fmt: skip
        log = -weights.degree.log() if ctx.needs_input_grad[2] else None
        of_step, more = sums.of_step(flat, back, edges, log, narrow)
        of_step = torch.cat([of_step, sums.of_stay(flat, few, narrow)])
        of_power = None if more is None else (more * flat_step[:-1]).sum(1)
        if own is not None:
            own.put_back(at, step, few.view(-1, states // narrow), of_at, of_step, of_power)
        return of_at.view(at.shape), of_step.view(step.shape), of_power, None, None, None, None


class TorchPairs:
    """The sums over pairs by torch, some blocks of pairs at a time."""

    def carried(self, at: Tensor, step: Tensor, edges: Edges, narrow: int) -> Tensor:
        """Σ over states of at(source) · step(relation), for each pair and head."""
        found = at.new_empty(edges.pairs, at.shape[1] // narrow)
        for part, block in _parts(edges):
            product = at[edges.source[part]].view(len(block), BLOCK, -1)
            product = product.mul_(step[block][:, None]).view(-1, found.shape[1], narrow)
            torch.sum(product, 2, out=found[part])
        return found

    def stayed(self, at: Tensor, step: Tensor, narrow: int) -> Tensor:
        """Σ over states of at · step, for each entity and head."""
        return torch.einsum("ebs,bs->eb", at.view(len(at), -1, narrow), step.view(-1, narrow))

    def of_at(self, back: Tensor, step: Tensor, edges: Edges, narrow: int) -> Tensor:
        """Σ over the pairs of each source of back · step(relation)."""
        found = back.new_zeros(edges.entities, back.shape[1] * narrow)
        for part, block in _parts(edges):
            wide = back[part].repeat_interleave(narrow, 1).view(len(block), BLOCK, -1)
            wide = wide.mul_(step[block][:, None]).flatten(0, 1)
            found.index_add_(0, edges.source[part], wide)
        return found

    def of_step(
        self, at: Tensor, back: Tensor, edges: Edges, log: Tensor | None, narrow: int
    ) -> tuple[Tensor, Tensor | None]:
        """Σ over the pairs of each relation of at(source) · back; and of that times `log`."""
        sums = at.new_zeros(2 * edges.relations, 2, at.shape[1])
        factors = torch.stack([back.new_ones(edges.pairs), back.new_zeros(edges.pairs)
                               if log is None else log], 1)  # fmt: skip
        for part, block in _parts(edges):
            wide = back[part].repeat_interleave(narrow, 1).mul_(at[edges.source[part]])
            both = factors[part].view(len(block), BLOCK, 2).mT
            sums.index_add_(0, block, both @ wide.view(len(block), BLOCK, -1))
        return sums[:, 0], None if log is None else sums[:, 1]

    def of_stay(self, at: Tensor, grad: Tensor, narrow: int) -> Tensor:
        """Σ over entities of at · grad, as one row."""
        wide = at.view(len(at), -1, narrow)
        return torch.einsum("ebs,eb->bs", wide, grad).reshape(1, -1)


def _parts(edges: Edges) -> list[tuple[slice, Tensor]]:
    """The pairs of some blocks at a time, and the relation of each block."""
    return [
        (slice(begin * BLOCK, (begin + BLOCKS) * BLOCK), edges.block[begin : begin + BLOCKS])
        for begin in range(0, len(edges.block), BLOCKS)
    ]
