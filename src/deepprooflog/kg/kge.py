"""Knowledge-graph embeddings: a score for each triple (h, r, t), as complex vectors.

    RotatE   γ − Σᵢ |hᵢ rᵢ − tᵢ|       |rᵢ| = 1     (Sun et al., ICLR 2019)
    ComplEx  Re Σᵢ hᵢ rᵢ t̄ᵢ                         (Trouillon et al., ICML 2016)

Both ask a tail the same question, h∘r, and a head the mirrored one, r̄∘t (a rotation is undone by
its conjugate; Re Σ h r t̄ = Re Σ h conj(r̄ t)). A model says what its relations are and how well a
question matches an entity; scores of triples, of candidates and of all entities follow.

A complex vector of dimension d is one row of 2d numbers, real parts first.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from deepprooflog.errors import ModelError
from deepprooflog.kg.modulus import modulus_distance

Norm = Literal["moduli", "euclidean"]

# Numbers held at once while many triples are scored: 64 MiB of float32 for each intermediate.
HELD = 1 << 24


class Kge(nn.Module, ABC):
    """What the embedding models share. Indices are tensors on the model's device."""

    def __init__(self, entities: int, relations: int, dimension: int) -> None:
        super().__init__()
        if min(entities, relations, dimension) < 1:
            raise ModelError(
                f"an embedding of {entities} entities and {relations} relations in {dimension} "
                "dimensions is empty",
                hint="at least one of each",
            )
        self.relations = relations
        self.dimension = dimension
        self.entity = nn.Parameter(torch.zeros(entities, 2 * dimension))

    @property
    def entities(self) -> int:
        return len(self.entity)

    @abstractmethod
    def relation(self, relation: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        """The relations' complex vectors."""

    @abstractmethod
    def match(
        self, query: Float[Tensor, "group rows width"], entity: Float[Tensor, "group n width"]
    ) -> Float[Tensor, "group rows n"]:
        """The score of each question with each entity of its group."""

    def ask_tail(
        self, head: Int[Tensor, "*batch"], relation: Int[Tensor, "*batch"]
    ) -> Float[Tensor, "*batch width"]:
        """h∘r, what the tail is compared with."""
        return product(rows(self.entity, head), self.relation(relation))

    def ask_head(
        self, relation: Int[Tensor, "*batch"], tail: Int[Tensor, "*batch"]
    ) -> Float[Tensor, "*batch width"]:
        """r̄∘t, what the head is compared with."""
        return product(rows(self.entity, tail), conjugate(self.relation(relation)))

    def score(
        self, head: Int[Tensor, "*_h"], relation: Int[Tensor, "*_r"], tail: Int[Tensor, "*_t"]
    ) -> Float[Tensor, "*_"]:
        """The scores of triples; the three indices are broadcast.

        >>> model = RotatE(5, 2, 4)
        >>> model.score(torch.tensor(0), torch.tensor(1), torch.arange(5)).shape
        torch.Size([5])
        """
        h, r, t = torch.broadcast_tensors(head, relation, tail)  # type: ignore[no-untyped-call]
        flat = (chunks(x.reshape(-1), self._at_once(1)) for x in (h, r, t))
        parts = [
            self.match(self.ask_tail(a, b)[:, None], rows(self.entity, c)[:, None])[:, 0, 0]
            for a, b, c in zip(*flat, strict=True)
        ]
        return torch.cat(parts).reshape(h.shape)

    def score_tails(
        self,
        head: Int[Tensor, " b"],
        relation: Int[Tensor, " b"],
        candidates: Int[Tensor, "b n"],
    ) -> Float[Tensor, "b n"]:
        """Candidate tails of each (h, r, ?)."""
        return self._candidates(self.ask_tail(head, relation), candidates)

    def score_heads(
        self,
        relation: Int[Tensor, " b"],
        tail: Int[Tensor, " b"],
        candidates: Int[Tensor, "b n"],
    ) -> Float[Tensor, "b n"]:
        """Candidate heads of each (?, r, t)."""
        return self._candidates(self.ask_head(relation, tail), candidates)

    def all_tails(
        self, head: Int[Tensor, " b"], relation: Int[Tensor, " b"]
    ) -> Float[Tensor, "b entities"]:
        """Every entity as the tail of each (h, r, ?)."""
        return self._everyone(self.ask_tail(head, relation))

    def all_heads(
        self, relation: Int[Tensor, " b"], tail: Int[Tensor, " b"]
    ) -> Float[Tensor, "b entities"]:
        """Every entity as the head of each (?, r, t)."""
        return self._everyone(self.ask_head(relation, tail))

    def _candidates(
        self, query: Float[Tensor, "b width"], candidates: Int[Tensor, "b n"]
    ) -> Float[Tensor, "b n"]:
        size = self._at_once(candidates.shape[1])
        parts = [
            self.match(q[:, None], rows(self.entity, c))[:, 0]
            for q, c in zip(chunks(query, size), chunks(candidates, size), strict=True)
        ]
        return torch.cat(parts)

    def _everyone(self, query: Float[Tensor, "b width"]) -> Float[Tensor, "b entities"]:
        entity = self.entity[None]
        parts = [
            self.match(q[None], entity)[0] for q in chunks(query, self._at_once(self.entities))
        ]
        return torch.cat(parts)

    def _at_once(self, candidates: int) -> int:
        return max(1, HELD // (2 * self.dimension * max(candidates, 1)))


class RotatE(Kge):
    """Relations as rotations: γ − Σᵢ |hᵢ rᵢ − tᵢ| with rᵢ = exp(i θᵢ).

    Entities begin uniform in ±(γ + 2)/d, phases uniform in ±π, as in the paper, and as there phases
    are learned on the scale of entities: an optimizer that moves all parameters alike would turn
    relations hundreds of times more slowly than it moves entities. `norm` is "moduli", the paper's,
    or "euclidean", √Σᵢ |·|², as other libraries have it.
    """

    def __init__(
        self,
        entities: int,
        relations: int,
        dimension: int,
        margin: float = 12.0,
        norm: Norm = "moduli",
    ) -> None:
        super().__init__(entities, relations, dimension)
        self.margin = margin
        self.norm = norm
        self.reach = (margin + 2.0) / dimension
        self.turn = nn.Parameter(torch.empty(relations, dimension))
        nn.init.uniform_(self.entity, -self.reach, self.reach)
        nn.init.uniform_(self.turn, -self.reach, self.reach)

    @property
    def phase(self) -> Float[Tensor, "relations dimension"]:
        """θ of every relation."""
        return self.turn * (math.pi / self.reach)

    @torch.no_grad()
    def set_phase(self, phase: Float[Tensor, "relations dimension"]) -> None:
        """Give the relations these θ."""
        self.turn.copy_(phase * (self.reach / math.pi))

    def relation(self, relation: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        phase = rows(self.turn, relation) * (math.pi / self.reach)
        return torch.cat([phase.cos(), phase.sin()], -1)

    def match(
        self, query: Float[Tensor, "group rows width"], entity: Float[Tensor, "group n width"]
    ) -> Float[Tensor, "group rows n"]:
        if self.norm == "moduli":
            return self.margin - modulus_distance(query, entity)
        # Through a matrix product the distance of near vectors would lose its digits.
        exact = "donot_use_mm_for_euclid_dist"
        return self.margin - torch.cdist(query, entity, compute_mode=exact)


class ComplEx(Kge):
    """Relations as complex factors, each with an inverse of its own (Lacroix et al., ICML 2018).

    Heads are learned through the inverse, as tails of (t, r⁻¹, ?). A triple has one score, the mean
    of its two directions, which is that of the relation ½ (r + conj r⁻¹).
    """

    def __init__(self, entities: int, relations: int, dimension: int, scale: float = 1e-3) -> None:
        super().__init__(entities, relations, dimension)
        self.factor = nn.Parameter(torch.empty(2 * relations, 2 * dimension))
        nn.init.normal_(self.entity, std=scale)
        nn.init.normal_(self.factor, std=scale)

    def relation(self, relation: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        inverse = conjugate(rows(self.factor, relation + self.relations))
        return (rows(self.factor, relation) + inverse) / 2

    def match(
        self, query: Float[Tensor, "group rows width"], entity: Float[Tensor, "group n width"]
    ) -> Float[Tensor, "group rows n"]:
        return query @ entity.mT


def product(
    x: Float[Tensor, "*batch width"], y: Float[Tensor, "*batch width"]
) -> Float[Tensor, "*batch width"]:
    """The complex product, element by element.

    >>> product(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.0])).tolist()  # i · i
    [-1.0, 0.0]
    """
    (a, b), (c, d) = x.chunk(2, -1), y.chunk(2, -1)
    return torch.cat([a * c - b * d, a * d + b * c], -1)


def conjugate(x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
    """The complex conjugate."""
    real, imaginary = x.chunk(2, -1)
    return torch.cat([real, -imaginary], -1)


def rows(
    table: Float[Tensor, "n width"], index: Int[Tensor, "*batch"]
) -> Float[Tensor, "*batch width"]:
    """Rows of a table, by the gather whose gradient is fast on the device at hand."""
    if table.device.type == "cpu":
        return nn.functional.embedding(index, table)
    return table.index_select(0, index.reshape(-1)).reshape(*index.shape, table.shape[-1])


def chunks(x: Tensor, size: int) -> Sequence[Tensor]:
    """A tensor cut along its first axis; at least one piece, which may be empty."""
    pieces: Sequence[Tensor] = x.split(size)  # type: ignore[no-untyped-call]
    return pieces
