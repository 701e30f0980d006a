"""One hop of all walks at once, differentiated exactly.

    at'(y, s) = at(y, s) · step(stay, s)
              + Σ over edges x –r→ y of at(x, s) · step(r, s) · d(x, r)^−power(r)

where d(x, r) is the number of edges that leave x by r. Each query of the batch may leave one fact
out: its two edges are taken away and the degrees of their pairs are one less, for that query alone.
What is kept for the backward pass is `at` and the weights; pairs are worked out again.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd import Function

from deepprooflog.kg.walk.edges import BLOCK, Edges


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The two edges of the fact that each query leaves out, the one along its relation first.

    Where a query's triple is no fact nothing is left out: `weight` is 0 and the pair is padding.
    """

    pair: Int[Tensor, " two_batch"]
    query: Int[Tensor, " two_batch"]
    target: Int[Tensor, " two_batch"]
    degree: Float[Tensor, " two_batch"]
    relation: Int[Tensor, " two_batch"]
    there: Bool[Tensor, " two_batch"]
    weight: Float[Tensor, " two_batch"]  # of the edge; 0 where there is none


@dataclass(frozen=True, eq=False)
class Weighted:
    """The edges with what each weighs: d^−power, or 0 where it is not kept.

    `degree` counts the edges of a pair that are kept, and is 1 where there are none.
    """

    edges: Edges
    degree: Float[Tensor, " pairs"]
    kept: Float[Tensor, " edges"] | None
    power: Float[Tensor, " directed"]
    weight: Float[Tensor, " edges"]
    into: Float[Tensor, " edges"]  # the same, in the order of targets


def degrees(edges: Edges, kept: Float[Tensor, " edges"] | None) -> Float[Tensor, " pairs"]:
    """How many edges each pair has when some are not kept; 0 for padding."""
    if kept is None:
        none = torch.zeros_like(edges.degree)
        return none.index_put((edges.real,), edges.degree[edges.real])
    return torch.zeros_like(edges.degree).index_add(0, edges.pair_of, kept.to(edges.degree.dtype))


def weighted(
    edges: Edges,
    power: Float[Tensor, " directed"],
    degree: Float[Tensor, " pairs"],
    kept: Float[Tensor, " edges"] | None = None,
) -> Weighted:
    """The edges under powers of the degree; `kept` is 0 for edges to do without."""
    own = power.detach()[edges.block].repeat_interleave(BLOCK, output_size=edges.pairs)
    degree = degree.clamp_min(1).to(power.dtype)
    pair = (-own * degree.log()).exp()
    weight = pair[edges.pair_of] if kept is None else pair[edges.pair_of] * kept
    return Weighted(edges, degree, kept, power, weight, weight[edges.in_edge])


def left_out(
    weights: Weighted,
    head: Int[Tensor, " batch"],
    relation: Int[Tensor, " batch"],
    tail: Int[Tensor, " batch"],
) -> LeftOut:
    """The edges of the facts r(h, t), in both directions."""
    edges = weights.edges
    source, target = torch.cat([head, tail]), torch.cat([tail, head])
    inverse = (relation + edges.relations) % (2 * edges.relations)
    both = torch.cat([relation, inverse])
    edge, there = edges.find(source, both, target)
    if edges.count:
        if weights.kept is not None:
            there = there & (weights.kept[edge] > 0)
        pair = torch.where(there, edges.pair_of[edge], edges.pairs - 1)
        weight = torch.where(there, weights.weight[edge], 0.0)
    else:
        pair, weight = torch.full_like(edge, edges.pairs - 1), weights.weight.new_zeros(len(edge))
    query = torch.arange(len(head), device=head.device).repeat(2)
    return LeftOut(pair, query, target, weights.degree[pair], both, there, weight)


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
        edges, (entities, batch, states) = weights.edges, at.shape
        at, step = at.contiguous(), step.contiguous()
        ctx.save_for_backward(at, step)
        ctx.weights, ctx.without = weights, without
        pairs = _times(at.view(entities, -1)[edges.source], step, edges)
        if without is None:
            moved = sparse_sum(edges.in_row, edges.in_pair, weights.into, pairs, entities)
            return moved.view(at.shape)
        own = pairs.view(-1, batch, states)
        rest = rest_of(weights, without)
        taken = own[without.pair, without.query] * rest[:, None]
        own[without.pair, without.query] = taken
        moved = sparse_sum(edges.in_row, edges.in_pair, weights.into, pairs, entities).view(
            at.shape
        )
        taken = taken * without.weight[:, None]
        for part in (slice(0, batch), slice(batch, 2 * batch)):
            place = without.target[part], without.query[part]
            # What is taken away was added before: below 0 there is only rounding.
            moved[place] = (moved[place] - taken[part]).clamp_min(0)
        return moved

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        weights, without = ctx.weights, ctx.without
        at, step = ctx.saved_tensors
        edges, (entities, batch, states) = weights.edges, at.shape
        grad = grad.contiguous()
        flat = grad.view(entities, -1)
        back = sparse_sum(edges.out_row, edges.out_target, weights.weight, flat, edges.pairs)
        if without is not None:
            rest = rest_of(weights, without)
            own = back.view(-1, batch, states)
            place = without.pair, without.query
            less = grad[without.target, without.query] * without.weight[:, None]
            own[place] = (own[place] - less) * rest[:, None]
        product = at.view(entities, -1)[edges.source].mul_(back)
        log = weights.degree.log()
        both = torch.stack([torch.ones_like(log), -log]).view(2, -1, BLOCK).transpose(0, 1)
        sums = torch.bmm(both, product.view(-1, BLOCK, batch * states))
        of_step = grad.new_zeros(len(step), 2, batch * states).index_add_(0, edges.block, sums)
        flat_step = step.view(len(step), -1)
        of_power = None
        if ctx.needs_input_grad[2]:
            of_power = (of_step[:, 1] * flat_step).sum(1)
            if without is not None:
                more = without.degree.log() - (without.degree - 1).clamp_min(1).log()
                found = product.view(-1, batch, states)[without.pair, without.query]
                found = (found * step[without.relation, without.query]).sum(1)
                of_power.index_add_(0, without.relation, more * without.there * found)
        back = _times(back, step, edges)
        ones = torch.ones(len(edges.from_pair), dtype=grad.dtype, device=grad.device)
        of_at = sparse_sum(edges.from_row, edges.from_pair, ones, back, entities)
        return of_at.view(at.shape), of_step[:, 0].reshape(step.shape), of_power, None, None


def _times(pairs: Tensor, step: Tensor, edges: Edges) -> Tensor:
    """Each pair times the weight of its relation, in place."""
    weight = step.reshape(len(step), -1)[edges.block]
    pairs.view(len(edges.block), BLOCK, -1).mul_(weight[:, None])
    return pairs


def rest_of(weights: Weighted, without: LeftOut) -> Float[Tensor, " two_batch"]:
    """By how much the rest of a pair grows when its degree falls by one.

    An only edge leaves nothing behind.
    """
    degree, power = without.degree, weights.power.detach()[without.relation]
    grown = (power * (degree.log() - (degree - 1).clamp_min(1).log())).exp()
    return torch.where(without.there, torch.where(degree > 1, grown, 0.0), 1.0)


def sparse_sum(
    row: Tensor, column: Tensor, value: Tensor, dense: Float[Tensor, "_ columns"], rows: int
) -> Float[Tensor, "rows columns"]:
    """The product of a sparse matrix, given by compressed rows, and a dense one."""
    if not len(column):
        return dense.new_zeros(rows, dense.shape[1])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        matrix = torch.sparse_csr_tensor(
            row, column, value, (rows, len(dense)), check_invariants=False
        )
    return torch.mm(matrix, dense)
