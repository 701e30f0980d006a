"""A system over ground rules: from the atoms of a body to what the body says of its head.

Each atom has a truth value and a vector, at first those of the embedding:

    v₀(a) = p_kge(a),    e₀(a) = tanh(W [h∘r, t])

A system gives a truth value and a vector for each ground body; those of an atom are then the
maximum of its own and its bodies'. Each system has a file and a line in `table.BY_NAME`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn


@dataclass(frozen=True, eq=False)
class AtomStates:
    """The truth values and vectors of atoms."""

    value: Float[Tensor, "*atoms"]
    vector: Float[Tensor, "*atoms size"]


class GroundSystem(nn.Module, ABC):
    """What the systems share; `size` is that of atoms' vectors, 0 where it has no use for them."""

    reads_vectors: ClassVar[bool] = True

    def __init__(
        self,
        rules: int,
        atoms: int,
        width: int,
        size: int,
        tnorm: Callable[[Tensor], Tensor],
    ) -> None:
        super().__init__()
        self.rules, self.atoms, self.tnorm = rules, atoms, tnorm
        self.size = size if self.reads_vectors else 0
        self.encode = nn.Linear(2 * width, self.size) if self.size else None

    def vectors(self, embedded: Float[Tensor, "atoms wide"]) -> Float[Tensor, "atoms size"]:
        """e₀ of atoms, from the embedding's h∘r and t side by side."""
        if self.encode is None:
            return embedded.new_zeros(len(embedded), 0)
        return torch.tanh(self.encode(embedded))

    @abstractmethod
    def bodies(
        self,
        rule: Int[Tensor, " groundings"],
        atoms: AtomStates,
        present: Bool[Tensor, "groundings atoms"],
    ) -> AtomStates:
        """The truth value and the vector of each ground body."""


class PerRule(nn.Module):
    """One linear map for each rule, y = W_rule x + b_rule.

    >>> PerRule(3, 4, 2)(torch.tensor([0, 2, 2]), torch.ones(3, 4)).shape
    torch.Size([3, 2])
    """

    def __init__(self, rules: int, inputs: int, outputs: int) -> None:
        super().__init__()
        bound = max(1, inputs) ** -0.5
        self.weight = nn.Parameter(torch.empty(rules, inputs, outputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(rules, outputs))

    def forward(
        self, rule: Int[Tensor, " n"], x: Float[Tensor, "n inputs"]
    ) -> Float[Tensor, "n outputs"]:
        order = rule.argsort(stable=True)
        sizes = rule.bincount(minlength=len(self.weight)).tolist()
        groups = x[order].split(sizes)  # type: ignore[no-untyped-call]
        mapped = [group @ self.weight[number] for number, group in enumerate(groups) if len(group)]
        result = x.new_zeros(len(x), self.weight.shape[-1])
        return result.index_copy(0, order, torch.cat([*mapped, result[:0]])) + self.bias[rule]
