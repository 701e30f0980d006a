"""Ragged ranges of tensors: for each owner its items begin, begin + 1, …, one after another."""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor


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
