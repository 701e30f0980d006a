"""The dense hops of a GPU: the sums of `kg/walk/hops/hop.py`, without tables of pairs in between.

    at'(y, s) = Σ over edges x –r→ y, staying among them, of at(x, s) · step(r, s) · weight

is read edge by edge from `at`, and so are its gradients; what a query leaves out is put right at
the few edges of its own pairs.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function

from deepprooflog.kg.walk.hops import kernels
from deepprooflog.kg.walk.hops.edges import BLOCK, Edges
from deepprooflog.kg.walk.hops.own_edges import OwnEdges, rows
from deepprooflog.kg.walk.hops.plan import MOST, Chunks, HopPlan
from deepprooflog.kg.walk.hops.weighted import LeftOut, Weighted

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


def turned(
    at: Float[Tensor, "entities batch states"], turn: Float[Tensor, "batch states states"]
) -> Float[Tensor, "entities batch states"]:
    """Each query's walks in new states."""
    found: Tensor = _Turned.apply(at, turn)  # type: ignore[no-untyped-call]
    return found


class _Hop(Function):
    """A hop, staying among its edges."""

    @staticmethod
    def forward(
        ctx: Any, at: Tensor, step: Tensor, power: Tensor, weights: Weighted,
        without: LeftOut | None,
    ) -> Tensor:  # fmt: skip
        entities, _, states = at.shape
        at, step = at.contiguous(), step.contiguous()
        own = OwnEdges.once(weights, without)
        ctx.save_for_backward(at, step)
        ctx.weights, ctx.own = weights, own
        plan, weight = plan_of(weights.edges), _with_stay(weights.weight, 1.0)
        moved = kernels.gather(
            plan.into, at.view(entities, -1), step.view(len(step), -1), weight[plan.into.edge]
        ).view(at.shape)
        if own is not None:
            own.put_right(moved.view(-1, states), rows(at, own.source) * rows(step, own.step))
        return moved

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        weights = ctx.weights
        own: OwnEdges | None = ctx.own
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
            own.put_back(at, step, grad.view(-1, states), of_at, of_step, of_power)
        return of_at, of_step, of_power, None, None


class TritonPairs:
    """The sums over pairs of the last hop."""

    def carried(self, at: Tensor, step: Tensor, edges: Edges, narrow: int) -> Tensor:
        """Σ over states of at(source) · step(relation), for each pair and head."""
        return kernels.shrunk(at, step, edges.source, edges.block, BLOCK, narrow)

    def stayed(self, at: Tensor, step: Tensor, narrow: int) -> Tensor:
        """Σ over states of at · step, for each entity and head."""
        everyone = torch.arange(len(at), device=at.device)
        return kernels.shrunk(at, step, everyone, everyone.new_zeros(1), 1 << 30, narrow)

    def of_at(self, back: Tensor, step: Tensor, edges: Edges, narrow: int) -> Tensor:
        """Σ over the pairs of each source of back · step(relation)."""
        return kernels.gather(plan_of(edges).of_source, back, step, None, narrow=narrow)

    def of_step(
        self, at: Tensor, back: Tensor, edges: Edges, log: Tensor | None, narrow: int
    ) -> tuple[Tensor, Tensor | None]:
        """Σ over the pairs of each relation of at(source) · back; and of that times `log`."""
        number = torch.arange(edges.pairs, device=at.device)
        chunks = plan_of(edges).blocks
        return kernels.products(chunks, at, back, edges.source, number, None, log, narrow=narrow)

    def of_stay(self, at: Tensor, grad: Tensor, narrow: int) -> Tensor:
        """Σ over entities of at · grad, as one row."""
        everyone = torch.arange(len(at), device=at.device)
        pointer = torch.tensor([0, len(at)], device=at.device)
        return kernels.products(
            Chunks.of(pointer, 4 * MOST), at, grad, everyone, everyone, None, None, narrow=narrow
        )[0]


class TritonGates:
    """Gates that are worked out where they are used."""

    def passed(self, at: Tensor, logits: Tensor) -> tuple[Tensor, Tensor]:
        """at · sigmoid(logits), and the logits."""
        return kernels.gated(at, logits), logits

    def back(self, grad: Tensor, at: Tensor, kept: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of `at` and of the logits."""
        return kernels.gated_back(grad, at, kept)


class _Turned(Function):
    """A product for each query, whose rows stay where they are in memory."""

    @staticmethod
    def forward(ctx: Any, at: Tensor, turn: Tensor) -> Tensor:
        ctx.save_for_backward(at, turn)
        return _by_query(at, turn)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        at, turn = ctx.saved_tensors
        return _by_query(grad, turn.mT), kernels.squares(at.contiguous(), grad.contiguous())


def _by_query(at: Tensor, matrix: Tensor) -> Tensor:
    out = torch.empty_like(at, memory_format=torch.contiguous_format)
    torch.bmm(at.permute(1, 0, 2), matrix, out=out.permute(1, 0, 2))
    return out


def _with_stay(values: Tensor, of_stay: float) -> Tensor:
    return torch.cat([values, values.new_full((1,), of_stay)])
