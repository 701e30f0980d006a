"""One hop of all walks at once, differentiated exactly.

    at'(y, s) = at(y, s) · step(stay, s) + Σ over edges x –r→ y of at(x, s) · step(r, s) · weight

Each query of the batch may leave one fact out: its two edges are taken away and the degrees of
their pairs are one less, for that query alone. What is kept for the backward pass is `at` and the
weights; pairs are worked out again.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function

from deepprooflog.kg.walk.hops.edges import BLOCK, Edges
from deepprooflog.kg.walk.hops.own_edges import OwnEdges, rows
from deepprooflog.kg.walk.hops.weighted import LeftOut, Weighted


def hop(
    at: Float[Tensor, "entities batch states"],
    step: Float[Tensor, "steps batch states"],
    weights: Weighted,
    without: LeftOut | None = None,
) -> Float[Tensor, "entities batch states"]:
    """Where the walks stand after one step; `step` has the relations, their inverses, staying."""
    moved = _Hop.apply(at, step[:-1], weights.power, weights, without)  # type: ignore[no-untyped-call]
    return torch.addcmul(moved, at, step[-1])


def turned(
    at: Float[Tensor, "entities batch states"], turn: Float[Tensor, "batch states states"]
) -> Float[Tensor, "entities batch states"]:
    """Each query's walks in new states."""
    return torch.einsum("ebs,bst->ebt", at, turn)


class _Hop(Function):
    """The edges' part of a hop."""

    @staticmethod
    def forward(
        ctx: Any, at: Tensor, step: Tensor, power: Tensor, weights: Weighted,
        without: LeftOut | None,
    ) -> Tensor:  # fmt: skip
        edges, (entities, _, states) = weights.edges, at.shape
        at, step = at.contiguous(), step.contiguous()
        own = OwnEdges.once(weights, without)
        ctx.save_for_backward(at, step)
        ctx.weights, ctx.own = weights, own
        pairs = _times(at.view(entities, -1)[edges.source], step, edges)
        moved = sparse_sum(edges.in_row, edges.in_pair, weights.into, pairs, entities)
        if own is not None:
            own.put_right(moved.view(-1, states), rows(at, own.source) * rows(step, own.step))
        return moved.view(at.shape)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        weights = ctx.weights
        own: OwnEdges | None = ctx.own
        at, step = ctx.saved_tensors
        edges, (entities, _, states) = weights.edges, at.shape
        flat, flat_step = grad.contiguous().view(entities, -1), step.view(len(step), -1)
        back = sparse_sum(edges.out_row, edges.out_target, weights.weight, flat, edges.pairs)
        product = at.view(entities, -1)[edges.source].mul_(back)
        log = weights.degree.log()
        both = torch.stack([torch.ones_like(log), -log]).view(2, -1, BLOCK).transpose(0, 1)
        sums = torch.bmm(both, product.view(len(edges.block), BLOCK, -1))
        found = grad.new_zeros(len(step), 2, flat.shape[1]).index_add_(0, edges.block, sums)
        of_step = found[:, 0].contiguous().view(step.shape)
        of_power = (found[:, 1] * flat_step).sum(1) if ctx.needs_input_grad[2] else None
        back = _times(back, step, edges)
        ones = torch.ones(len(edges.from_pair), dtype=grad.dtype, device=grad.device)
        of_at = sparse_sum(edges.from_row, edges.from_pair, ones, back, entities).view(at.shape)
        if own is not None:
            own.put_back(at, step, flat.view(-1, states), of_at, of_step, of_power)
        return of_at, of_step, of_power, None, None


def _times(pairs: Tensor, step: Tensor, edges: Edges) -> Tensor:
    """Each pair times the weight of its relation, in place."""
    weight = step.reshape(len(step), -1)[edges.block]
    pairs.view(len(edges.block), BLOCK, -1).mul_(weight[:, None])
    return pairs


def sparse_sum(
    row: Tensor, column: Tensor, value: Tensor, dense: Float[Tensor, "_ columns"], rows: int
) -> Float[Tensor, "rows columns"]:
    """The product of a sparse matrix, given by compressed rows, and a dense one."""
    if not len(column):
        return dense.new_zeros(rows, dense.shape[1])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        warnings.filterwarnings("ignore", "Sparse invariant checks are implicitly disabled")
        matrix = torch.sparse_csr_tensor(
            row, column, value, (rows, len(dense)), check_invariants=False
        )
    return torch.mm(matrix, dense)
