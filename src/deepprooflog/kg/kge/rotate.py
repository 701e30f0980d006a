"""RotatE (Sun et al., ICLR 2019): γ − Σᵢ |hᵢ rᵢ − tᵢ| with |rᵢ| = 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from deepprooflog.errors import ModelError
from deepprooflog.kg.data.triple_set import TripleSet
from deepprooflog.kg.kge.kge import Kge, beside, rows
from deepprooflog.kg.kge.loss import adversarial_objective
from deepprooflog.kg.kge.modulus import modulus_distance
from deepprooflog.kg.kge.options import KgeOptions

Norm = Literal["moduli", "euclidean"]


class RotatE(Kge):
    """Relations as rotations: γ − Σᵢ |hᵢ rᵢ − tᵢ| with rᵢ = exp(i θᵢ).

    Entities begin uniform in ±(γ + 2)/d, phases uniform in ±π, as in the paper, and as there phases
    are learned on the scale of entities: an optimizer that moves all parameters alike would turn
    relations hundreds of times more slowly than it moves entities. `norm` is "moduli", the paper's,
    or "euclidean", √Σᵢ |·|², as other libraries have it.
    """

    weights_depend_on = ("margin",)  # the scale on which phases are learned
    draws = True
    kept = ("norm",)
    regularizers: ClassVar[dict[str, tuple[float, ...]]] = {"margin": (1.0, 0.5)}

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

    @classmethod
    def make(cls, entities: int, relations: int, dimension: int, options: KgeOptions) -> RotatE:
        return cls(entities, relations, dimension, options.margin)

    def objective(
        self, options: KgeOptions, known: TripleSet[Tensor]
    ) -> Callable[[Int[Tensor, "batch 3"]], Float[Tensor, " batch"]]:
        return adversarial_objective(self, options, known)

    @classmethod
    def side_by_side(cls, members: Sequence[Any], dimension: int) -> RotatE:
        """Entities over k: γ − (1/k) Σⱼ Σᵢ |hᵢ rᵢ − tᵢ|."""
        first = members[0]
        if len({(m.margin, m.norm) for m in members}) > 1 or first.norm != "moduli":
            raise ModelError(
                "joined RotatEs have one margin and the norm of moduli",
                hint="distances of another norm do not add up",
            )
        result = cls(first.entities, first.relations, dimension, first.margin)
        result.set_phase(torch.cat([m.phase for m in members], 1))
        result.entity.copy_(beside([m.entity for m in members]) / len(members))
        return result
