"""Equal rows made one, exactly: sorted by a 64-bit hash, neighbours compared in full.

Should two different rows share a hash, the rows are sorted by their contents instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

_MIX = 0x5851F42D4C957F2D


@dataclass(frozen=True)
class RowGroups:
    """Rows by group of equal ones; within a group the rows keep their order."""

    order: Int[Tensor, " rows"]  # the rows, group by group
    first: Bool[Tensor, " rows"]  # in that order: does a group begin here?

    @property
    def number(self) -> Int[Tensor, " rows"]:
        """In that order: the number of each row's group."""
        return self.first.cumsum(0) - 1

    @property
    def members(self) -> Int[Tensor, " groups"]:
        """The first row of each group."""
        return self.order.index_select(0, self.first.nonzero().squeeze(1))


def hash_rows(rows: Int[Tensor, "rows columns"]) -> Int[Tensor, " rows"]:
    """A 64-bit hash of each row; trailing PADs do not change it.

    >>> hash_rows(torch.tensor([[3, 4, -1]])) == hash_rows(torch.tensor([[3, 4]]))
    tensor([True])
    """
    factors = _factors(rows.shape[1], rows.device)
    # Σ (x + 1) · factor: PAD, which is −1, counts nothing. What follows spreads the bits.
    total = (rows * factors).sum(1) + factors.sum()
    total = (total ^ (total >> 29)) * _MIX
    return total ^ (total >> 32)


def group_rows(rows: Int[Tensor, "rows columns"]) -> RowGroups:
    """Find equal rows.

    >>> groups = group_rows(torch.tensor([[1, 2], [0, 5], [1, 2]]))
    >>> sorted(zip(groups.number.tolist(), groups.order.tolist()))[-1][1] in (1, 2)
    True
    """
    count = len(rows)
    hashes, order = torch.sort(hash_rows(rows), stable=True)
    arranged = rows.index_select(0, order)
    differs = (arranged[1:] != arranged[:-1]).any(1)
    same_hash = hashes[1:] == hashes[:-1]
    if bool((differs & same_hash).any()):
        return _by_contents(rows)
    first = torch.ones(count, dtype=torch.bool, device=rows.device)
    first[1:] = differs
    return RowGroups(order, first)


def _by_contents(rows: Int[Tensor, "rows columns"]) -> RowGroups:
    _, number = torch.unique(rows, dim=0, return_inverse=True)
    number, order = torch.sort(number, stable=True)
    first = torch.ones(len(rows), dtype=torch.bool, device=rows.device)
    first[1:] = number[1:] != number[:-1]
    return RowGroups(order, first)


_known: dict[torch.device, Tensor] = {}


def _factors(count: int, device: torch.device) -> Int[Tensor, " columns"]:
    """Fixed odd numbers, one for each column."""
    found = _known.get(device)
    if found is None or len(found) < count:
        # Drawn on the CPU: every device multiplies by the same.
        made = torch.Generator().manual_seed(7)
        drawn = torch.randint(-(2**62), 2**62, (1024 * (1 + count // 1024),), generator=made)
        found = _known[device] = (drawn * 2 + 1).to(device)
    return found[:count]
