"""The options of learning a policy by PPO, with what each is for and the values it takes."""

from __future__ import annotations

from dataclasses import dataclass

from deepprooflog.learn.options import MOST, check, option
from deepprooflog.learn.ppo import Ppo


@dataclass(frozen=True)
class PpoOptions:
    """How a policy is trained on rollouts; clip, entropy and learning rate are the paper's.

    >>> PpoOptions(clip=0.0)
    Traceback (most recent call last):
    ...
    deepprooflog.errors.DataError: clip is above 0 and below 1, not 0
    """

    iterations: int = option(200, "rollouts, each followed by an update", at_least=1, at_most=MOST)
    episodes: int = option(256, "episodes side by side", at_least=1, at_most=1_000_000)
    steps: int = option(32, "resolution steps of each in a rollout", at_least=1, at_most=1_000_000)
    positives: int = option(
        2048, "positives drawn for an iteration; 0: all", at_least=0, at_most=MOST
    )
    negatives: int = option(
        1, "for each positive, other ones in every iteration", at_least=1, at_most=1_000_000
    )
    epochs: int = option(4, "passes over a rollout", at_least=1, at_most=1_000_000)
    minibatch: int = option(2048, "steps in a minibatch", at_least=1, at_most=MOST)
    lr: float = option(3e-4, "learning rate", above=0, at_most=100)
    clip: float = option(0.2, "how far a ratio may move and still gain", above=0, below=1)
    entropy: float = option(0.2, "weight of the policy's entropy", at_least=0, at_most=1e6)
    entropy_end: float = option(
        -1.0, "its weight in the last iteration; -1: it stays", at_least=-1, at_most=1e6
    )
    gamma: float = option(1.0, "discount", above=0, below=1.000001)
    lam: float = option(0.95, "λ of the advantage estimate", at_least=0, below=1.000001)
    value_weight: float = option(
        0.5, "weight of the value network's squared error", at_least=0, at_most=1e6
    )
    max_grad_norm: float = option(
        0.5, "the gradient is scaled down to this norm", above=0, at_most=1e9
    )
    target_kl: float = option(
        0.03, "end an update when the policy has moved so far; 0: never", at_least=0, at_most=1e6
    )
    bootstrap: int = option(
        0, "1: value episodes cut at the depth limit by the network", at_least=0, below=2
    )
    memory: int = option(1, "1: rollouts visit no goal twice", at_least=0, below=2)
    look: int = option(
        10, "iterations between two looks at the validation split", at_least=1, at_most=MOST
    )
    patience: int = option(
        0, "stop after so many looks without a better one; 0: never", at_least=0, at_most=MOST
    )
    seed: int = option(
        0, "of positives, negatives, rollouts and minibatches", at_least=0, at_most=2**31 - 1
    )

    def __post_init__(self) -> None:
        check(self)

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
