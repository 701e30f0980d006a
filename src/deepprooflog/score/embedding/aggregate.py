"""f_agg: the embedding of a goal from those of its atoms.

    e_G = f_agg(e_A₁, …, e_Aₙ)        G = ← A₁, …, Aₙ

A module `f_agg(atoms, goals)` gets the atoms of all goals as rows `[items, batch, dim]`, those of
a goal in their order, and `goals`, which says where each goal's rows are; it returns
`[goals, batch, dim]`. True, the goal without atoms, has a vector of its own and does not come here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from deepprooflog.errors import ModelError
from deepprooflog.score.segments import Segments, run_gru, segment_logsumexp, segment_sum, segments

FAgg: TypeAlias = Callable[[Tensor, Segments], Tensor]


class Aggregate(nn.Module, ABC):
    """f_agg."""

    @abstractmethod
    def forward(
        self, atoms: Float[Tensor, "items batch dim"], goals: Segments
    ) -> Float[Tensor, "goals batch dim"]: ...


class Sum(Aggregate):
    """Σ e_Aᵢ, in any order."""

    def forward(
        self, atoms: Float[Tensor, "items batch dim"], goals: Segments
    ) -> Float[Tensor, "goals batch dim"]:
        return segment_sum(atoms, goals.index, goals.count)


class Mean(Aggregate):
    """Σ e_Aᵢ / n, in any order."""

    def forward(
        self, atoms: Float[Tensor, "items batch dim"], goals: Segments
    ) -> Float[Tensor, "goals batch dim"]:
        total = segment_sum(atoms, goals.index, goals.count)
        return total / goals.lengths.to(total.dtype).view(-1, 1, 1)


class Attention(Aggregate):
    """Σ αᵢ e_Aᵢ, α the softmax over the goal's atoms of w · tanh(W e_Aᵢ + b), in any order."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.score = nn.Sequential(nn.Linear(dim, dim), nn.Tanh(), nn.Linear(dim, 1, bias=False))

    def forward(
        self, atoms: Float[Tensor, "items batch dim"], goals: Segments
    ) -> Float[Tensor, "goals batch dim"]:
        scores = self.score(atoms).squeeze(-1)
        alpha = (scores - segment_logsumexp(scores, goals.index, goals.count)[goals.index]).exp()
        return segment_sum(alpha.unsqueeze(-1) * atoms, goals.index, goals.count)


class Gru(Aggregate):
    """The last state of a GRU that reads the atoms from Aₙ to A₁, the one resolved next."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.gru = nn.GRU(dim, dim)

    def forward(
        self, atoms: Float[Tensor, "items batch dim"], goals: Segments
    ) -> Float[Tensor, "goals batch dim"]:
        initial = torch.zeros_like(atoms[:1]).expand(goals.count, -1, -1)
        return run_gru(self.gru, atoms, goals, initial)[goals.final]


BY_NAME: dict[str, Callable[[int], Aggregate]] = {
    "sum": lambda dim: Sum(),
    "mean": lambda dim: Mean(),
    "attention": Attention,
    "gru": Gru,
}


def aggregate_rows(
    f_agg: FAgg,
    vectors: Float[Tensor, "atoms dim"],
    index: Int[Tensor, "goals width"],
    present: Bool[Tensor, "goals width"],
) -> Float[Tensor, "goals dim"]:
    """f_agg of goals whose atoms have these rows; one past the last, and 0, where there is none."""
    if isinstance(f_agg, Sum | Mean):
        padded = torch.cat([vectors, vectors.new_zeros((1, vectors.shape[1]))])
        total = nn.functional.embedding_bag(index, padded, mode="sum")
        if isinstance(f_agg, Sum):
            return total
        return total / present.sum(1, keepdim=True).clamp_min(1)
    lengths = present.sum(1)
    mine = (lengths > 0).nonzero().squeeze(1)
    result = vectors.new_zeros((len(index), vectors.shape[1]))
    if not len(mine):
        return result
    parts = segments(lengths[mine].tolist(), vectors.device, backwards=True)
    return result.index_copy(0, mine, f_agg(vectors[index[present]].unsqueeze(1), parts).squeeze(1))


def aggregate_function(f_agg: str | FAgg, dim: int) -> FAgg:
    """f_agg by name, or the module given."""
    if not isinstance(f_agg, str):
        return f_agg
    if f_agg not in BY_NAME:
        raise ModelError(
            f"there is no f_agg {f_agg!r}", hint=f"one of {', '.join(BY_NAME)}, or a module"
        )
    return BY_NAME[f_agg](dim)
