"""Models that score triples: embeddings, and any module of one's own that has `score(h, r, t)`."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from deepprooflog.errors import ModelError

# Triples that a module is given at once.
AT_ONCE = 1 << 18


class TripleModel(nn.Module, ABC):
    """A score for each triple of numbered entities and relations; indices are on its device."""

    relations: int

    @property
    @abstractmethod
    def entities(self) -> int:
        """How many entities it knows: 0 … n−1."""

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """Where it computes."""

    @abstractmethod
    def score(
        self, head: Int[Tensor, "*_h"], relation: Int[Tensor, "*_r"], tail: Int[Tensor, "*_t"]
    ) -> Float[Tensor, "*_"]:
        """The scores of triples; the three indices are broadcast."""

    @abstractmethod
    def all_tails(
        self, head: Int[Tensor, " b"], relation: Int[Tensor, " b"]
    ) -> Float[Tensor, "b entities"]:
        """Every entity as the tail of each (h, r, ?)."""

    @abstractmethod
    def all_heads(
        self, relation: Int[Tensor, " b"], tail: Int[Tensor, " b"]
    ) -> Float[Tensor, "b entities"]:
        """Every entity as the head of each (?, r, t)."""


class ModuleScores(TripleModel):
    """The scores of a module, `module.score(h, r, t)` of index tensors of one length.

    The module is copied, in evaluation mode. Its numbers of entities and relations may be others
    than those of the graph: `entity_rows[e]` is the module's number of the graph's entity e.

    >>> class Sum(nn.Module):
    ...     def score(self, h, r, t):
    ...         return (h + 10 * r + 100 * t).float()
    >>> model = ModuleScores(Sum(), [0, 1, 2], [0])
    >>> model.all_tails(torch.tensor([2]), torch.tensor([0])).tolist()
    [[2.0, 102.0, 202.0]]
    """

    entity_rows: Int[Tensor, " entities"]
    relation_rows: Int[Tensor, " relations"]

    def __init__(
        self, module: nn.Module, entity_rows: Sequence[int], relation_rows: Sequence[int]
    ) -> None:
        super().__init__()
        if not callable(getattr(module, "score", None)):
            raise ModelError(
                f"a {type(module).__name__} has no score(h, r, t)",
                hint="a method of index tensors, which returns a score for each triple",
            )
        self.module = copy.deepcopy(module).eval()
        self.relations = len(relation_rows)
        where = next((t.device for t in self.module.state_dict().values()), torch.device("cpu"))
        for name, numbers in (("entity_rows", entity_rows), ("relation_rows", relation_rows)):
            rows = torch.tensor(list(numbers), dtype=torch.int64, device=where)
            self.register_buffer(name, rows)

    @property
    def entities(self) -> int:
        return len(self.entity_rows)

    @property
    def device(self) -> torch.device:
        return self.entity_rows.device

    def score(
        self, head: Int[Tensor, "*_h"], relation: Int[Tensor, "*_r"], tail: Int[Tensor, "*_t"]
    ) -> Float[Tensor, "*_"]:
        h, r, t = torch.broadcast_tensors(head, relation, tail)  # type: ignore[no-untyped-call]
        parts = [self._score(*part) for part in zip(*map(_pieces, (h, r, t)), strict=True)]
        return torch.cat(parts).reshape(h.shape)

    def all_tails(
        self, head: Int[Tensor, " b"], relation: Int[Tensor, " b"]
    ) -> Float[Tensor, "b entities"]:
        every = torch.arange(self.entities, device=head.device)
        return self.score(head[:, None], relation[:, None], every[None])

    def all_heads(
        self, relation: Int[Tensor, " b"], tail: Int[Tensor, " b"]
    ) -> Float[Tensor, "b entities"]:
        every = torch.arange(self.entities, device=tail.device)
        return self.score(every[None], relation[:, None], tail[:, None])

    def _score(
        self, head: Int[Tensor, " n"], relation: Int[Tensor, " n"], tail: Int[Tensor, " n"]
    ) -> Float[Tensor, " n"]:
        module: Any = self.module
        found = module.score(
            self.entity_rows[head], self.relation_rows[relation], self.entity_rows[tail]
        )
        if isinstance(found, Tensor) and found.shape == (len(head), 1):
            found = found[:, 0]
        if not isinstance(found, Tensor) or found.shape != head.shape:
            shape = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise ModelError(
                f"{type(module).__name__}.score gave {shape} for {len(head)} triples",
                hint="one score for each triple",
            )
        return found.float() if not found.is_floating_point() else found

    def among(self, numbers: Sequence[int]) -> ModuleScores:
        """The same with other numbers: the entity i is what the entity numbers[i] was."""
        rows = self.entity_rows[torch.tensor(list(numbers), dtype=torch.int64).to(self.device)]
        return ModuleScores(self.module, rows.tolist(), self.relation_rows.tolist())


def _pieces(x: Int[Tensor, "*batch"]) -> Sequence[Tensor]:
    pieces: Sequence[Tensor] = x.reshape(-1).split(AT_ONCE)  # type: ignore[no-untyped-call]
    return pieces
