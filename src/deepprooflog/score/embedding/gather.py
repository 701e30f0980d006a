"""Rows out of several tensors at once: where a vector is, and how to fetch many of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor


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
