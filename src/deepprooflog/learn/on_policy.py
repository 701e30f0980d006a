"""The loop that PPO, actor-critic and REINFORCE share: roll out, update, repeat.

A learner can be stopped after any iteration and resumed from its `state_dict`: the episodes under
way, the optimiser and the random numbers are in it, so that nothing is lost.

Of several processes each plays its share of the episodes, by random numbers of its own, and updates
sum over all of them; a state has the episodes of all, of which any number of processes take theirs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from deepprooflog.errors import ModelError
from deepprooflog.learn.rollout import Rollout, Tally, collect, collect_whole
from deepprooflog.learn.run import checkpoint
from deepprooflog.learn.run.options import MOST, CheckedOptions, option
from deepprooflog.learn.run.processes import processes
from deepprooflog.mdp.environment import Environment, Queries, State, reset
from deepprooflog.mdp.memory import Memory
from deepprooflog.mdp.policy import Policy
from deepprooflog.relational.goals import Goals


@dataclass(frozen=True, kw_only=True)
class OnPolicy(CheckedOptions):
    """The arguments that all three learners have."""

    episodes: int = option(256, "episodes side by side", at_least=1, at_most=1_000_000)
    steps: int = option(
        32, "steps of each in a rollout (REINFORCE: each runs to its end)", at_least=1,
        at_most=1_000_000,
    )  # fmt: skip
    iterations: int = option(200, "rollouts, each followed by an update", at_least=1, at_most=MOST)
    lr: float = option(3e-4, "Adam's learning rate; the paper's", above=0, at_most=100)
    gamma: float = option(
        1.0, "discount; at 1 the return is the paper's (2y − 1) · p_success", above=0, at_most=1
    )
    entropy: float = option(
        0.2, "weight of the policy's entropy; the paper's", at_least=0, at_most=1e6
    )
    entropy_end: float | None = option(
        None, "its weight in the last iteration, linear in between; none: it stays", at_least=0,
        at_most=1e6,
    )  # fmt: skip
    value_weight: float = option(
        0.5, "weight of the critic's squared error", at_least=0, at_most=1e6
    )
    max_grad_norm: float = option(
        0.5, "the gradient is scaled down to this norm", above=0, at_most=1e9
    )
    bootstrap: bool = option(
        False, "value an episode that max_depth cuts off by the critic, not as a failure"
    )
    seed: int = option(
        0, "of queries, rollouts and minibatches", at_least=0, at_most=2**31 - 1, inherited=True
    )

    def entropy_at(self, iteration: int) -> float:
        """The entropy's weight in an iteration, counted from 0.

        >>> [OnPolicy(iterations=3, entropy_end=0.0).entropy_at(i) for i in range(3)]
        [0.2, 0.1, 0.0]
        """
        if self.entropy_end is None:
            return self.entropy
        share = min(1.0, iteration / max(self.iterations - 1, 1))
        return self.entropy + share * (self.entropy_end - self.entropy)


@dataclass(frozen=True)
class Losses:
    """What an update saw, as means over its minibatches."""

    policy: float
    value: float
    entropy: float
    kl: float = 0.0  # estimate of KL(old policy ‖ new), of the last minibatch
    clipped: float = 0.0  # share of steps whose ratio was clipped
    updates: int = 1
    stopped: bool = False  # by the KL limit


@dataclass(frozen=True)
class IterationReport:
    """An iteration: how its episodes fared, what the update saw, how long each took."""

    iteration: int
    tally: Tally
    losses: Losses
    rollout_seconds: float
    update_seconds: float


Update: TypeAlias = Callable[["Learner", Rollout, float], Losses]
"""Learner, rollout, weight of the entropy → what it saw."""
QuerySource: TypeAlias = Queries | Callable[[int], Queries]
"""Labelled queries, or those of each iteration: fresh negatives, say."""


def own_episodes(settings: OnPolicy) -> int:
    """How many of the episodes this process plays; that some would play none is refused."""
    here = processes()
    if settings.episodes < here.size:
        raise ModelError(
            f"episodes={settings.episodes} cannot be shared out among {here.size} processes",
            hint=f"episodes={here.size}, or fewer processes",
        )
    return len(range(settings.episodes)[here.share(settings.episodes)])


class Learner:
    """A policy, its optimiser and the episodes under way."""

    def __init__(
        self,
        environment: Environment,
        policy: Policy,
        settings: OnPolicy,
        update: Update,
        *,
        whole: bool = False,
    ) -> None:
        self.environment = environment
        self.policy = policy
        self.settings = settings
        self.update = update
        self.whole = whole
        self.optimizer = torch.optim.Adam(policy.parameters(), lr=settings.lr)
        device = environment.database.device
        self.generator = torch.Generator(device).manual_seed(settings.seed)
        self.state: State | None = None
        self.iteration = 0
        self.episodes = own_episodes(settings)

    def learn(self, queries: Queries) -> IterationReport:
        """One iteration: a rollout and an update."""
        if not len(queries):
            raise ModelError("there is no query to learn from")
        began = time.perf_counter()
        here = processes()
        if here.several:
            self.generator.manual_seed(here.own_seed(self.settings.seed, self.iteration))
        rollout = self._rollout(queries)
        between = time.perf_counter()
        weight = self.settings.entropy_at(self.iteration)
        losses = self.update(self, rollout, weight)
        ended = time.perf_counter()
        self.iteration += 1
        tally = _of_all(rollout.tally)
        return IterationReport(self.iteration, tally, losses, between - began, ended - between)

    def _rollout(self, queries: Queries) -> Rollout:
        settings = self.settings
        device = self.generator.device
        if self.whole or self.state is None:
            count = (self.episodes,)
            drawn = torch.randint(len(queries), count, generator=self.generator, device=device)
        if self.whole:
            args = self.environment, self.policy, queries, drawn, self.generator
            return collect_whole(*args)[0]
        if self.state is None:
            self.state = reset(self.environment, queries, drawn)
        rollout, self.state = collect(
            self.environment,
            self.policy,
            self.state,
            queries,
            settings.steps,
            self.generator,
            bootstrap=settings.bootstrap,
        )
        return rollout

    def descend(self, loss: Tensor) -> None:
        """A step down the gradient of a loss, scaled down where it is too long.

        Of several processes each has its part of the loss, to which their parts add up.
        """
        self.optimizer.zero_grad(set_to_none=True)
        here = processes()
        if loss.requires_grad or not here.several:  # a process may have no part
            loss.backward()  # type: ignore[no-untyped-call]
        here.sum_gradients(list(self.policy.parameters()), 0.0)
        nn.utils.clip_grad_norm_(self.policy.parameters(), self.settings.max_grad_norm)
        self.optimizer.step()

    def state_dict(self) -> dict[str, Any]:
        """Everything that the next iteration depends on; all processes ask for it together."""
        return {
            "policy": self.policy.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
            "iteration": self.iteration,
            "episodes": None if self.state is None else self._all_episodes(self.state),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where another learner of the same making stopped."""
        checkpoint.check(state, {"policy": dict, "optimizer": dict, "iteration": int})
        checkpoint.restore_module(self.policy, state["policy"])
        checkpoint.restore_optimizer(self.optimizer, state["optimizer"])
        self.generator.set_state(state["generator"].cpu())
        self.iteration = state["iteration"]
        self.state = None
        if state["episodes"] is not None:
            every = _unpacked(state["episodes"], self.generator.device)
            self.state = every.select(torch.arange(len(every))[processes().share(len(every))])

    def _all_episodes(self, state: State) -> dict[str, Any]:
        """The episodes under way in all processes, as a checkpoint has them."""
        if not processes().several:
            return _packed(state)
        cpu = torch.device("cpu")
        parts = processes().gathered([_packed(_unpacked(_packed(state), cpu))])
        return _packed(State.cat([_unpacked(part, cpu) for part in parts]))


def train(
    learner: Learner,
    queries: QuerySource,
    callback: Callable[[IterationReport], object] | None = None,
) -> list[IterationReport]:
    """The iterations that are left; a callback that returns True ends them early."""
    reports = []
    while learner.iteration < learner.settings.iterations:
        given = queries if isinstance(queries, Queries) else queries(learner.iteration)
        reports.append(learner.learn(given))
        if callback is not None and callback(reports[-1]) is True:
            break
    return reports


def _of_all(own: Tally) -> Tally:
    """How the episodes of all processes fared."""
    if not processes().several:
        return own
    counts = {name: value for name, value in asdict(own).items() if name != "reward"}
    sums = processes().sum(np.array([*counts.values(), own.reward * own.episodes])).tolist()
    found = {name: round(value) for name, value in zip(counts, sums[:-1], strict=True)}
    return Tally(**found, reward=sums[-1] / max(found["episodes"], 1))


def _packed(state: State) -> dict[str, Any]:
    memory = state.memory
    return {
        "goals": (state.goals.atoms, state.goals.answer, state.goals.left_out),
        "rest": (state.label, state.depth, state.query, state.over),
        "memory": None if memory is None else (memory.hash, memory.atoms, memory.answer),
    }


def _unpacked(packed: dict[str, Any], device: torch.device) -> State:
    memory = None
    if packed["memory"] is not None:
        memory = Memory(*(t.to(device) for t in packed["memory"]))
    label, depth, query, over = (t.to(device) for t in packed["rest"])
    if memory is not None:
        shapes = [tuple(t.shape) for t in (memory.hash, memory.atoms, memory.answer)]
        if [len(s) for s in shapes] != [2, 4, 3] or len({s[:2] for s in shapes}) != 1:
            raise ValueError("the memory of the episodes has another shape")
        if shapes[0][0] != len(depth):
            raise ValueError("the memory is one of another number of episodes")
    goals = Goals(*(t.to(device) for t in packed["goals"]))
    return State(goals, label, depth, query, over, memory)
