"""Proximal policy optimisation (Schulman et al. 2017) of the resolution policy.

    ρ_t = π(a_t | G_t) / π_old(a_t | G_t)
    L = E[ min(ρ_t A_t, clip(ρ_t, 1 − ε, 1 + ε) A_t) − c_V ½ (V(G_t) − R_t)² + c_H H(π(· | G_t)) ]

A_t by generalised advantage estimation, R_t = A_t + V_old(G_t). A rollout is used for a few epochs
of minibatches; they end early once the policy has moved too far from the one that was rolled out.

Of several processes each has a part of every minibatch. Means, deviations and gradients are those
of the whole, so that all of them step alike and end alike.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepprooflog.errors import ModelError
from deepprooflog.learn.losses import History
from deepprooflog.learn.on_policy import (
    IterationReport,
    Learner,
    Losses,
    OnPolicy,
    QuerySource,
    train,
)
from deepprooflog.learn.rollout import Rollout
from deepprooflog.learn.run.options import MOST, option
from deepprooflog.learn.run.processes import processes
from deepprooflog.mdp.environment import Environment
from deepprooflog.mdp.policy import Policy, entropy, log_prob

# Keeps the advantages of a minibatch that are all alike from being divided by zero.
SMALL = 1e-8


@dataclass(frozen=True, kw_only=True)
class Ppo(OnPolicy):
    """The arguments of a run."""

    epochs: int = option(4, "passes over each rollout", at_least=1, at_most=1_000_000)
    minibatch: int = option(2048, "steps in a minibatch", at_least=1, at_most=MOST)
    clip: float = option(
        0.2, "ε: how far a ratio may move and still gain; the paper's", above=0, below=1
    )
    lam: float = option(0.95, "λ of the advantage estimate", at_least=0, at_most=1)
    value_clip: float | None = option(
        None, "how far V may move from its old value and still gain; none: as far as it likes",
        above=0, at_most=1e6,
    )  # fmt: skip
    normalize: bool = option(True, "advantages of a minibatch with mean 0 and deviation 1")
    target_kl: float | None = option(
        0.03, "end an update when the policy has moved so far from the old one; none: never",
        above=0, at_most=1e6,
    )  # fmt: skip


# -- the objective, term by term -------------------------------------------------------------------


def clipped_objective(
    log_ratio: Float[Tensor, " steps"], advantage: Float[Tensor, " steps"], clip: float
) -> Float[Tensor, " steps"]:
    """min(ρ A, clip(ρ, 1 − ε, 1 + ε) A).

    >>> log_ratio = torch.tensor([1.5, 1.5, 0.5]).log()
    >>> clipped_objective(log_ratio, torch.tensor([2.0, -2.0, -2.0]), 0.2)
    tensor([ 2.4000, -3.0000, -1.6000])
    """
    ratio = log_ratio.exp()
    return torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)


def value_loss(
    value: Float[Tensor, " steps"],
    old: Float[Tensor, " steps"],
    returns: Float[Tensor, " steps"],
    clip: float | None,
) -> Float[Tensor, ""]:
    """½ (V − R)², or the larger of it and the same for V kept within `clip` of its old value."""
    error = (value - returns).square()
    if clip is not None:
        kept = old + (value - old).clamp(-clip, clip)
        error = torch.maximum(error, (kept - returns).square())
    return 0.5 * error.mean()


def divergence(log_ratio: Float[Tensor, " steps"]) -> Float[Tensor, ""]:
    """KL(π_old ‖ π) from actions of π_old: the mean of ρ − 1 − log ρ, which is never negative."""
    return (log_ratio.exp() - 1 - log_ratio).mean()


# -- an update -------------------------------------------------------------------------------------


def update(learner: Learner, rollout: Rollout, entropy_weight: float) -> Losses:
    """Some epochs of minibatches over a rollout."""
    settings = learner.settings
    assert isinstance(settings, Ppo)
    advantage = rollout.advantage(settings.gamma, settings.lam).flatten()
    returns = advantage + rollout.value.flatten()
    taken = rollout.taken
    seen: list[Tensor] = []
    stopped = False
    for _ in range(settings.epochs):
        order = torch.randperm(len(taken), generator=learner.generator, device=taken.device)
        for part in _minibatches(order, settings.minibatch):
            loss, numbers = _loss(
                learner.policy, rollout, settings, entropy_weight, taken[part], advantage, returns
            )
            numbers = _summed(numbers)
            seen.append(numbers)
            if settings.target_kl is not None and float(numbers[3]) > settings.target_kl:
                stopped = True
                break
            learner.descend(loss)
        if stopped:
            break
    means = torch.stack(seen).mean(0).tolist()
    if not all(map(math.isfinite, means)):
        raise ModelError(
            "PPO's loss is not finite", hint="a smaller lr, or a scorer with normalize"
        )
    policy_mean, value_mean, entropy_mean, _, clipped = means
    return Losses(
        policy=policy_mean,
        value=value_mean,
        entropy=entropy_mean,
        kl=float(seen[-1][3]),
        clipped=clipped,
        updates=len(seen) - stopped,
        stopped=stopped,
    )


def _minibatches(order: Int[Tensor, " steps"], size: int) -> Sequence[Int[Tensor, " _some"]]:
    """Steps in an order, so many at a time; of several processes each has a part of every one."""
    here = processes()
    if not here.several:
        found: Sequence[Tensor] = torch.split(order, size)
        return found
    count = -(-int(here.sum(np.array([len(order)]))[0]) // size)
    return torch.tensor_split(order, count)


def _summed(values: Float[Tensor, " numbers"]) -> Float[Tensor, " numbers"]:
    """Sums over processes."""
    if not processes().several:
        return values
    return torch.from_numpy(processes().sum(values.double().cpu().numpy())).to(values)


def _standard(values: Float[Tensor, " steps"], whole: int) -> Float[Tensor, " steps"]:
    """Values of a minibatch with mean 0 and deviation 1, over the parts of all processes."""
    if not processes().several:
        return (values - values.mean()) / (values.std() + SMALL)
    centred = values - _summed(values.sum()[None]) / whole
    deviation = (_summed(centred.square().sum()[None]) / (whole - 1)).sqrt()
    return centred / (deviation + SMALL)


def _loss(
    policy: Policy,
    rollout: Rollout,
    settings: Ppo,
    entropy_weight: float,
    which: Int[Tensor, " steps"],
    advantage: Float[Tensor, " all"],
    returns: Float[Tensor, " all"],
) -> tuple[Float[Tensor, ""], Float[Tensor, "5"]]:
    """−L of a minibatch, and its terms: policy, value, entropy, divergence, share clipped.

    Of several processes, what this one's part adds to each of them.
    """
    whole = int(_summed(advantage.new_tensor([len(which)]))[0])
    gain = advantage[which]
    if settings.normalize and whole > 1:
        gain = _standard(gain, whole)
    if not len(which):
        return gain.sum(), gain.new_zeros(5)
    share = len(which) / whole
    choices = rollout.choices.select(which)
    log = choices.score(policy)
    log_ratio = (log_prob(log, choices.chosen) - rollout.log_prob.flatten()[which]).float()
    of_policy = -clipped_objective(log_ratio, gain, settings.clip).mean()
    old = rollout.value.flatten()[which]
    of_value = value_loss(policy.value(choices.goals), old, returns[which], settings.value_clip)
    spread = entropy(log, choices.parent).mean().float()
    loss = of_policy + settings.value_weight * of_value - entropy_weight * spread
    with torch.no_grad():
        clipped = ((log_ratio.exp() - 1).abs() > settings.clip).float().mean()
        terms = [of_policy, of_value, spread, divergence(log_ratio), clipped]
    return share * loss, share * torch.stack([t.detach() for t in terms])


# -- a run -----------------------------------------------------------------------------------------


def ppo_learner(environment: Environment, policy: Policy, settings: Ppo | None = None) -> Learner:
    """PPO, ready to learn; it can be stopped and resumed."""
    settings = settings or Ppo()
    if policy.critic is None:
        raise ModelError("PPO needs a critic", hint="Policy(actor, database, critic)")
    return Learner(environment, policy, settings, update)


def ppo(
    environment: Environment,
    policy: Policy,
    queries: QuerySource,
    settings: Ppo | None = None,
    callback: Callable[[IterationReport], object] | None = None,
) -> History:
    """Train a policy by PPO; the history has a report of each iteration as its diagnostics."""
    began = time.perf_counter()
    reports = train(ppo_learner(environment, policy, settings), queries, callback)
    losses = tuple(report.losses.policy for report in reports)
    return History(losses, False, 0, time.perf_counter() - began, tuple(reports))
