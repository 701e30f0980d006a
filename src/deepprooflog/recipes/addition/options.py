"""The options of the addition recipes, and where each gets its value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from deepprooflog.device import DEVICES
from deepprooflog.errors import DataError
from deepprooflog.learn.run.descent import SCHEDULES
from deepprooflog.learn.run.options import (
    MOST,
    MOST_THREADS,
    CheckedOptions,
    check,
    option,
    section,
)
from deepprooflog.learn.run.settings import build, settings
from deepprooflog.learn.run.track import NO_TRACKER, TRACKERS
from deepprooflog.recipes.recipe import NOT_OPTIONS, Recipe


@dataclass(frozen=True)
class TrainingOptions(CheckedOptions):
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


@dataclass(frozen=True)
class AugmentOptions(CheckedOptions):
    """How training pictures are distorted."""

    kind: str = option(
        "affine", "distortion of the training pictures", choices=("none", "affine", "elastic")
    )
    strength: float = option(1.0, "of the distortion", at_least=0, at_most=10)
    ramp: float = option(0.1, "share of the run in which it grows to that", at_least=0, below=1)


@dataclass(frozen=True)
class SamplingOptions(CheckedOptions):
    """How the method pg draws derivations."""

    estimator: str = option("smc", "of the gradient", choices=("smc", "reinforce"))
    particles: int = option(32, "derivations drawn for a sum", at_least=1, at_most=100_000)
    window: int = option(
        0, "learn on sub-goals of so many steps first; 0: whole sums", at_least=0, at_most=100_000
    )
    subgoals: float = option(0.9, "share of the run on sub-goals", at_least=0, at_most=1)


@dataclass(frozen=True)
class TrialOptions(CheckedOptions):
    """Several initial weights, of which the best goes on."""

    count: int = option(1, "initial weights to try", at_least=1, at_most=1000)
    share: float = option(0.05, "share of the epochs to try each for", above=0, at_most=1)


@dataclass(frozen=True)
class AdditionOptions:
    """Every choice of an addition run."""

    n: int = option(4, "digits in each of the two numbers", at_least=1, at_most=30_000)
    method: str = option(
        "dp", "exact gradients, or those of sampled derivations", choices=("dp", "pg")
    )
    seed: int = option(
        0, "of the weights, the order and the distortions", at_least=0, at_most=2**31 - 1
    )
    data: str = option("mnist", "mnist, digits (8 × 8), or a folder of IDX files")
    sums: int = option(
        0, "use only so many sums of the training pictures; 0: all", at_least=0, at_most=MOST
    )
    threads: int = option(0, "of the CPU; 0: as torch chooses", at_least=0, at_most=MOST_THREADS)
    device: str = option("auto", "where to train", choices=DEVICES)
    track: str = option(
        NO_TRACKER, "where rows of history and figures are sent", choices=(NO_TRACKER, *TRACKERS)
    )

    training: TrainingOptions = section(TrainingOptions, "how the network is trained")
    augment: AugmentOptions = section(
        AugmentOptions, "how training pictures are distorted", main="kind"
    )
    trials: TrialOptions = section(TrialOptions, "initial weights, of which the best goes on")
    pg: SamplingOptions = section(SamplingOptions, "the derivations that the method pg draws")

    def __post_init__(self) -> None:
        check(self)
        if self.sums == 1:
            raise DataError(
                "sums=1 leaves nothing to validate on", hint="sums=2 or more, or 0 for all"
            )

    OLD_NAMES: ClassVar[dict[str, tuple[str, ...]]] = {
        **{
            name: (f"training.{name}",)
            for name in (
                "batch", "lr", "epochs", "schedule", "average", "weight_decay", "clip", "patience",
                "keep",
            )
        },
        "look": ("training.validate_every",),
        "strength": ("augment.strength",),
        "ramp": ("augment.ramp",),
        "tries": ("trials.count",),
        "trial": ("trials.share",),
        **{name: (f"pg.{name}",) for name in ("estimator", "particles", "window", "subgoals")},
    }  # fmt: skip
    """Options by the names they had before there were sections."""


def resolve(
    recipe: Recipe, given: Mapping[str, object], kept: Mapping[str, object] | None = None
) -> AdditionOptions:
    """A recipe's options, its case's for this n and method, those a run kept, then those given.

    >>> from deepprooflog.recipes.recipe import read_recipe
    >>> resolve(read_recipe("mnist-addition"), {"n": "15", "training.epochs": "3"}).training.epochs
    3
    """
    mine: dict[str, Any] = settings(AdditionOptions, kept or {}, "config.json", notice=False)
    mine |= settings(AdditionOptions, given, "--set")
    values: dict[str, Any] = settings(AdditionOptions, recipe.options, recipe.file)
    chosen = build(AdditionOptions, {**values, **mine})
    case = recipe.case(chosen.method, chosen.n)
    own = {key: value for key, value in case.items() if key not in NOT_OPTIONS}
    values |= settings(AdditionOptions, own, recipe.file)
    return build(AdditionOptions, {**values, **mine})
