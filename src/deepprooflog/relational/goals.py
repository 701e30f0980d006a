"""Batches of goals as integers: what `logic.goal.Goal` is, many at a time.

A goal is a row of atoms, an atom a predicate's number and its arguments. Constants are numbered
from 0; variable number i is −2 − i; PAD stands where there is no atom or no argument. A goal is
canonical when its variables are numbered by first occurrence over atoms, then answer.

Equal rows are made one, exactly: sorted by a 64-bit hash, neighbours compared in full. Should two
different rows share a hash, the rows are sorted by their contents instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn.functional import pad

from deepprooflog.score.transitions import PAD as PAD

NO_FACT = -1


def variable(number: int) -> int:
    """How a goal writes variable `number`.

    >>> variable(0), variable(3)
    (-2, -5)
    """
    return -2 - number


@dataclass(frozen=True)
class Goals:
    """Goals side by side. The first `length` atoms of each are its own, the rest is PAD."""

    # predicate, arguments and, when rules may only nest so deep, the nesting that is left
    atoms: Int[Tensor, "goals atoms width"]
    answer: Int[Tensor, "goals answers"]  # what the query's variables are bound to so far
    left_out: Int[Tensor, " goals"]  # the fact that a derivation may not use, or NO_FACT

    def __len__(self) -> int:
        return self.atoms.shape[0]

    @property
    def device(self) -> torch.device:
        return self.atoms.device

    @property
    def length(self) -> Int[Tensor, " goals"]:
        """How many atoms each goal has."""
        return (self.atoms[:, :, 0] != PAD).sum(1)

    @property
    def is_true(self) -> Bool[Tensor, " goals"]:
        """Which goals are empty."""
        if self.atoms.shape[1] == 0:
            return torch.ones(len(self), dtype=torch.bool, device=self.device)
        return self.atoms[:, 0, 0] == PAD

    @property
    def leftmost(self) -> Int[Tensor, "goals width"]:
        """The atom of each goal that is resolved next."""
        return self.atoms[:, 0]

    @property
    def behind(self) -> Int[Tensor, "goals rest width"]:
        """The atoms of each goal that wait."""
        return self.atoms[:, 1:]

    def select(self, index: Int[Tensor, " chosen"] | Bool[Tensor, " goals"]) -> Goals:
        """Some of the goals, as wide as before."""
        if index.dtype == torch.bool:
            index = index.nonzero().squeeze(1)
        return Goals(
            self.atoms.index_select(0, index),
            self.answer.index_select(0, index),
            self.left_out.index_select(0, index),
        )

    def narrowed(self) -> Goals:
        """The same goals, only as wide as the widest of them."""
        widest = int(self.length.max()) if len(self) else 0
        return Goals(self.atoms[:, :widest].contiguous(), self.answer, self.left_out)

    @staticmethod
    def cat(parts: Sequence[Goals]) -> Goals:
        """Batches of one database one after another, padded to the widest."""
        atoms = max(p.atoms.shape[1] for p in parts)
        answers = max(p.answer.shape[1] for p in parts)
        return Goals(
            torch.cat(
                [pad(p.atoms, (0, 0, 0, atoms - p.atoms.shape[1]), value=PAD) for p in parts]
            ),
            torch.cat([pad(p.answer, (0, answers - p.answer.shape[1]), value=PAD) for p in parts]),
            torch.cat([p.left_out for p in parts]),
        )

    def to(self, device: torch.device | str) -> Goals:
        """The goals on a device."""
        return Goals(self.atoms.to(device), self.answer.to(device), self.left_out.to(device))

    def canonical(self, variables: int | None = None) -> Goals:
        """The goals with variables numbered by first occurrence over atoms, then answer.

        `variables` bounds the numbers in use, where the caller knows; otherwise it is looked up.

        >>> atoms = torch.tensor([[[0, -4, -3], [1, -3, -2]]])
        >>> goals = Goals(atoms, torch.tensor([[-2]]), torch.tensor([NO_FACT]))
        >>> goals.canonical().atoms.tolist(), goals.canonical().answer.tolist()
        ([[[0, -2, -3], [1, -3, -4]]], [[-4]])
        """
        count, atoms, width = self.atoms.shape
        flat = torch.cat([self.atoms.flatten(1), self.answer], 1)
        numbered = number_variables(flat, variables)
        return Goals(
            numbered[:, : atoms * width].reshape(count, atoms, width),
            numbered[:, atoms * width :],
            self.left_out,
        )


def number_variables(
    rows: Int[Tensor, "goals columns"], variables: int | None = None
) -> Int[Tensor, "goals columns"]:
    """Each row with its variables numbered by first occurrence."""
    count, columns = rows.shape
    if count == 0 or columns == 0:
        return rows
    if variables is None:
        variables = max(0, -1 - int(rows.min()))
    is_variable = rows < PAD
    # Everything that is no variable shares one more number, whose place is never read.
    number = torch.where(is_variable, -2 - rows, variables).long()
    place = torch.arange(columns, device=rows.device).expand(count, columns)
    first = torch.full((count, variables + 1), columns - 1, device=rows.device)
    first.scatter_reduce_(1, number, place, "amin")
    home = first.gather(1, number)
    rank = (is_variable & (home == place)).cumsum(1) - 1
    return torch.where(is_variable, (-2 - rank.gather(1, home)).to(rows.dtype), rows)


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
