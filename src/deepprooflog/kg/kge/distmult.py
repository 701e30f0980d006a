"""DistMult (Yang et al., ICLR 2015), Σᵢ hᵢ rᵢ tᵢ over 2 · dimension reals, one against all.

    −log softmax(f(h, r, ·))[t] − log softmax(f(·, r, t))[h] + λ (‖h‖³₃ + 2 ‖r‖³₃ + ‖t‖³₃)

is halved, as ComplEx's loss is. The score does not know head from tail.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from deepprooflog.kg.data.triple_set import TripleSet
from deepprooflog.kg.kge.kge import Kge, beside, rows
from deepprooflog.kg.kge.options import KgeOptions


class DistMult(Kge):
    """Relations as real factors."""

    matches_by_product = True
    carry = staticmethod(torch.mul)
    inverse = staticmethod(torch.clone)  # a factor is asked the same both ways

    def __init__(self, entities: int, relations: int, dimension: int, scale: float = 1e-3) -> None:
        super().__init__(entities, relations, dimension)
        self.factor = nn.Parameter(torch.empty(relations, 2 * dimension))
        nn.init.normal_(self.entity, std=scale)
        nn.init.normal_(self.factor, std=scale)

    def relation(self, relation: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        return rows(self.factor, relation)

    def match(
        self, query: Float[Tensor, "group rows width"], entity: Float[Tensor, "group n width"]
    ) -> Float[Tensor, "group rows n"]:
        return query @ entity.mT

    @classmethod
    def make(cls, entities: int, relations: int, dimension: int, options: KgeOptions) -> DistMult:
        return cls(entities, relations, dimension)

    def objective(
        self, options: KgeOptions, known: TripleSet[Tensor]
    ) -> Callable[[Int[Tensor, "batch 3"]], Float[Tensor, " batch"]]:
        def losses(triples: Int[Tensor, "batch 3"]) -> Float[Tensor, " batch"]:
            return one_against_all_real(self, triples, options.n3)

        return torch.compile(losses, dynamic=False) if options.compiled else losses

    @classmethod
    def side_by_side(cls, members: Sequence[Any], dimension: int) -> DistMult:
        """Entities over √k: (1/k) Σⱼ Σᵢ hᵢ rᵢ tᵢ."""
        result = cls(members[0].entities, members[0].relations, dimension)
        result.factor.copy_(beside([m.factor for m in members]))
        result.entity.copy_(beside([m.entity for m in members]) / math.sqrt(len(members)))
        return result


def one_against_all_real(
    model: DistMult, triples: Int[Tensor, "batch 3"], n3: float
) -> Float[Tensor, " batch"]:
    """The cross-entropy of both directions and the 3-norms of each triple."""
    h, r, t = triples.unbind(1)
    head, tail, factor = rows(model.entity, h), rows(model.entity, t), rows(model.factor, r)
    loss = cross_entropy((head * factor) @ model.entity.T, t, reduction="none")
    loss = loss + cross_entropy((tail * factor) @ model.entity.T, h, reduction="none")
    norms = (head.abs().pow(3) + tail.abs().pow(3) + 2 * factor.abs().pow(3)).sum(-1)
    return (loss + n3 * norms) / 2
