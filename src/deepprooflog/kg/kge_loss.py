"""What an embedding is trained to: true triples above corrupted ones.

    RotatE    −log σ(f(x)) − Σᵢ wᵢ log σ(−f(x'ᵢ)),  w = softmax(α f(x'))      (Sun et al. 2019)
    ComplEx   −log softmax(f(h, r, ·))[t] − log softmax(f(t, r⁻¹, ·))[h]
              + λ (‖h‖³₃ + ‖r‖³₃ + ‖t‖³₃)                                    (Lacroix et al. 2018)
              + μ (‖h‖² + ‖t‖² + 3 ‖h∘r‖² + 3 ‖t∘r‖²) / 2                    (Zhang et al. 2020)

The first is halved, and the last weighted, as in the authors' code. Negatives x' are drawn
uniformly on the device.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy, logsigmoid

from deepprooflog.kg.kge import ComplEx, Kge, RotatE, product, rows
from deepprooflog.kg.kge_known import KnownTriples
from deepprooflog.kg.kge_options import KgeOptions

# A corruption that is left out scores this much: no weight, no loss, no gradient.
LEFT_OUT = -1e9


@dataclass(frozen=True)
class Side:
    """One side of a batch corrupted: the triples in groups, each with its set of negatives."""

    tails: bool  # corrupt tails, or heads
    triples: Int[Tensor, "group rows 3"]
    negatives: Int[Tensor, "group n"]


def draw(triples: Int[Tensor, "batch 3"], entities: int, options: KgeOptions) -> list[Side]:
    """Negatives for a batch, from the global random numbers of its device."""
    if options.sides == "both":
        parts = [(True, triples), (False, triples)]
    else:
        middle = (len(triples) + 1) // 2
        parts = [(True, triples[:middle]), (False, triples[middle:])]
    result = []
    for tails, own in parts:
        if len(own):
            size = _group(len(own), options)
            shape = (len(own) // size, options.negatives)
            negatives = torch.randint(entities, shape, device=own.device)
            result.append(Side(tails, own.reshape(-1, size, 3), negatives))
    return result


def _group(count: int, options: KgeOptions) -> int:
    """The largest size of groups that divides the count, up to the one asked for."""
    most = 1 if options.sharing == "each" else min(options.group, count)
    return next(size for size in range(most, 0, -1) if count % size == 0)


def known_negatives(known: KnownTriples, side: Side) -> Bool[Tensor, "group rows n"]:
    """Which corruptions are themselves known triples."""
    h, r, t = (x[..., None] for x in side.triples.unbind(-1))
    other = side.negatives[:, None]
    return known.holds(h, r, other) if side.tails else known.holds(other, r, t)


def adversarial_loss(
    model: Kge,
    side: Side,
    temperature: float,
    left_out: Bool[Tensor, "group rows n"] | None = None,
) -> Float[Tensor, " batch"]:
    """The self-adversarial loss of each triple."""
    h, r, t = side.triples.unbind(-1)
    query, target = (model.ask_tail(h, r), t) if side.tails else (model.ask_head(r, t), h)
    width = query.shape[-1]
    true = rows(model.entity, target).reshape(-1, 1, width)
    positive = model.match(query.reshape(-1, 1, width), true).reshape(target.shape)
    negative = model.match(query, rows(model.entity, side.negatives))
    if left_out is not None:
        negative = negative.masked_fill(left_out, LEFT_OUT)
    weight = torch.softmax(temperature * negative.detach(), -1)
    against = (weight * logsigmoid(-negative)).sum(-1)
    return -(logsigmoid(positive) + against).reshape(-1) / 2


def one_against_all(
    model: ComplEx, triples: Int[Tensor, "batch 3"], n3: float, dura: float = 0.0
) -> Float[Tensor, " batch"]:
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


def subsampling_weights(triples: Int[Tensor, "n 3"], relations: int) -> Float[Tensor, " n"]:
    """1/√(number of triples with the same (h, r) or the same (r, t)), with mean 1."""
    counts = []
    for column in (0, 2):
        _, which, count = (triples[:, column] * relations + triples[:, 1]).unique(
            return_inverse=True, return_counts=True
        )  # type: ignore[no-untyped-call]
        counts.append(count[which])
    weight = (counts[0] + counts[1]).double().rsqrt()
    result: Tensor = (weight / weight.mean()).float()
    return result


def make_model(options: KgeOptions, entities: int, relations: int, members: int = 1) -> Kge:
    """An embedding, or several side by side, with the weights that the options' seed gives."""
    dimension = members * options.dimension
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(options.seed)
        if options.kind == "rotate":
            return RotatE(entities, relations, dimension, options.margin)
        return ComplEx(entities, relations, dimension)
