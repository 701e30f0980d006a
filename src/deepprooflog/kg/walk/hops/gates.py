"""The gates of entities: what share of the walks that stand on one goes on.

    gate(x, s) = sigmoid(Σ over numbers of presence(x, number) · coefficient(number, s) + bias(s))

for each query, whose own fact, where it is left out, changes what is read of its two entities.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function

from deepprooflog.kg.walk.hops.own_fact import OwnFact
from deepprooflog.kg.walk.hops.reached import Cells, at_once, by_query


@runtime_checkable
class GateSums(Protocol):
    """What a device does its own way."""

    def passed(self, at: Tensor, logits: Tensor) -> tuple[Tensor, Tensor]:
        """at · sigmoid(logits), and what to keep of the logits, which may be overwritten."""

    def back(self, grad: Tensor, at: Tensor, kept: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of `at` and of the logits."""


class TorchGates:
    """Gates by torch."""

    def passed(self, at: Tensor, logits: Tensor) -> tuple[Tensor, Tensor]:
        """at · sigmoid(logits), and the gates."""
        gate = logits.sigmoid_()
        return at * gate, gate

    def back(self, grad: Tensor, at: Tensor, kept: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of `at` and of the logits."""
        of_at = grad * kept
        return of_at, (1 - kept).mul_(of_at).mul_(at)


def gated(
    at: Float[Tensor, "entities batch states"],
    gate: Float[Tensor, "numbers_and_1 batch states"],
    presence: Float[Tensor, "entities numbers"],
    own: OwnFact | None,
    sums: GateSums,
) -> Float[Tensor, "entities batch states"]:
    """What the gates of one hop let through of the walks over all entities."""
    found: Tensor = _Gated.apply(at, gate, presence, own, sums)  # type: ignore[no-untyped-call]
    return found


class _Gated(Function):
    """Gates whose logits are never in autograd's hands, which copies what is replaced in them."""

    @staticmethod
    def forward(
        ctx: Any, at: Tensor, gate: Tensor, presence: Tensor, own: OwnFact | None, sums: GateSums
    ) -> Tensor:
        at = at.contiguous()
        found, kept = sums.passed(at, gate_logits(presence, gate, own))
        ctx.save_for_backward(at, kept, presence)
        ctx.own, ctx.sums, ctx.shape = own, sums, gate.shape
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        at, kept, presence = ctx.saved_tensors
        own: OwnFact | None = ctx.own
        of_at, of_logit = ctx.sums.back(grad.contiguous(), at, kept)
        found = None if own is None else own.taken(of_logit)
        of_gate = grad.new_empty(ctx.shape)
        torch.mm(presence.T, of_logit.flatten(1), out=of_gate[:-1].flatten(1))
        torch.sum(of_logit, 0, out=of_gate[-1])
        if own is not None and found is not None:
            of_gate[:-1].index_add_(1, own.query, own.presence.T[:, :, None] * found)
            of_gate[-1].index_add_(0, own.query, found)
        return of_at, of_gate, None, None, None


def gate_logits(
    presence: Float[Tensor, "entities numbers"],
    gate: Float[Tensor, "numbers_and_1 batch states"],
    own: OwnFact | None,
) -> Float[Tensor, "entities batch states"]:
    """The logits of all entities' gates under one hop's coefficients."""
    logits = torch.addmm(gate[-1].flatten(), presence, gate[:-1].flatten(1))
    logits = logits.view(-1, *gate.shape[1:])
    if own is not None:
        of_own = gate[:-1].permute(1, 0, 2)[own.query]  # [2 batch, numbers, states]
        found = torch.bmm(own.presence[:, None], of_own)[:, 0] + gate[-1][own.query]
        logits = own.put(logits, found)
    return logits


def gates_of_cells(
    cells: Cells,
    gate: Float[Tensor, "numbers_and_1 batch states"],
    presence: Float[Tensor, "entities numbers"],
    own: OwnFact | None,
) -> Float[Tensor, "cells states"]:
    """The gates of cells; all at once and many, they are taken from those of all entities."""
    numbers, _, states = gate.shape
    if at_once(gate) and cells.most * (numbers + states) >= cells.entities * states:
        logits = gate_logits(presence, gate, own).flatten(0, 1)
        return logits.index_select(0, cells.place).sigmoid()
    seen = presence[cells.entity]
    if own is not None:
        row = cells.row[own.query * cells.entities + own.entity]
        seen[row[row >= 0]] = own.presence[row >= 0]
    logits = by_query(seen, gate[:-1].permute(1, 0, 2), cells)
    return (logits + gate[-1].index_select(0, cells.query)).sigmoid()
