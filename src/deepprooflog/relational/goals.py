"""Batches of goals as integers: what `logic.goal.Goal` is, many at a time.

A goal is a row of atoms, an atom a predicate's number and its arguments. Constants are numbered
from 0; variable number i is −2 − i; PAD stands where there is no atom or no argument. A goal is
canonical when its variables are numbered by first occurrence over atoms, then answer.
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
