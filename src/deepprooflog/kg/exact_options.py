"""The options of exact learning of a policy."""

from __future__ import annotations

from dataclasses import dataclass

from deepprooflog.learn.options import MOST, check, option


@dataclass(frozen=True)
class ExactOptions:
    """How a policy is trained."""

    steps: int = option(200, "of the optimizer", at_least=0, at_most=MOST)
    batch: int = option(256, "positives in a step", at_least=1, at_most=1_000_000)
    negatives: int = option(8, "for each of them", at_least=1, at_most=1_000_000)
    lr: float = option(3e-3, "learning rate", above=0, at_most=100)
    ranking: float = option(1.0, "weight of the ranking loss", at_least=0, at_most=1e6)
    calibration: float = option(
        0.1, "weight of the cross-entropy beside it", at_least=0, at_most=1e6
    )
    entropy: float = option(
        0.0, "weight of the entropy of a query's first step", at_least=0, at_most=1e6
    )
    validate_every: int = option(25, "steps between two looks", at_least=1, at_most=MOST)
    patience: int = option(
        0, "stop after so many looks without a better one; 0: never", at_least=0, at_most=MOST
    )
    seed: int = option(0, "of the order and the negatives", at_least=0, at_most=2**31 - 1)

    def __post_init__(self) -> None:
        check(self)
