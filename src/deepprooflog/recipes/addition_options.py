"""The options of the addition recipes, and where each gets its value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deepprooflog.errors import DataError
from deepprooflog.learn.options import MOST
from deepprooflog.learn.schedule import SCHEDULES
from deepprooflog.recipes.options import MOST_THREADS, option, settings
from deepprooflog.recipes.recipe import NOT_OPTIONS, Recipe

METHODS = ("dp", "pg")
ESTIMATORS = ("smc", "reinforce")
AUGMENT = ("none", "affine", "elastic")
KEEP = ("best", "last")
DEVICES = ("auto", "cpu", "cuda")


@dataclass(frozen=True)
class AdditionOptions:
    """Every choice of an addition run."""

    n: int = option(4, "digits in each of the two numbers", at_least=1, at_most=30_000)
    method: str = option("dp", "exact gradients, or those of sampled derivations", choices=METHODS)
    seed: int = option(
        0, "of the weights, the order and the distortions", at_least=0, at_most=2**31 - 1
    )
    data: str = option("mnist", "mnist, digits (8 × 8), or a folder of IDX files")
    augment: str = option("affine", "distortion of the training pictures", choices=AUGMENT)
    strength: float = option(1.0, "of the distortion", at_least=0, at_most=10)
    ramp: float = option(0.1, "share of the run in which it grows to that", at_least=0, below=1)
    batch: int = option(64, "sums in a minibatch", at_least=1, at_most=1_000_000)
    lr: float = option(0.003, "the highest learning rate", above=0, at_most=100)
    epochs: int = option(50, "passes over the training sums", at_least=1, at_most=1_000_000)
    schedule: str = option("one-cycle", "learning rate over the run", choices=SCHEDULES)
    average: float = option(0.998, "decay of the averaged weights; 0: off", at_least=0, below=1)
    weight_decay: float = option(0.0, "of AdamW", at_least=0, at_most=1000)
    clip: float = option(0.0, "bound on the gradient's norm; 0: none", at_least=0, at_most=1e9)
    patience: int = option(
        0,
        "stop after so many epochs without a better validation loss; 0: never",
        at_least=0,
        at_most=1_000_000,
    )
    look: int = option(
        1, "epochs between two looks at the validation split", at_least=1, at_most=1_000_000
    )
    keep: str = option("best", "the weights of the lowest validation loss, or last", choices=KEEP)
    tries: int = option(
        1,
        "initial weights to try for `trial` of the epochs; the lowest loss goes on",
        at_least=1,
        at_most=1000,
    )
    trial: float = option(0.05, "share of the epochs to try each for", above=0, at_most=1)
    estimator: str = option("smc", "of method=pg", choices=ESTIMATORS)
    particles: int = option(
        32, "derivations drawn for a sum by method=pg", at_least=1, at_most=100_000
    )
    window: int = option(
        0,
        "of method=pg: learn on sub-goals of so many steps first; 0: whole sums",
        at_least=0,
        at_most=100_000,
    )
    subgoals: float = option(0.9, "share of the run on sub-goals", at_least=0, at_most=1)
    sums: int = option(
        0, "use only so many sums of the training pictures; 0: all", at_least=0, at_most=MOST
    )
    threads: int = option(0, "of the CPU; 0: as torch chooses", at_least=0, at_most=MOST_THREADS)
    device: str = option("auto", "where to train", choices=DEVICES)


def resolve(recipe: Recipe, given: Mapping[str, object]) -> AdditionOptions:
    """A recipe's options, its case's for this n and method, then those given.

    >>> from deepprooflog.recipes.recipe import read_recipe
    >>> resolve(read_recipe("mnist-addition"), {"n": "15", "epochs": "3"}).epochs
    3
    """
    mine: dict[str, Any] = settings(AdditionOptions, given, "--set")
    values: dict[str, Any] = settings(AdditionOptions, recipe.options, recipe.file)
    chosen = AdditionOptions(**{**values, **mine})
    case = recipe.case(chosen.method, chosen.n)
    own = {key: value for key, value in case.items() if key not in NOT_OPTIONS}
    values |= settings(AdditionOptions, own, recipe.file)
    options = AdditionOptions(**{**values, **mine})
    if options.sums == 1:
        raise DataError("sums=1 leaves nothing to validate on", hint="sums=2 or more, or 0 for all")
    return options
