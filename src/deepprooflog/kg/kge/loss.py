"""Self-adversarial negative sampling: true triples above corrupted ones (Sun et al. 2019).

    ½ (−log σ(f(x)) − Σᵢ wᵢ log σ(−f(x'ᵢ))),  w = softmax(α f(x'))

Halved as in the authors' code. Negatives x' are drawn uniformly on the device.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import logsigmoid

from deepprooflog.kg.data.triple_set import TripleSet
from deepprooflog.kg.kge.kge import Kge, rows
from deepprooflog.kg.kge.negatives import CorruptedSide, corrupted_sides, known_negatives
from deepprooflog.kg.kge.options import KgeOptions
from deepprooflog.learn.run.processes import processes

# A corruption that is left out scores this much: no weight, no loss, no gradient.
LEFT_OUT = -1e9


def adversarial_loss(
    model: Kge,
    side: CorruptedSide,
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


def adversarial_objective(
    model: Kge, options: KgeOptions, known: TripleSet[Tensor]
) -> Callable[[Int[Tensor, "batch 3"]], Float[Tensor, " batch"]]:
    """The loss of each triple of a batch against negatives that are drawn for it.

    Each of several processes draws for the whole batch and has the losses of its share.
    """

    def of_side(side: CorruptedSide) -> Float[Tensor, " batch"]:
        left_out = known_negatives(known, side) if options.filtered else None
        return adversarial_loss(model, side, options.temperature, left_out)

    if options.compiled:
        of_side = torch.compile(of_side, dynamic=False)

    def losses(triples: Int[Tensor, "batch 3"]) -> Float[Tensor, " own"]:
        sides = corrupted_sides(triples, model.entities, options)
        if processes().several:
            sides = [own for own in (side.of_rank() for side in sides) if own.triples.numel()]
            if not sides:
                return model.entity.new_zeros(0)
        parts = [of_side(side) for side in sides]
        return torch.cat(parts) if options.sides == "split" else torch.stack(parts).mean(0)

    return losses


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
