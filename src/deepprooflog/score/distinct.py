"""Equal numbers made one: by a table where numbers are small, by sorting where they are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

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
