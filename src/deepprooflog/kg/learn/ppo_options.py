"""The options of learning a policy on a graph by PPO: the algorithm's and the graph's."""

from __future__ import annotations

from dataclasses import dataclass

from deepprooflog.learn.ppo import Ppo
from deepprooflog.learn.run.options import MOST, option


@dataclass(frozen=True, kw_only=True)
class PpoOptions(Ppo):
    """How a policy is trained on rollouts; clip, entropy and learning rate are the paper's.

    >>> PpoOptions(clip=0.0)
    Traceback (most recent call last):
    ...
    deepprooflog.errors.DataError: clip is above 0 and below 1, not 0
    """

    positives: int = option(
        2048, "positives drawn for an iteration; 0: all", at_least=0, at_most=MOST
    )
    negatives: int = option(
        1, "for each positive, other ones in every iteration", at_least=1, at_most=1_000_000
    )
    memory: bool = option(True, "rollouts visit no goal twice")
    validate_every: int = option(25, "iterations between two validations", at_least=1, at_most=MOST)
    patience: int = option(
        0, "stop after so many validations without a better one; 0: never", at_least=0,
        at_most=MOST,
    )  # fmt: skip
