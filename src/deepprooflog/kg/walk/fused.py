"""The dense hops of a GPU: the sums of `kg/walk/hop.py`, without tables of pairs in between.

    at'(y, s) = Σ over edges x –r→ y, staying among them, of at(x, s) · step(r, s) · weight

is read edge by edge from `at`, and so are its gradients; what a query leaves out is put right at
the few edges of its own pairs. Of the last hop only the sum over the states of each head is asked
for: there the states of a pair are added up before its edges are gone along.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd import Function

from deepprooflog.kg.walk import kernels
from deepprooflog.kg.walk.edges import BLOCK, Edges
from deepprooflog.kg.walk.hop import LeftOut, Weighted, rest_of, sparse_sum
from deepprooflog.kg.walk.plan import MOST, Chunks, HopPlan
from deepprooflog.kg.walk.reached import ranges

_PLANS: WeakKeyDictionary[Edges, HopPlan] = WeakKeyDictionary()


def plan_of(edges: Edges) -> HopPlan:
    """The plan of some edges, made once."""
    if edges not in _PLANS:
        _PLANS[edges] = HopPlan.of(edges)
    return _PLANS[edges]


def hop(
    at: Float[Tensor, "entities batch states"],
    step: Float[Tensor, "steps batch states"],
    weights: Weighted,
    without: LeftOut | None = None,
) -> Float[Tensor, "entities batch states"]:
    """Where the walks stand after one step, as `hop.hop` has it."""
    found: Tensor = _Hop.apply(at, step, weights.power, weights, without)  # type: ignore[no-untyped-call]
    return found


def last_hop(
    at: Float[Tensor, "entities batch states"],
    step: Float[Tensor, "steps batch states"],
    weights: Weighted,
    heads: int,
    without: LeftOut | None = None,
) -> Float[Tensor, "entities batch heads"]:
    """The same, the states of each head added up."""
    found: Tensor = _LastHop.apply(at, step, weights.power, weights, heads, without)  # type: ignore[no-untyped-call]
    return found


def gated(
    at: Float[Tensor, "entities batch states"], logit: Float[Tensor, "entities batch states"]
) -> Float[Tensor, "entities batch states"]:
    """at · sigmoid(logit)."""
    found: Tensor = _Gated.apply(at, logit)  # type: ignore[no-untyped-call]
    return found


def turned(
    at: Float[Tensor, "entities batch states"], turn: Float[Tensor, "batch states states"]
) -> Float[Tensor, "entities batch states"]:
    """Each query's walks in new states."""
    found: Tensor = _Turned.apply(at, turn)  # type: ignore[no-untyped-call]
    return found


@dataclass(frozen=True, eq=False)
class OwnEdges:
    """The edges of the pairs that lose one, and what changes there.

    `cell` is a row of a table with one for every entity and query; `change` is what is added to an
    edge's weight, `of_power` to the gradient of its relation's power.
    """

    owner: Int[Tensor, " edges"]
    cell: Int[Tensor, " edges"]
    change: Float[Tensor, " edges"]
    of_power: Float[Tensor, " edges"]
    source: Int[Tensor, " two_batch"]  # the cell that each pair leaves
    step: Int[Tensor, " two_batch"]  # its relation and query in the table of steps
    left: Int[Tensor, " two_batch"]  # the cells that the edges left out lead to

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
        change = weight * torch.where(out, -1.0, rest - 1)
        of_power = weight * torch.where(out, log, log - less * rest)
        source = edges.source[without.pair]
        return cls(
            owner, target * batch + query[owner], change, of_power, source * batch + query,
            without.relation * batch + query, without.target * batch + query,
        )  # fmt: skip


def _own(weights: Weighted, without: LeftOut | None) -> OwnEdges | None:
    """Made once for the hops of a batch."""
    if without is None:
        return None
    kept = without.__dict__.get("own_edges")
    if kept is None:
        kept = without.__dict__["own_edges"] = OwnEdges.of(weights, without)
    assert isinstance(kept, OwnEdges)
    return kept


class _Hop(Function):
    """A hop, staying among its edges."""

    @staticmethod
    def forward(
        ctx: Any, at: Tensor, step: Tensor, power: Tensor, weights: Weighted,
        without: LeftOut | None,
    ) -> Tensor:  # fmt: skip
        entities, batch, states = at.shape
        at, step = at.contiguous(), step.contiguous()
        own = _own(weights, without)
        ctx.save_for_backward(at, step)
        ctx.weights, ctx.without, ctx.own = weights, without, own
        plan, weight = plan_of(weights.edges), _with_stay(weights.weight, 1.0)
        moved = kernels.gather(
            plan.into, at.view(entities, -1), step.view(len(step), -1), weight[plan.into.edge]
        ).view(at.shape)
        if own is not None:
            flat = moved.view(-1, states)
            value = _rows(at, own.source) * _rows(step, own.step)
            flat.index_add_(0, own.cell, own.change[:, None] * value[own.owner])
            for part in (slice(0, batch), slice(batch, None)):
                # What is taken away was added before: below 0 there is only rounding.
                flat[own.left[part]] = flat[own.left[part]].clamp_min(0)
        return moved

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        weights, without, own = ctx.weights, ctx.without, ctx.own
        at, step = ctx.saved_tensors
        entities, _, states = at.shape
        grad = grad.contiguous()
        flat, flat_step = grad.view(entities, -1), step.view(len(step), -1)
        plan, weight = plan_of(weights.edges), _with_stay(weights.weight, 1.0)
        of_at = kernels.gather(plan.back, flat, flat_step, weight[plan.back.edge]).view(at.shape)
        learned = ctx.needs_input_grad[2]
        relation = plan.of_relation
        log = None
        if learned:
            log = -weights.degree.log()[weights.edges.pair_of]
            log = _with_stay(log, 0.0)[relation.edge]
        of_step, more = kernels.products(
            relation.chunks, at.view(entities, -1), flat, relation.other, plan.target,
            weight[relation.edge], log,
        )  # fmt: skip
        of_power = None if more is None else (more * flat_step).sum(1)[:-1]
        of_step = of_step.view(step.shape)
        if own is not None:
            here, there = _rows(at, own.source), _rows(step, own.step)
            found = _rows(grad, own.cell)
            change = _added(own.change[:, None] * found, own.owner, len(here))
            of_at.view(-1, states).index_add_(0, own.source, change * there)
            of_step.view(-1, states).index_add_(0, own.step, change * here)
            if of_power is not None:
                change = _added(own.of_power[:, None] * found, own.owner, len(here))
                of_power.index_add_(0, without.relation, (change * here * there).sum(1))
        return of_at, of_step, of_power, None, None


class _LastHop(Function):
    """A hop whose states are added up, those of each head."""

    @staticmethod
    def forward(
        ctx: Any, at: Tensor, step: Tensor, power: Tensor, weights: Weighted, heads: int,
        without: LeftOut | None,
    ) -> Tensor:  # fmt: skip
        edges, (entities, batch, states) = weights.edges, at.shape
        narrow = states // heads
        at, step = at.contiguous(), step.contiguous()
        own = _own(weights, without)
        ctx.save_for_backward(at, step)
        ctx.weights, ctx.without, ctx.own, ctx.narrow = weights, without, own, narrow
        flat, flat_step = at.view(entities, -1), step.view(len(step), -1)
        pairs = kernels.shrunk(flat, flat_step, edges.source, edges.block, BLOCK, narrow)
        moved = sparse_sum(edges.in_row, edges.in_pair, weights.into, pairs, entities)
        moved = moved + _staying(flat, flat_step[-1:], narrow)
        if own is not None:
            cells = moved.view(-1, heads)
            value = torch.unflatten(_rows(at, own.source) * _rows(step, own.step), 1, (heads, -1))
            cells.index_add_(0, own.cell, own.change[:, None] * value.sum(-1)[own.owner])
            for part in (slice(0, batch), slice(batch, None)):
                cells[own.left[part]] = cells[own.left[part]].clamp_min(0)
        return moved.view(entities, batch, heads)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        weights, without, own, narrow = ctx.weights, ctx.without, ctx.own, ctx.narrow
        at, step = ctx.saved_tensors
        edges, (entities, batch, states) = weights.edges, at.shape
        heads, device = states // narrow, at.device
        flat, flat_step = at.view(entities, -1), step.view(len(step), -1)
        few = grad.contiguous().view(entities, -1)
        back = sparse_sum(edges.out_row, edges.out_target, weights.weight, few, edges.pairs)
        plan = plan_of(edges)
        of_at = kernels.gather(plan.of_source, back, flat_step, None, narrow=narrow)
        of_at = of_at.view(entities, batch, heads, narrow).addcmul_(
            grad[..., None], step[-1].view(batch, heads, narrow)
        )
        learned = ctx.needs_input_grad[2]
        log = -weights.degree.log() if learned else None
        number = torch.arange(edges.pairs, device=device)
        of_edges, more = kernels.products(
            _blocks(edges), flat, back, edges.source, number, None, log, narrow=narrow
        )
        everyone = torch.arange(entities, device=device)
        of_stay, _ = kernels.products(
            Chunks.of(torch.tensor([0, entities], device=device), 4 * MOST), flat, few, everyone,
            everyone, None, None, narrow=narrow,
        )  # fmt: skip
        of_power = None if more is None else (more * flat_step[:-1]).sum(1)
        of_step = torch.cat([of_edges, of_stay]).view(step.shape)
        if own is not None:
            here, there = _rows(at, own.source), _rows(step, own.step)
            found = few.view(-1, heads).index_select(0, own.cell)
            change = _added(own.change[:, None] * found, own.owner, len(here))
            change = change.repeat_interleave(narrow, 1)
            of_at.view(-1, states).index_add_(0, own.source, change * there)
            of_step.view(-1, states).index_add_(0, own.step, change * here)
            if of_power is not None:
                change = _added(own.of_power[:, None] * found, own.owner, len(here))
                change = change.repeat_interleave(narrow, 1)
                of_power.index_add_(0, without.relation, (change * here * there).sum(1))
        return of_at.view(at.shape), of_step, of_power, None, None, None


class _Gated(Function):
    @staticmethod
    def forward(ctx: Any, at: Tensor, logit: Tensor) -> Tensor:
        at, logit = at.contiguous(), logit.contiguous()
        ctx.save_for_backward(at, logit)
        return kernels.gated(at, logit)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        return kernels.gated_back(grad.contiguous(), *ctx.saved_tensors)


class _Turned(Function):
    """A product for each query, whose rows stay where they are in memory."""

    @staticmethod
    def forward(ctx: Any, at: Tensor, turn: Tensor) -> Tensor:
        ctx.save_for_backward(at, turn)
        return _by_query(at, turn)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        at, turn = ctx.saved_tensors
        of_turn = torch.bmm(at.permute(1, 2, 0), grad.permute(1, 0, 2))
        return _by_query(grad, turn.mT), of_turn


def _by_query(at: Tensor, matrix: Tensor) -> Tensor:
    out = torch.empty_like(at, memory_format=torch.contiguous_format)
    torch.bmm(at.permute(1, 0, 2), matrix, out=out.permute(1, 0, 2))
    return out


def _with_stay(values: Tensor, of_stay: float) -> Tensor:
    return torch.cat([values, values.new_full((1,), of_stay)])


def _rows(table: Tensor, cell: Tensor) -> Tensor:
    return table.reshape(-1, table.shape[2]).index_select(0, cell)


def _added(values: Tensor, owner: Tensor, count: int) -> Tensor:
    return values.new_zeros(count, values.shape[1]).index_add_(0, owner, values)


def _staying(flat: Tensor, step: Tensor, narrow: int) -> Tensor:
    everyone = torch.arange(len(flat), device=flat.device)
    return kernels.shrunk(flat, step, everyone, everyone.new_zeros(1), 1 << 30, narrow)


def _blocks(edges: Edges) -> Chunks:
    """Pairs by their relation, a chunk for each block."""
    begin = torch.arange(0, edges.pairs, BLOCK, device=edges.source.device)
    rows = 2 * edges.relations
    return Chunks(rows, begin, begin + BLOCK, edges.block, begin, begin[:0])
