"""The options of an embedding's training."""

from __future__ import annotations

import math
from dataclasses import dataclass

from deepprooflog.learn.run.options import MOST, CheckedOptions, option


@dataclass(frozen=True)
class KgeOptions(CheckedOptions):
    """How an embedding is trained.

    >>> KgeOptions(dimension=0)
    Traceback (most recent call last):
    ...
    deepprooflog.errors.DataError: dimension is at least 1 and at most 65536, not 0
    try: dimension=1
    """

    kind: str = option("complex", "of the score, by a name in `kge.table.BY_NAME`")
    dimension: int = option(
        128,
        "of a vector: complex numbers, or pairs of real ones",
        at_least=1,
        at_most=65_536,
    )
    steps: int = option(500, "of the optimizer", at_least=1, at_most=MOST)
    batch: int = option(512, "triples in a step", at_least=1, at_most=1_000_000)
    lr: float = option(0.01, "learning rate", above=0, at_most=100)
    decay: str = option(
        "linear", "of the learning rate, to 0 at the last step",
        choices=("linear", "cosine", "constant"),
    )  # fmt: skip
    seed: int = option(
        0, "of the weights, the order and the negatives", at_least=0, at_most=2**32, inherited=True
    )

    margin: float = option(
        12.0, "RotatE, TransE: from which a score is positive", above=0, at_most=1e6
    )
    negatives: int = option(
        128, "RotatE, TransE: corruptions of a triple, on each side that is corrupted", at_least=1,
        at_most=1_000_000,
    )  # fmt: skip
    temperature: float = option(
        1.0, "RotatE, TransE: of the weights among them; 0: all alike", at_least=0, at_most=1e6
    )
    sharing: str = option(
        "each",
        "RotatE, TransE: negatives of one triple's own, or one set for a group",
        choices=("each", "shared"),
    )
    group: int = option(
        128, "RotatE, TransE: triples that share one set", at_least=1, at_most=1_000_000
    )
    sides: str = option(
        "split", "RotatE, TransE: tails for half of a batch, heads for the other, or both for all",
        choices=("split", "both"),
    )  # fmt: skip
    filtered: bool = option(
        False, "RotatE, TransE: leave out corruptions that are training triples"
    )
    subsampling: bool = option(
        False, "weigh a triple by 1/√(triples with its (h, r) or its (r, t))"
    )

    n3: float = option(
        0.05, "ComplEx, DistMult: weight of the nuclear 3-norm", at_least=0, at_most=1e6
    )
    dura: float = option(
        0.0, "ComplEx: weight of the duality-induced regularizer", at_least=0, at_most=1e6
    )
    telling: float = option(
        0.0, "ComplEx: weight of telling a triple's relation by its entities", at_least=0,
        at_most=1e6,
    )  # fmt: skip
    weight_decay: float = option(0.0, "of Adam", at_least=0, at_most=1e6)

    validate_every: int = option(1000, "steps between two validations", at_least=1, at_most=MOST)
    patience: int = option(
        0, "stop after so many validations without a better one; 0: never", at_least=0, at_most=MOST
    )
    capture: bool = option(True, "on a GPU: replay steps as one CUDA graph")
    compiled: bool = option(False, "fuse the loss with torch.compile")


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
