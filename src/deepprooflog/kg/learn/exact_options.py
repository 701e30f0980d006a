"""The options of exact learning of a policy."""

from __future__ import annotations

from dataclasses import dataclass

from deepprooflog.errors import DataError
from deepprooflog.learn.run.options import MOST, check, option


@dataclass(frozen=True)
class ExactOptions:
    """How a policy is trained on exact success probabilities."""

    steps: int = option(100, "of the optimizer", at_least=0, at_most=MOST)
    batch: int = option(128, "positives in a step", at_least=1, at_most=1_000_000)
    negatives: int = option(32, "for each positive", at_least=1, at_most=1_000_000)
    lr: float = option(1e-3, "learning rate", above=0, at_most=100)
    ranking: float = option(1.0, "weight of the ranking loss", at_least=0, at_most=1e6)
    calibration: float = option(
        0.02, "weight of the cross-entropy beside it", at_least=0, at_most=1e6
    )
    entropy: float = option(
        0.02, "weight of the entropy of a query's first step", at_least=0, at_most=1e6
    )
    validate_every: int = option(25, "steps between two validations", at_least=1, at_most=MOST)
    patience: int = option(
        0, "stop after so many validations without a better one; 0: never", at_least=0,
        at_most=MOST,
    )  # fmt: skip
    seed: int = option(
        0, "of the order and the negatives", at_least=0, at_most=2**31 - 1, inherited=True
    )

    def __post_init__(self) -> None:
        check(self)
        if not self.ranking and not self.calibration:
            raise DataError("ranking=0 and calibration=0 leave no loss", hint="calibration=1")
