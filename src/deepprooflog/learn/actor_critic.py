"""REINFORCE and actor-critic on rollouts of the proof environment.

    ∇J = E[ Σ_t A_t ∇ log π(a_t | G_t) ]

REINFORCE plays episodes to their end and takes A_t = R_t − b(G_t), R_t the discounted reward that
followed; b is the critic where there is one, and otherwise what the other episodes returned on
average. Actor-critic takes steps of unfinished episodes too, with A_t from the critic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from deepprooflog.errors import ModelError
from deepprooflog.learn.on_policy import (
    IterationReport,
    Learner,
    Losses,
    OnPolicy,
    QuerySource,
    train,
)
from deepprooflog.learn.rollout import Rollout, gae
from deepprooflog.learn.run.options import option
from deepprooflog.mdp.environment import Environment
from deepprooflog.mdp.policy import Policy, entropy, log_prob


@dataclass(frozen=True, kw_only=True)
class ActorCritic(OnPolicy):
    """The arguments of a run of actor-critic."""

    lam: float = option(1.0, "λ of the advantage estimate", at_least=0, at_most=1)


@dataclass(frozen=True, kw_only=True)
class EpisodicReinforce(OnPolicy):
    """The arguments of a run of REINFORCE."""


def actor_critic_update(learner: Learner, rollout: Rollout, entropy_weight: float) -> Losses:
    """One step along the gradient of a rollout."""
    settings = learner.settings
    assert isinstance(settings, ActorCritic)
    advantage = rollout.advantage(settings.gamma, settings.lam)
    return _ascend(learner, rollout, entropy_weight, advantage, advantage + rollout.value)


def reinforce_update(learner: Learner, rollout: Rollout, entropy_weight: float) -> Losses:
    """One step along the gradient of whole episodes."""
    none, gamma = torch.zeros_like(rollout.value), learner.settings.gamma
    returns = gae(rollout.reward, none, none, rollout.over, gamma=gamma, lam=1.0)
    baseline = rollout.value
    if learner.policy.critic is None:
        baseline = _of_the_others(returns[0]).expand_as(returns)
    return _ascend(learner, rollout, entropy_weight, returns - baseline, returns)


def _of_the_others(returns: Float[Tensor, " episodes"]) -> Float[Tensor, " episodes"]:
    """The mean return of all episodes but one's own, which one's own actions do not change."""
    if len(returns) == 1:
        return torch.zeros_like(returns)
    return (returns.sum() - returns) / (len(returns) - 1)


def _ascend(
    learner: Learner,
    rollout: Rollout,
    entropy_weight: float,
    advantage: Float[Tensor, "steps episodes"],
    returns: Float[Tensor, "steps episodes"],
) -> Losses:
    policy, taken = learner.policy, rollout.taken
    choices = rollout.choices.select(taken)
    log = choices.score(policy)
    of_policy = -(log_prob(log, choices.chosen) * advantage.flatten()[taken]).mean()
    error = policy.value(choices.goals) - returns.flatten()[taken]
    of_value = 0.5 * error.square().mean()
    spread = entropy(log, choices.parent).mean()
    weight = learner.settings.value_weight
    learner.descend(of_policy + weight * of_value - entropy_weight * spread)
    return Losses(float(of_policy.detach()), float(of_value.detach()), float(spread.detach()))


def actor_critic_learner(
    environment: Environment, policy: Policy, settings: ActorCritic | None = None
) -> Learner:
    """Actor-critic, ready to learn."""
    if policy.critic is None:
        raise ModelError("actor-critic needs a critic", hint="Policy(actor, database, critic)")
    return Learner(environment, policy, settings or ActorCritic(), actor_critic_update)


def reinforce_learner(
    environment: Environment, policy: Policy, settings: EpisodicReinforce | None = None
) -> Learner:
    """REINFORCE, ready to learn."""
    settings = settings or EpisodicReinforce()
    return Learner(environment, policy, settings, reinforce_update, whole=True)


def actor_critic(
    environment: Environment,
    policy: Policy,
    queries: QuerySource,
    settings: ActorCritic | None = None,
    callback: Callable[[IterationReport], object] | None = None,
) -> list[IterationReport]:
    """Train a policy by actor-critic."""
    return train(actor_critic_learner(environment, policy, settings), queries, callback)
