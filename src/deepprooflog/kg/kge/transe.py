"""TransE (Bordes et al., NIPS 2013): γ − ‖h + r − t‖₁, vectors of 2 · dimension reals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from deepprooflog.errors import ModelError
from deepprooflog.kg.data.triple_set import TripleSet
from deepprooflog.kg.kge.kge import Kge, beside, rows
from deepprooflog.kg.kge.loss import adversarial_objective
from deepprooflog.kg.kge.options import KgeOptions


class TransE(Kge):
    """Relations as translations, trained as RotatE is (Sun et al. 2019).

    All vectors begin uniform in ±(γ + 2)/(2 · dimension): a sum of as many differences is then of
    the size of the margin.
    """

    carry = staticmethod(torch.add)
    inverse = staticmethod(torch.neg)
    weights_depend_on = ("margin",)
    draws = True

    def __init__(self, entities: int, relations: int, dimension: int, margin: float = 12.0) -> None:
        super().__init__(entities, relations, dimension)
        self.margin = margin
        self.shift = nn.Parameter(torch.empty(relations, 2 * dimension))
        reach = (margin + 2.0) / (2 * dimension)
        nn.init.uniform_(self.entity, -reach, reach)
        nn.init.uniform_(self.shift, -reach, reach)

    def relation(self, relation: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        return rows(self.shift, relation)

    def match(
        self, query: Float[Tensor, "group rows width"], entity: Float[Tensor, "group n width"]
    ) -> Float[Tensor, "group rows n"]:
        return self.margin - torch.cdist(query, entity, p=1.0)

    @classmethod
    def make(cls, entities: int, relations: int, dimension: int, options: KgeOptions) -> TransE:
        return cls(entities, relations, dimension, options.margin)

    def objective(
        self, options: KgeOptions, known: TripleSet[Tensor]
    ) -> Callable[[Int[Tensor, "batch 3"]], Float[Tensor, " batch"]]:
        return adversarial_objective(self, options, known)

    @classmethod
    def side_by_side(cls, members: Sequence[Any], dimension: int) -> TransE:
        """Vectors over k: γ − (1/k) Σⱼ ‖h + r − t‖₁."""
        first = members[0]
        if len({m.margin for m in members}) > 1:
            raise ModelError("joined TransEs have one margin")
        result = cls(first.entities, first.relations, dimension, first.margin)
        result.shift.copy_(beside([m.shift for m in members]) / len(members))
        result.entity.copy_(beside([m.entity for m in members]) / len(members))
        return result
