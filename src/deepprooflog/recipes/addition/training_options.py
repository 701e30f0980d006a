"""The options of a training run over epochs."""

from __future__ import annotations

from dataclasses import dataclass

from deepprooflog.learn.run.options import check, option
from deepprooflog.learn.run.schedule import SCHEDULES


@dataclass(frozen=True)
class TrainingOptions:
    """How to train: the part of a recipe's options that is not about its task."""

    batch: int = option(64, "examples in a minibatch", at_least=1, at_most=1_000_000)
    lr: float = option(0.003, "the highest learning rate", above=0, at_most=100)
    epochs: int = option(50, "passes over the training examples", at_least=1, at_most=1_000_000)
    schedule: str = option("one-cycle", "learning rate over the run", choices=SCHEDULES)
    average: float = option(0.998, "decay of the averaged weights; 0: off", at_least=0, below=1)
    weight_decay: float = option(0.0, "of AdamW", at_least=0, at_most=1000)
    clip: float = option(0.0, "bound on the gradient's norm; 0: none", at_least=0, at_most=1e9)
    patience: int = option(
        0, "stop after so many epochs without a better validation loss; 0: never", at_least=0,
        at_most=1_000_000,
    )  # fmt: skip
    validate_every: int = option(1, "epochs between two validations", at_least=1, at_most=1_000_000)
    keep: str = option(
        "best", "the weights of the lowest validation loss, or last", choices=("best", "last")
    )

    def __post_init__(self) -> None:
        check(self)
