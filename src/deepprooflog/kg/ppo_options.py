"""The options of learning a policy by PPO, with what each is for and the values it takes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

from deepprooflog.errors import DataError
from deepprooflog.learn.ppo import Ppo


def _option(
    default: float,
    about: str,
    *,
    at_least: float = -math.inf,
    above: float = -math.inf,
    below: float = math.inf,
) -> Any:
    limits = {"at_least": at_least, "above": above, "below": below}
    return field(default=default, metadata={"about": about, "choices": (), **limits})


@dataclass(frozen=True)
class PpoOptions:
    """How a policy is trained on rollouts; clip, entropy and learning rate are the paper's.

    >>> PpoOptions(clip=0.0)
    Traceback (most recent call last):
    ...
    deepprooflog.errors.DataError: clip is above 0 and below 1, not 0
    """

    iterations: int = _option(200, "rollouts, each followed by an update", at_least=1)
    episodes: int = _option(256, "episodes side by side", at_least=1)
    steps: int = _option(32, "resolution steps of each in a rollout", at_least=1)
    positives: int = _option(2048, "positives drawn for an iteration; 0: all", at_least=0)
    negatives: int = _option(1, "for each positive, other ones in every iteration", at_least=1)
    epochs: int = _option(4, "passes over a rollout", at_least=1)
    minibatch: int = _option(2048, "steps in a minibatch", at_least=1)
    lr: float = _option(3e-4, "learning rate", above=0)
    clip: float = _option(0.2, "how far a ratio may move and still gain", above=0, below=1)
    entropy: float = _option(0.2, "weight of the policy's entropy", at_least=0)
    entropy_end: float = _option(-1.0, "its weight in the last iteration; -1: it stays")
    gamma: float = _option(1.0, "discount", above=0, below=1.000001)
    lam: float = _option(0.95, "λ of the advantage estimate", at_least=0, below=1.000001)
    value_weight: float = _option(0.5, "weight of the value network's squared error", at_least=0)
    max_grad_norm: float = _option(0.5, "the gradient is scaled down to this norm", above=0)
    target_kl: float = _option(
        0.03, "end an update when the policy has moved so far; 0: never", at_least=0
    )
    bootstrap: int = _option(
        0, "1: value episodes cut at the depth limit by the network", at_least=0, below=2
    )
    memory: int = _option(1, "1: rollouts visit no goal twice", at_least=0, below=2)
    look: int = _option(10, "iterations between two looks at the validation split", at_least=1)
    patience: int = _option(
        0, "stop after so many looks without a better one; 0: never", at_least=0
    )
    seed: int = _option(0, "of positives, negatives, rollouts and minibatches", at_least=0)

    def __post_init__(self) -> None:
        for f in fields(self):
            value, limits = getattr(self, f.name), f.metadata
            least, above, below = limits["at_least"], limits["above"], limits["below"]
            if not (value >= least and value > above and value < below):
                allowed = [
                    f"at least {least:g}" if least > -math.inf else "",
                    f"above {above:g}" if above > -math.inf else "",
                    f"below {below:g}" if below < math.inf else "",
                ]
                said = " and ".join(part for part in allowed if part) or "finite"
                raise DataError(f"{f.name} is {said}, not {value:g}")

    def settings(self) -> Ppo:
        """The same, as the algorithm reads them."""
        return Ppo(
            episodes=self.episodes,
            steps=self.steps,
            iterations=self.iterations,
            lr=self.lr,
            gamma=self.gamma,
            entropy=self.entropy,
            entropy_end=None if self.entropy_end < 0 else self.entropy_end,
            value_weight=self.value_weight,
            max_grad_norm=self.max_grad_norm,
            bootstrap=bool(self.bootstrap),
            seed=self.seed,
            epochs=self.epochs,
            minibatch=self.minibatch,
            clip=self.clip,
            lam=self.lam,
            target_kl=self.target_kl or None,
        )
