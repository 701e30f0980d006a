"""The embedding models by name: a new one is a file and a line here."""

from __future__ import annotations

import torch

from deepprooflog.errors import ModelError
from deepprooflog.kg.kge.complex import ComplEx
from deepprooflog.kg.kge.distmult import DistMult
from deepprooflog.kg.kge.kge import Kge
from deepprooflog.kg.kge.options import KgeOptions
from deepprooflog.kg.kge.rotate import RotatE
from deepprooflog.kg.kge.transe import TransE

BY_NAME: dict[str, type[Kge]] = {
    "rotate": RotatE, "complex": ComplEx, "transe": TransE, "distmult": DistMult,
}  # fmt: skip


def make_model(
    options: KgeOptions, entities: int, relations: int, dimension: int | None = None
) -> Kge:
    """An embedding with the initial weights that the options' seed gives.

    >>> make_model(KgeOptions(kind="rotate", dimension=4), 3, 1).dimension
    4
    """
    if options.kind not in BY_NAME:
        raise ModelError(f"there is no embedding {options.kind!r}", hint=" or ".join(BY_NAME))
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(options.seed)
        size = options.dimension if dimension is None else dimension
        return BY_NAME[options.kind].make(entities, relations, size, options)
