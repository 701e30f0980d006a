"""f_atom: the embedding of an atom from those of its predicate and its arguments.

    e_A = f_atom(e_r, e_t₁, …, e_tₙ)        A = r(t₁, …, tₙ)

Any callable `f_atom(predicate, arguments)` will do, of shapes `[atoms, batch, dim]` and
`[atoms, batch, arity, dim]`; it is called once for each arity. The models of knowledge-graph
embedding score a triple r(h, t) by a sum (or norm) over components: here the components themselves
are the atom's vector, before the sum is taken.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from deepprooflog.errors import ModelError

FAtom: TypeAlias = Callable[[Tensor, Tensor], Tensor]


class AtomFunction(nn.Module, ABC):
    """f_atom. `arity` is the one it is made for (None: any); `spread` how wide symbols start.

    `spread` is a standard deviation of the symbols' components at which the dot products of atoms
    are moderate, so that the first softmax is neither flat nor saturated.
    """

    arity: int | None = 2

    @property
    @abstractmethod
    def spread(self) -> float: ...

    @abstractmethod
    def forward(
        self,
        predicate: Float[Tensor, "atoms batch dim"],
        arguments: Float[Tensor, "atoms batch arity dim"],
    ) -> Float[Tensor, "atoms batch dim"]: ...


class Mlp(AtomFunction):
    """W₂ gelu(W₁ [e_r; e_t₁; …; e_tₙ] + b₁) + b₂, for any arity.

    Position i has its own part of W₁ in all arities; positions beyond `positions` share the last.
    """

    arity = None

    def __init__(self, dim: int, positions: int = 4, hidden: int | None = None) -> None:
        super().__init__()
        hidden = 2 * dim if hidden is None else hidden
        self.weight = nn.Parameter(torch.empty(positions + 1, dim, hidden))
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.out = nn.Linear(hidden, dim)
        # As for a linear layer on a predicate with two arguments, the usual case.
        nn.init.uniform_(self.weight, -((3 * dim) ** -0.5), (3 * dim) ** -0.5)

    @property
    def spread(self) -> float:
        return 1.0

    def forward(
        self,
        predicate: Float[Tensor, "atoms batch dim"],
        arguments: Float[Tensor, "atoms batch arity dim"],
    ) -> Float[Tensor, "atoms batch dim"]:
        last = len(self.weight) - 1
        parts = torch.arange(arguments.shape[2] + 1, device=self.weight.device).clamp(max=last)
        inputs = torch.cat([predicate.unsqueeze(2), arguments], dim=2).flatten(2)
        hidden = inputs @ self.weight[parts].flatten(0, 1) + self.bias
        result: Tensor = self.out(nn.functional.gelu(hidden))
        return result

    def of_rows(
        self, vectors: Float[Tensor, "rows dim"], found: Int[Tensor, "atoms parts"]
    ) -> Float[Tensor, "atoms dim"]:
        """Many atoms of few symbols: each symbol goes through W₁ once for each place."""
        place = torch.arange(found.shape[1], device=found.device)
        weight = self.weight[place.clamp(max=len(self.weight) - 1)]
        hidden = (vectors @ weight).flatten(0, 1)
        total = nn.functional.embedding_bag(found + place * len(vectors), hidden, mode="sum")
        result: Tensor = self.out(nn.functional.gelu(total + self.bias))
        return result


class TransEAtom(AtomFunction):
    """h + r − t."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    @property
    def spread(self) -> float:
        return math.sqrt(1 / (3 * self.dim))

    def forward(
        self,
        predicate: Float[Tensor, "atoms batch dim"],
        arguments: Float[Tensor, "atoms batch 2 dim"],
    ) -> Float[Tensor, "atoms batch dim"]:
        return arguments[:, :, 0] + predicate - arguments[:, :, 1]


class DistMultAtom(AtomFunction):
    """h ∘ r ∘ t; its components sum to DistMult's score."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    @property
    def spread(self) -> float:
        return math.pow(self.dim, -1 / 6)

    def forward(
        self,
        predicate: Float[Tensor, "atoms batch dim"],
        arguments: Float[Tensor, "atoms batch 2 dim"],
    ) -> Float[Tensor, "atoms batch dim"]:
        return arguments[:, :, 0] * predicate * arguments[:, :, 1]


class ComplExAtom(AtomFunction):
    """h ∘ r ∘ t̄ over complex numbers; the real half of its components sums to ComplEx's score.

    A vector's first half holds the real parts, its second half the imaginary parts.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = _even(dim, "complex")

    @property
    def spread(self) -> float:
        # |h r t̄|² = |h|² |r|² |t|², each of the three twice the variance of a component.
        return math.pow(4 * self.dim, -1 / 6)

    def forward(
        self,
        predicate: Float[Tensor, "atoms batch dim"],
        arguments: Float[Tensor, "atoms batch 2 dim"],
    ) -> Float[Tensor, "atoms batch dim"]:
        a, b = predicate.chunk(2, dim=-1)
        c, d = arguments[:, :, 0].chunk(2, dim=-1)
        x, y = arguments[:, :, 1].chunk(2, dim=-1)
        real, imaginary = a * c - b * d, a * d + b * c
        return torch.cat([real * x + imaginary * y, imaginary * x - real * y], dim=-1)


class RotatEAtom(AtomFunction):
    """h ∘ r/|r| − t over complex numbers: r turns each component of h; RotatE's score is −norm.

    A vector's first half holds the real parts, its second half the imaginary parts.
    """

    # Keeps the angle of a vanishing r differentiable.
    smallest = 1e-12

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = _even(dim, "rotate")

    @property
    def spread(self) -> float:
        return math.sqrt(1 / (2 * self.dim))

    def forward(
        self,
        predicate: Float[Tensor, "atoms batch dim"],
        arguments: Float[Tensor, "atoms batch 2 dim"],
    ) -> Float[Tensor, "atoms batch dim"]:
        a, b = predicate.chunk(2, dim=-1)
        modulus = (a * a + b * b).clamp(min=self.smallest).sqrt()
        a, b = a / modulus, b / modulus
        c, d = arguments[:, :, 0].chunk(2, dim=-1)
        return torch.cat([a * c - b * d, a * d + b * c], dim=-1) - arguments[:, :, 1]


def _even(dim: int, name: str) -> int:
    if dim % 2:
        raise ModelError(
            f"f_atom={name!r} needs an even dim, not {dim}",
            hint="complex numbers take two components each",
        )
    return dim


def atoms_of_rows(
    f_atom: FAtom, vectors: Float[Tensor, "rows dim"], found: Int[Tensor, "atoms parts"]
) -> Float[Tensor, "atoms dim"]:
    """f_atom of atoms whose predicate and arguments have these rows among some vectors."""
    if type(f_atom) is Mlp and len(found) > len(vectors):
        return f_atom.of_rows(vectors, found)
    return f_atom(vectors[found[:, :1]], vectors[found[:, 1:]].unsqueeze(1)).squeeze(1)
