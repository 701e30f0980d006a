"""Atoms that hold, each with its level: 0 for a fact, n where its shortest proof nests n rules.

An atom is one number, (r · E + h) · E + t; sorted, a binary search finds the atoms of a relation,
of a relation and a head, or one atom. A second order, by tails, finds those of a relation and tail.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor


@dataclass(frozen=True, eq=False)
class AtomLevels:
    """A set of atoms over `entities`, with levels."""

    entities: int
    by_head: Int[Tensor, " atoms"]
    head_level: Int[Tensor, " atoms"]
    by_tail: Int[Tensor, " atoms"]
    tail_level: Int[Tensor, " atoms"]

    @classmethod
    def of(
        cls, triples: Int[Tensor, "atoms 3"], level: Int[Tensor, " atoms"], entities: int
    ) -> AtomLevels:
        """The index of distinct triples.

        >>> index = AtomLevels.of(torch.tensor([[0, 0, 1], [0, 0, 2]]), torch.tensor([0, 3]), 4)
        >>> index.level(torch.tensor([[0, 0, 2], [2, 0, 0]])).tolist()
        [3, -1]
        """
        h, r, t = triples.unbind(1)
        by_head, first = torch.sort((r * entities + h) * entities + t)
        by_tail, second = torch.sort((r * entities + t) * entities + h)
        return cls(entities, by_head, level[first], by_tail, level[second])

    def level(self, triples: Int[Tensor, "n 3"]) -> Int[Tensor, " n"]:
        """The level of each triple, −1 where it does not hold."""
        h, r, t = triples.unbind(1)
        key = (r * self.entities + h) * self.entities + t
        if not len(self.by_head):
            return torch.full_like(key, -1)
        at = torch.searchsorted(self.by_head, key).clamp_max(len(self.by_head) - 1)
        return torch.where(self.by_head[at] == key, self.head_level[at], -1)

    def beside(
        self, relation: int, known: Int[Tensor, " n"], *, tails: bool
    ) -> tuple[Int[Tensor, " m"], Int[Tensor, " m"], Int[Tensor, " m"]]:
        """The tails of known heads (or the heads of known tails): row, entity, level of each."""
        keys, level = self._order(tails)
        begin = (relation * self.entities + known) * self.entities
        return self._ranges(keys, level, begin, begin + self.entities)

    def of_relation(
        self, relation: int
    ) -> tuple[Int[Tensor, " m"], Int[Tensor, " m"], Int[Tensor, " m"]]:
        """The heads, tails and levels of a relation's atoms."""
        size = self.entities * self.entities
        begin = torch.tensor([relation * size], device=self.by_head.device)
        at, _ = _expanded(
            torch.searchsorted(self.by_head, begin),
            torch.searchsorted(self.by_head, begin + size),
        )
        pair = self.by_head[at] - relation * size
        return pair // self.entities, pair % self.entities, self.head_level[at]

    def triples(self) -> tuple[Int[Tensor, "atoms 3"], Int[Tensor, " atoms"]]:
        """All atoms and their levels."""
        pair, tail = self.by_head // self.entities, self.by_head % self.entities
        rows = torch.stack([pair % self.entities, pair // self.entities, tail], 1)
        return rows, self.head_level

    def _order(self, tails: bool) -> tuple[Int[Tensor, " atoms"], Int[Tensor, " atoms"]]:
        return (self.by_head, self.head_level) if tails else (self.by_tail, self.tail_level)

    def _ranges(
        self,
        keys: Int[Tensor, " atoms"],
        level: Int[Tensor, " atoms"],
        begin: Int[Tensor, " n"],
        end: Int[Tensor, " n"],
    ) -> tuple[Int[Tensor, " m"], Int[Tensor, " m"], Int[Tensor, " m"]]:
        at, row = _expanded(torch.searchsorted(keys, begin), torch.searchsorted(keys, end))
        return row, keys[at] % self.entities, level[at]


def _expanded(
    begin: Int[Tensor, " n"], end: Int[Tensor, " n"]
) -> tuple[Int[Tensor, " m"], Int[Tensor, " m"]]:
    """The positions in each range, one range after another, and which range each is of."""
    size = end - begin
    row = torch.repeat_interleave(torch.arange(len(size), device=size.device), size)
    first = torch.cumsum(size, 0) - size
    return torch.arange(len(row), device=size.device) - first[row] + begin[row], row
