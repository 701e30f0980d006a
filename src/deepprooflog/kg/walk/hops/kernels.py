"""The sums of a hop on a GPU, each read once from memory: kernels of Triton.

Rows are those of tables with a column for each query and state; `narrow` is how many columns of a
table share one of a narrower table, whose rows are shorter by that much. Programs of one stretch of
columns run side by side, so that what they read again is in the cache.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from deepprooflog.kg.walk.hops.plan import Chunks, Gathered

COLUMNS, AT_ONCE = 256, 4
PARTS, WIDEST = 16, 64
"""Of sums over all entities, how many run side by side; the most states of a kernel's squares."""


@triton.jit
def _gather(
    out, table, factor, other, relation, weight, begin, end, place, columns,
    narrow: tl.constexpr, factored: tl.constexpr, weighed: tl.constexpr, wide: tl.constexpr,
    at_once: tl.constexpr,
):  # fmt: skip
    chunk = tl.program_id(0)
    column = tl.program_id(1) * wide + tl.arange(0, wide)
    inside = column < columns
    total = tl.zeros([at_once, wide], dtype=out.dtype.element_ty)
    first, last = tl.load(begin + chunk), tl.load(end + chunk)
    while first < last:
        term = first + tl.arange(0, at_once)
        there = term < last
        both = there[:, None] & inside[None, :]
        row = tl.load(other + term, mask=there, other=0).to(tl.int64)
        found = tl.load(
            table + row[:, None] * (columns // narrow) + (column // narrow)[None, :],
            mask=both,
            other=0.0,
        )
        if factored:
            kind = tl.load(relation + term, mask=there, other=0).to(tl.int64)
            found *= tl.load(
                factor + kind[:, None] * columns + column[None, :], mask=both, other=0.0
            )
        if weighed:
            found *= tl.load(weight + term, mask=there, other=0.0)[:, None]
        total += found
        first += at_once
    row_out = tl.load(place + chunk).to(tl.int64)
    tl.store(out + row_out * columns + column, tl.sum(total, 0), mask=inside)


@triton.jit
def _products(
    out, out_more, left, right, of_left, of_right, weight, more, begin, end, columns,
    narrow: tl.constexpr, weighed: tl.constexpr, twofold: tl.constexpr, wide: tl.constexpr,
    at_once: tl.constexpr,
):  # fmt: skip
    chunk = tl.program_id(0)
    column = tl.program_id(1) * wide + tl.arange(0, wide)
    inside = column < columns
    total = tl.zeros([at_once, wide], dtype=out.dtype.element_ty)
    total_more = tl.zeros([at_once, wide], dtype=out.dtype.element_ty)
    first, last = tl.load(begin + chunk), tl.load(end + chunk)
    while first < last:
        term = first + tl.arange(0, at_once)
        there = term < last
        both = there[:, None] & inside[None, :]
        one = tl.load(of_left + term, mask=there, other=0).to(tl.int64)
        two = tl.load(of_right + term, mask=there, other=0).to(tl.int64)
        found = tl.load(left + one[:, None] * columns + column[None, :], mask=both, other=0.0)
        found *= tl.load(
            right + two[:, None] * (columns // narrow) + (column // narrow)[None, :],
            mask=both,
            other=0.0,
        )
        if weighed:
            found *= tl.load(weight + term, mask=there, other=0.0)[:, None]
        total += found
        if twofold:
            total_more += found * tl.load(more + term, mask=there, other=0.0)[:, None]
        first += at_once
    where = chunk.to(tl.int64) * columns + column
    tl.store(out + where, tl.sum(total, 0), mask=inside)
    if twofold:
        tl.store(out_more + where, tl.sum(total_more, 0), mask=inside)


@triton.jit
def _shrunk(
    out, table, factor, source, block, rows, columns,
    narrow: tl.constexpr, size: tl.constexpr, wide: tl.constexpr, at_once: tl.constexpr,
):  # fmt: skip
    own = tl.program_id(0) * at_once + tl.arange(0, at_once)
    column = tl.program_id(1) * wide + tl.arange(0, wide)
    there, inside = own < rows, column < columns
    both = there[:, None] & inside[None, :]
    row = tl.load(source + own, mask=there, other=0).to(tl.int64)
    kind = tl.load(block + own // size, mask=there, other=0).to(tl.int64)
    found = tl.load(table + row[:, None] * columns + column[None, :], mask=both, other=0.0)
    found *= tl.load(factor + kind[:, None] * columns + column[None, :], mask=both, other=0.0)
    few = tl.sum(tl.reshape(found, [at_once, wide // narrow, narrow]), 2)
    short = tl.program_id(1) * (wide // narrow) + tl.arange(0, wide // narrow)
    where = own.to(tl.int64)[:, None] * (columns // narrow) + short[None, :]
    tl.store(out + where, few, mask=there[:, None] & (short < columns // narrow)[None, :])


def gather(
    gathered: Gathered, table: Tensor, factor: Tensor | None, weight: Tensor | None,
    *, narrow: int = 1,
) -> Tensor:  # fmt: skip
    """out[row] = Σ over its terms of table[other] · factor[relation] · weight.

    The table's rows are `narrow` times shorter than those that come out; `weight` is of terms.
    """
    chunks, columns = gathered.chunks, narrow * table.shape[1]
    out = table.new_empty(chunks.rows + len(chunks.more), columns)
    if out.numel():
        _gather[_grid(len(chunks.begin), columns)](
            out, table, table if factor is None else factor, gathered.other, gathered.relation,
            table if weight is None else weight, chunks.begin, chunks.end, chunks.place, columns,
            narrow=narrow, factored=factor is not None, weighed=weight is not None,
            wide=COLUMNS, at_once=AT_ONCE,
        )  # fmt: skip
    found = out[: chunks.rows]
    if len(chunks.more):
        found.index_add_(0, chunks.more, out[chunks.rows :])
    return found


def products(
    chunks: Chunks, left: Tensor, right: Tensor, of_left: Tensor, of_right: Tensor,
    weight: Tensor | None, more: Tensor | None, *, narrow: int = 1,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """out[row] = Σ over its terms of left[of_left] · right[of_right] · weight, column by column.

    And the same with each term times `more` besides. The rows of `right` are `narrow` times
    shorter.
    """
    columns = left.shape[1]
    shape = len(chunks.begin), columns
    out, out_more = left.new_empty(shape), None if more is None else left.new_empty(shape)
    if out.numel():
        _products[_grid(*shape)](
            out, out if out_more is None else out_more, left, right, of_left, of_right,
            left if weight is None else weight, left if more is None else more,
            chunks.begin, chunks.end, columns, narrow=narrow, weighed=weight is not None,
            twofold=more is not None, wide=COLUMNS, at_once=AT_ONCE,
        )  # fmt: skip
    found = [
        None
        if part is None
        else left.new_zeros(chunks.rows, columns).index_add_(0, chunks.row, part)
        for part in (out, out_more)
    ]
    assert found[0] is not None
    return found[0], found[1]


def shrunk(
    table: Tensor, factor: Tensor, source: Tensor, block: Tensor, size: int, narrow: int
) -> Tensor:
    """out[pair] = table[source] · factor[relation], added up over `narrow` columns at a time."""
    columns = table.shape[1]
    out = table.new_empty(len(source), columns // narrow)
    if out.numel():
        grid = triton.cdiv(len(source), AT_ONCE), triton.cdiv(columns, COLUMNS)
        _shrunk[grid](
            out, table, factor, source, block, len(source), columns, narrow=narrow, size=size,
            wide=COLUMNS, at_once=AT_ONCE,
        )  # fmt: skip
    return out


def _grid(chunks: int, columns: int) -> Any:
    return chunks, triton.cdiv(columns, COLUMNS)


@triton.jit
def _squares(
    out, left, right, entities, batch, each,
    states: tl.constexpr, at_once: tl.constexpr,
):  # fmt: skip
    query, part = tl.program_id(0), tl.program_id(1)
    state = tl.arange(0, states)
    total = tl.zeros([at_once, states, states], dtype=out.dtype.element_ty)
    first = part * each
    last = tl.minimum(first + each, entities)
    while first < last:
        entity = first + tl.arange(0, at_once)
        there = entity < last
        place = (entity.to(tl.int64) * batch + query) * states
        one = tl.load(
            left + place[:, None, None] + state[None, :, None],
            mask=there[:, None, None],
            other=0.0,
        )
        two = tl.load(
            right + place[:, None, None] + state[None, None, :],
            mask=there[:, None, None],
            other=0.0,
        )
        total += one * two
        first += at_once
    where = (part.to(tl.int64) * batch + query) * states * states
    square = state[:, None] * states + state[None, :]
    tl.store(out + where + square, tl.sum(total, 0))


def squares(left: Tensor, right: Tensor) -> Tensor:
    """out[query] = Σ over entities of the outer product of the states of both."""
    entities, batch, states = left.shape
    if states > WIDEST or states & (states - 1):
        return torch.bmm(left.permute(1, 2, 0), right.permute(1, 0, 2))
    out = left.new_empty(PARTS, batch, states, states)
    if out.numel():
        _squares[(batch, PARTS)](
            out, left, right, entities, batch, triton.cdiv(entities, PARTS), states=states,
            at_once=max(1, 4096 // states**2),
        )  # fmt: skip
    return out.sum(0)


@triton.jit
def _gated(out, at, logit, count, size: tl.constexpr):
    own = tl.program_id(0).to(tl.int64) * size + tl.arange(0, size)
    there = own < count
    gate = 1 / (1 + tl.exp(-tl.load(logit + own, mask=there, other=0.0)))
    tl.store(out + own, tl.load(at + own, mask=there, other=0.0) * gate, mask=there)


@triton.jit
def _gated_back(of_at, of_logit, grad, at, logit, count, size: tl.constexpr):
    own = tl.program_id(0).to(tl.int64) * size + tl.arange(0, size)
    there = own < count
    gate = 1 / (1 + tl.exp(-tl.load(logit + own, mask=there, other=0.0)))
    passed = tl.load(grad + own, mask=there, other=0.0) * gate
    tl.store(of_at + own, passed, mask=there)
    slope = passed * (1 - gate) * tl.load(at + own, mask=there, other=0.0)
    tl.store(of_logit + own, slope, mask=there)


def gated(at: Tensor, logit: Tensor) -> Tensor:
    """at · sigmoid(logit)."""
    out = torch.empty_like(at)
    if out.numel():
        _gated[(triton.cdiv(out.numel(), 1024),)](out, at, logit, out.numel(), size=1024)
    return out


def gated_back(grad: Tensor, at: Tensor, logit: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of `gated` by both."""
    of_at, of_logit = torch.empty_like(at), torch.empty_like(at)
    if at.numel():
        _gated_back[(triton.cdiv(at.numel(), 1024),)](
            of_at, of_logit, grad, at, logit, at.numel(), size=1024
        )
    return of_at, of_logit
