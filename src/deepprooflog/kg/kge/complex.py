"""ComplEx (Trouillon et al., ICML 2016), Re Σᵢ hᵢ rᵢ t̄ᵢ, trained one against all.

    −log softmax(f(h, r, ·))[t] − log softmax(f(t, r⁻¹, ·))[h]
    + λ (‖h‖³₃ + ‖r‖³₃ + ‖t‖³₃)                                    (Lacroix et al. 2018)
    + μ (‖h‖² + ‖t‖² + 3 ‖h∘r‖² + 3 ‖t∘r‖²) / 2                    (Zhang et al. 2020)
    − ν log softmax(f(h, ·, t))[r] − ν log softmax(f(t, ·, h))[r⁻¹]   (Chen et al. 2021)

The last but one is weighted as in the authors' code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from deepprooflog.kg.data.triple_set import TripleSet
from deepprooflog.kg.kge.kge import Kge, beside, conjugate, product, rows
from deepprooflog.kg.kge.options import KgeOptions


class ComplEx(Kge):
    """Relations as complex factors, each with an inverse of its own (Lacroix et al., ICML 2018).

    Heads are learned through the inverse, as tails of (t, r⁻¹, ?). A triple has one score, the mean
    of its two directions, which is that of the relation ½ (r + conj r⁻¹).
    """

    regularizers: ClassVar[dict[str, tuple[float, ...]]] = {"n3": (1.0, 0.1, 4.0)}
    matches_by_product = True

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

    @classmethod
    def make(cls, entities: int, relations: int, dimension: int, options: KgeOptions) -> ComplEx:
        return cls(entities, relations, dimension)

    def objective(
        self, options: KgeOptions, known: TripleSet[Tensor]
    ) -> Callable[[Int[Tensor, "batch 3"]], Float[Tensor, " batch"]]:
        def losses(triples: Int[Tensor, "batch 3"]) -> Float[Tensor, " batch"]:
            return one_against_all(self, triples, options.n3, options.dura, options.telling)

        return torch.compile(losses, dynamic=False) if options.compiled else losses

    @classmethod
    def side_by_side(cls, members: Sequence[Any], dimension: int) -> ComplEx:
        """Entities over √k: (1/k) Σⱼ Re Σᵢ hᵢ rᵢ t̄ᵢ."""
        result = cls(members[0].entities, members[0].relations, dimension)
        result.factor.copy_(beside([m.factor for m in members]))
        result.entity.copy_(beside([m.entity for m in members]) / math.sqrt(len(members)))
        return result


def one_against_all(
    model: ComplEx, triples: Int[Tensor, "batch 3"], n3: float, dura: float = 0.0,
    telling: float = 0.0,
) -> Float[Tensor, " batch"]:  # fmt: skip
    """The cross-entropy of both directions and the regularizers of each triple."""
    h, r, t = triples.unbind(1)
    head, tail = rows(model.entity, h), rows(model.entity, t)
    forward, inverse = rows(model.factor, r), rows(model.factor, r + model.relations)
    loss = cross_entropy(product(head, forward) @ model.entity.T, t, reduction="none")
    loss = loss + cross_entropy(product(tail, inverse) @ model.entity.T, h, reduction="none")
    if n3:
        loss = loss + n3 * sum(cubed(v) for v in (head, tail, forward, inverse))
    if dura:
        loss = loss + dura * (dual(head, forward, tail) + dual(tail, inverse, head))
    if telling:
        along, against = torch.split(model.factor, model.relations)
        told = cross_entropy(product(conjugate(head), tail) @ along.T, r, reduction="none")
        back = cross_entropy(product(conjugate(tail), head) @ against.T, r, reduction="none")
        loss = loss + telling * (told + back)
    return loss / 2


def dual(
    head: Float[Tensor, "batch width"],
    relation: Float[Tensor, "batch width"],
    tail: Float[Tensor, "batch width"],
) -> Float[Tensor, " batch"]:
    """(‖h‖² + ‖t‖² + 3 ‖h∘r‖² + 3 ‖t∘r‖²) / 2: small where h∘r is near t.

    ‖h∘r − t‖² = ‖h∘r‖² + ‖t‖² − 2 Re Σ h r t̄, whose last term the cross-entropy is about.

    >>> one, i = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 2.0]])
    >>> dual(one, i, one).item()  # (1 + 1 + 3·4 + 3·4) / 2
    13.0
    """
    entities = head.square() + tail.square()
    real, imaginary = relation.chunk(2, -1)
    moduli = (real.square() + imaginary.square()).repeat(1, 2)
    return (entities * (1.0 + 3.0 * moduli)).sum(-1) / 2


def cubed(x: Float[Tensor, "batch width"]) -> Float[Tensor, " batch"]:
    """‖x‖³₃: the sum of the cubed moduli.

    >>> cubed(torch.tensor([[3.0, 4.0]])).item()
    125.0
    """
    real, imaginary = x.chunk(2, -1)
    return (real.square() + imaginary.square()).pow(1.5).sum(-1)
