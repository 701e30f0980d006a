"""The options of an embedding's training."""

from __future__ import annotations

import math
from dataclasses import dataclass

from deepprooflog.errors import DataError

CHOICES = {
    "model": ("rotate", "complex"),
    "decay": ("linear", "cosine", "constant"),
    "sharing": ("each", "shared"),
    "sides": ("split", "both"),
}


@dataclass(frozen=True)
class KgeOptions:
    """How an embedding is trained.

    >>> KgeOptions(dimension=0)
    Traceback (most recent call last):
    ...
    deepprooflog.errors.DataError: dimension is at least 1, not 0
    """

    model: str = "rotate"
    dimension: int = 256  # complex numbers in an entity's vector
    steps: int = 20_000
    batch: int = 1024  # triples in a step
    lr: float = 1e-3
    decay: str = "linear"  # of the learning rate, to 0 at the last step
    seed: int = 0

    # RotatE: self-adversarial negative sampling.
    margin: float = 12.0
    negatives: int = 128  # corruptions of a triple, on each side that is corrupted
    temperature: float = 1.0  # of the weights among them; 0: all alike
    sharing: str = "each"  # negatives of one triple's own, or one set for a group of triples
    group: int = 128  # triples that share one set
    sides: str = "split"  # tails for half of a batch and heads for the other, or both for all
    filtered: bool = False  # leave out corruptions that are training triples
    subsampling: bool = False  # weigh a triple by 1/√(triples with its (h, r) or its (r, t))

    # ComplEx: one against all, in both directions.
    n3: float = 0.01  # weight of the nuclear 3-norm
    dura: float = 0.0  # weight of the duality-induced regularizer
    weight_decay: float = 0.0

    validate_every: int = 1000  # steps between looks at the validation split
    patience: int = 0  # stop after so many looks without a better one; 0: never
    capture: bool = True  # on a GPU: replay steps as one CUDA graph
    compiled: bool = False  # fuse the loss with torch.compile

    def __post_init__(self) -> None:
        counts = ("dimension", "batch", "negatives", "group", "validate_every")
        for name in counts:
            if getattr(self, name) < 1:
                raise DataError(f"{name} is at least 1, not {getattr(self, name)}")
        for name in ("steps", "patience", "seed", "temperature", "n3", "dura", "weight_decay"):
            if not 0 <= getattr(self, name) < math.inf:
                raise DataError(f"{name} is at least 0 and finite, not {getattr(self, name)}")
        for name in ("lr", "margin"):
            if not 0 < getattr(self, name) < math.inf:
                raise DataError(f"{name} is above 0 and finite, not {getattr(self, name)}")
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise DataError(
                    f"{name} is one of {', '.join(allowed)}, not {getattr(self, name)!r}"
                )


def fading(decay: str, share: float) -> float:
    """What to multiply the learning rate by when `share` of the steps are done.

    >>> [round(fading("linear", s), 3) for s in (0.0, 0.25, 1.0)]
    [1.0, 0.75, 0.0]
    >>> [round(fading("cosine", s), 3) for s in (0.0, 0.25, 1.0)]
    [1.0, 0.854, 0.0]
    """
    if decay == "constant":
        return 1.0
    return 1.0 - share if decay == "linear" else (1.0 + math.cos(math.pi * share)) / 2
