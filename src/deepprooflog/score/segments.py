"""Ragged sequences as flat rows: the atoms of goals, the cells of lists, the successors of goals.

The items of one sequence are consecutive rows. Sequences of any lengths go through one GRU without
padding, and sums and softmaxes run over all sequences at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn


@dataclass(frozen=True)
class Segments:
    """Which items belong to which sequence, and in which order a GRU reads them."""

    index: Int[Tensor, " items"]  # the sequence of each item
    lengths: Int[Tensor, " sequences"]
    order: Int[Tensor, " items"]  # items by time of reading, those of the longest sequences first
    inverse: Int[Tensor, " items"]  # of `order`
    longest: Int[Tensor, " sequences"]  # sequences by decreasing length
    final: Int[Tensor, " sequences"]  # the item of each sequence that is read last
    sizes: Int[Tensor, " times"]  # how many sequences have an item at each time; on the CPU

    @property
    def count(self) -> int:
        """How many sequences there are."""
        return len(self.lengths)


def segments(
    lengths: Sequence[int], device: torch.device | None = None, *, backwards: bool = False
) -> Segments:
    """Sequences of these lengths (none empty), read from the first item or from the last.

    >>> segments([1, 3]).order.tolist(), segments([1, 3], backwards=True).order.tolist()
    ([1, 0, 2, 3], [3, 0, 2, 1])
    """
    length = np.asarray(lengths, dtype=np.int64)
    index = np.repeat(np.arange(len(length)), length)
    end = np.cumsum(length)
    time = np.arange(len(index)) - (end - length)[index]
    if backwards:
        time = length[index] - 1 - time
    longest = np.argsort(-length, kind="stable")
    rank = np.empty_like(longest)
    rank[longest] = np.arange(len(longest))
    order = np.lexsort((rank[index], time))
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))

    def tensor(values: np.ndarray) -> Tensor:
        return torch.from_numpy(values.astype(np.int64)).to(device)

    return Segments(
        index=tensor(index),
        lengths=tensor(length),
        order=tensor(order),
        inverse=tensor(inverse),
        longest=tensor(longest),
        final=tensor(end - length if backwards else end - 1),
        sizes=torch.from_numpy(np.bincount(time)),
    )


def run_gru(
    gru: nn.GRU,
    items: Float[Tensor, "items batch dim"],
    sequences: Segments,
    initial: Float[Tensor, "sequences batch dim"],
) -> Float[Tensor, "items batch dim"]:
    """The state of the GRU after each item, each sequence from an initial state of its own."""
    count, batch, dim = items.shape
    rows = items[sequences.order].reshape(count * batch, dim)
    state = initial[sequences.longest].reshape(1, -1, dim)
    states = []
    # Between the ends of two sequences the rows are dense: as many calls as there are lengths.
    for times, width, part in _dense(rows, sequences.sizes, batch):
        out, state = gru(part.view(times, width, dim), state[:, :width].contiguous())
        states.append(out.reshape(times * width, dim))
    return torch.cat(states).view(count, batch, dim)[sequences.inverse]


def _dense(
    rows: Float[Tensor, "rows dim"], sizes: Int[Tensor, " times"], batch: int
) -> Iterator[tuple[int, int, Tensor]]:
    """Stretches of time with the same sequences: how long, how many rows wide, and the rows."""
    width, times = torch.unique_consecutive(sizes, return_counts=True)
    widths, lengths = (width * batch).tolist(), times.tolist()
    # One split, so that its gradient is one concatenation.
    parts = torch.split(rows, [w * n for w, n in zip(widths, lengths, strict=True)])
    return zip(lengths, widths, parts, strict=True)


def segment_sum(
    items: Float[Tensor, "items ..."], index: Int[Tensor, " items"], count: int
) -> Float[Tensor, "sequences ..."]:
    """The sum of each sequence's items."""
    return items.new_zeros((count, *items.shape[1:])).index_add(0, index, items)


def segment_logsumexp(
    items: Float[Tensor, "items *batch"],
    index: Int[Tensor, " items"],
    count: int,
    also: Float[Tensor, "sequences *batch"] | None = None,
) -> Float[Tensor, "sequences *batch"]:
    """log Σ exp over each sequence's items, and what it has `also`; −∞ where there is nothing.

    >>> x = torch.tensor([0.0, 0.0, 1000.0])
    >>> segment_logsumexp(x, torch.tensor([0, 0, 1]), 3).tolist()
    [0.693..., 1000.0, -inf]
    """
    shape = (count, *items.shape[1:])
    # The peak only shifts the exponents: no gradient goes through it.
    peak = items.new_full(shape, -torch.inf) if also is None else also.detach()
    where = index.view(-1, *[1] * (items.dim() - 1)).expand_as(items)
    peak = peak.scatter_reduce(0, where, items.detach(), "amax")
    shift = peak.masked_fill(peak == -torch.inf, 0.0)
    total = items.new_zeros(shape) if also is None else (also - shift).exp()
    total = total.index_add(0, index, (items - shift[index]).exp())
    # The largest item adds 1. Where there is none, nothing flows through the logarithm at 0.
    return total.clamp_min(1.0).log() + peak


def tensor_ranges(
    begin: Int[Tensor, " owners"], count: Int[Tensor, " owners"], total: int
) -> tuple[Int[Tensor, " items"], Int[Tensor, " items"]]:
    """Whose each item is, and its number; `total` is the sum of `count`.

    >>> begin, count = torch.tensor([5, 0, 8]), torch.tensor([2, 0, 1])
    >>> [part.tolist() for part in tensor_ranges(begin, count, 3)]
    [[0, 0, 2], [5, 6, 8]]
    """
    owners = torch.arange(len(count), device=count.device)
    owner = torch.repeat_interleave(owners, count, output_size=total)
    shift = begin - (count.cumsum(0) - count)
    return owner, shift.index_select(0, owner) + torch.arange(total, device=count.device)


# A table this large is read faster than thousands of numbers are sorted.
TABLE = 1 << 20


@dataclass(frozen=True)
class Distinct:
    """The distinct ones of some items."""

    member: Int[Tensor, " distinct"]  # one item of each
    number: Int[Tensor, " items"]  # which of them an item is

    def __len__(self) -> int:
        return len(self.member)


def distinct(key: Int[Tensor, " items"], size: int) -> Distinct:
    """The distinct keys, all of them at least 0 and below `size`, in their order.

    >>> distinct(torch.tensor([7, 3, 7]), 10).number
    tensor([1, 0, 1])
    """
    items = torch.arange(len(key), device=key.device)
    if size <= max(TABLE, 4 * len(key)):
        member = torch.full((size,), -1, device=key.device)
        member[key] = items
        present = member >= 0
        return Distinct(member[present], (present.cumsum(0) - 1).index_select(0, key))
    kept, number = torch.unique(key, return_inverse=True)
    member = torch.empty_like(kept)
    member[number] = items
    return Distinct(member, number)


def distinct_rows(rows: Int[Tensor, "items columns"], sizes: Sequence[int]) -> Distinct:
    """The distinct rows; `sizes` bound the numbers of each column.

    >>> distinct_rows(torch.tensor([[1, 2], [1, 0], [1, 2]]), [2, 3]).number
    tensor([1, 0, 1])
    """
    key = torch.zeros(len(rows), dtype=torch.int64, device=rows.device)
    total = 1
    for column, size in zip(rows.unbind(1), sizes, strict=True):
        if total > 1 and total * size > TABLE:
            found = distinct(key, total)
            key, total = found.number, len(found)
        key, total = key * size + column, total * size
    return distinct(key, total)


@dataclass(frozen=True)
class Address:
    """Where the vector of each item is: row `row[i]` of group `group[i]`."""

    group: NDArray[np.int64]  # [items]
    row: NDArray[np.int64]  # [items]

    @classmethod
    def empty(cls, count: int) -> Address:
        return cls(np.full(count, -1, dtype=np.int64), np.full(count, -1, dtype=np.int64))

    def place(self, items: Sequence[int], group: int) -> None:
        """Make the items the rows of a group, in this order."""
        self.group[items] = group
        self.row[items] = np.arange(len(items))


@dataclass(frozen=True)
class Gather:
    """Rows to take from each of some groups, and the order to bring them into."""

    parts: tuple[tuple[int, Int[Tensor, " _"]], ...]
    order: Int[Tensor, " items"] | None  # None when there is one part

    def __call__(
        self, values: Sequence[Float[Tensor, "_ _ dim"]], batch: int
    ) -> Float[Tensor, "items batch dim"]:
        """The rows, each the same for the whole batch where its group has one column."""
        taken = [values[group][rows].expand(-1, batch, -1) for group, rows in self.parts]
        return taken[0] if self.order is None else torch.cat(taken)[self.order]


def gather(address: Address, items: NDArray[np.int64], device: torch.device) -> Gather:
    """Fetch the vectors of some items."""
    group, row = address.group[items], address.row[items]
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    parts = tuple(
        (int(group[part[0]]), torch.from_numpy(row[part]).to(device))
        for part in np.split(order, starts[1:])
        if len(part)
    )
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    return Gather(parts, torch.from_numpy(inverse).to(device) if len(parts) > 1 else None)
