"""Rollouts: what a policy did in the proof environment, as a learner needs it.

    (G_t, a_t, r_t, G_{t+1})      with N(G_t), π(a_t | G_t), V(G_t), V(G_{t+1})

Episodes run side by side for a number of steps; where one ends, the next begins in its place
(`collect`), or each runs to its own end and no further (`collect_whole`).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from deepprooflog.mdp.environment import (
    FALSE,
    Actions,
    Environment,
    Outcome,
    Queries,
    State,
    actions,
    reset,
    restart,
    step,
)
from deepprooflog.mdp.policy import Policy, draw, log_prob
from deepprooflog.relational.goals import Goals
from deepprooflog.score.segments import tensor_ranges
from deepprooflog.score.transitions import LogPolicy


def gae(
    reward: Float[Tensor, "steps episodes"],
    value: Float[Tensor, "steps episodes"],
    next_value: Float[Tensor, "steps episodes"],
    over: Bool[Tensor, "steps episodes"],
    *,
    gamma: float = 1.0,
    lam: float = 0.95,
) -> Float[Tensor, "steps episodes"]:
    """A_t of each step.

    `next_value` is V(G_{t+1}) where the step led to, 0 where it ended in True or False; `over` says
    where an episode ended, so that nothing of the next one in the same row is counted in.

    >>> one = torch.ones(1, 1)
    >>> gae(one, 0.25 * one, 0 * one, one.bool()).item()
    0.75
    """
    delta = reward + gamma * next_value - value
    keep = gamma * lam * (~over).to(delta.dtype)
    found = torch.zeros_like(delta)
    later = torch.zeros_like(delta[0]) if len(delta) else delta.new_zeros(delta.shape[1:])
    for t in range(len(delta) - 1, -1, -1):
        later = delta[t] + keep[t] * later
        found[t] = later
    return found


@dataclass(frozen=True)
class ActionChoices:
    """Goals with their ragged successors; those of goal i are rows start[i] to start[i + 1]."""

    goals: Goals
    successors: Goals
    parent: Int[Tensor, " successors"]
    clause: Int[Tensor, " successors"]
    start: Int[Tensor, " goals_and_one"]
    open: Bool[Tensor, " successors"]
    false: Bool[Tensor, " goals"]
    chosen: Int[Tensor, " goals"]  # a row of successors, or FALSE

    def __len__(self) -> int:
        return len(self.goals)

    def select(self, index: Int[Tensor, " some"]) -> ActionChoices:
        """Some of the goals, with their successors."""
        begin, count = self.start[index], self.start[index + 1] - self.start[index]
        start = torch.cat([count.new_zeros(1), count.cumsum(0)])
        parent, rows = tensor_ranges(begin, count, int(start[-1]))
        chosen = self.chosen[index]
        return ActionChoices(
            goals=self.goals.select(index),
            successors=self.successors.select(rows),
            parent=parent,
            clause=self.clause[rows],
            start=start,
            open=self.open[rows],
            false=self.false[index],
            chosen=torch.where(chosen == FALSE, FALSE, chosen - begin + start[:-1]),
        )

    def score(self, policy: Policy) -> LogPolicy:
        """log π of all of them, differentiable."""
        return policy.log_policy(
            self.goals, self.successors, self.parent, self.clause, self.open, self.false
        )


@dataclass(frozen=True)
class Rollout:
    """Steps of episodes side by side; `choices` has their goals one step after another."""

    choices: ActionChoices
    log_prob: Float[Tensor, "steps episodes"]
    value: Float[Tensor, "steps episodes"]
    next_value: Float[Tensor, "steps episodes"]  # 0 where the step ended an episode
    reward: Float[Tensor, "steps episodes"]
    over: Bool[Tensor, "steps episodes"]  # the step ended its episode
    going: Bool[Tensor, "steps episodes"]  # there was a step to take
    tally: Tally

    @property
    def taken(self) -> Int[Tensor, " some"]:
        """Which of all steps, one after another, were taken."""
        return self.going.flatten().nonzero().squeeze(1)

    def advantage(self, gamma: float, lam: float) -> Float[Tensor, "steps episodes"]:
        """A_t of each step by the critic's values."""
        return gae(self.reward, self.value, self.next_value, self.over, gamma=gamma, lam=lam)


@dataclass(frozen=True)
class Tally:
    """How the episodes fared that ended in a rollout."""

    steps: int
    episodes: int
    positives: int
    proved_positives: int
    negatives: int
    proved_negatives: int
    cut: int  # by max_depth
    reward: float  # mean over the episodes that ended

    @property
    def success(self) -> tuple[float, float]:
        """The share of positive and of negative queries that were proved."""
        return (
            self.proved_positives / max(self.positives, 1),
            self.proved_negatives / max(self.negatives, 1),
        )


@torch.no_grad()
def collect(
    environment: Environment,
    policy: Policy,
    state: State,
    queries: Queries,
    steps: int,
    generator: torch.Generator | None = None,
    *,
    bootstrap: bool = False,
) -> tuple[Rollout, State]:
    """So many steps from a state, and the state after them; queries are drawn uniformly.

    An episode that max_depth cuts off counts as failed, or (`bootstrap`) as worth V of where it is.
    """
    tape = _Tape()
    for _ in range(steps):
        outcome = tape.play(environment, policy, state, generator, bootstrap=bootstrap)
        drawn = _integers(len(queries), len(state), state.over.device, generator)
        state = restart(environment, outcome.state, queries, drawn)
    return tape.rollout(policy.value(state.goals)), state


@torch.no_grad()
def collect_whole(
    environment: Environment,
    policy: Policy,
    queries: Queries,
    query: Int[Tensor, " episodes"] | None = None,
    generator: torch.Generator | None = None,
    *,
    greedy: bool = False,
) -> tuple[Rollout, State]:
    """One episode for each query (or for each number given), to its end."""
    tape = _Tape()
    state = reset(environment, queries, query)
    for _ in range(environment.process.max_depth):
        if bool(state.over.all()):
            break
        state = tape.play(environment, policy, state, generator, greedy=greedy).state
    return tape.rollout(policy.value(state.goals)), state


class _Tape:
    """The steps taken so far."""

    def __init__(self) -> None:
        self.states: list[State] = []
        self.offered: list[Actions] = []
        self.chosen: list[Tensor] = []
        self.log_prob: list[Tensor] = []
        self.value: list[Tensor] = []
        self.cut_value: list[Tensor] = []
        self.outcomes: list[Outcome] = []

    def play(
        self,
        environment: Environment,
        policy: Policy,
        state: State,
        generator: torch.Generator | None,
        *,
        bootstrap: bool = False,
        greedy: bool = False,
    ) -> Outcome:
        """One step of every episode."""
        offered = actions(environment, state)
        log = policy.log_policy(
            state.goals,
            offered.goals,
            offered.episode,
            offered.clause,
            offered.open,
            offered.false,
        )
        chosen = draw(log, offered, generator, greedy=greedy)
        outcome = step(environment, state, offered, chosen, generator)
        self.states.append(state)
        self.offered.append(offered)
        self.chosen.append(chosen)
        self.log_prob.append(log_prob(log, chosen))
        self.value.append(policy.value(state.goals))
        self.outcomes.append(outcome)
        worth = torch.zeros_like(self.value[-1])
        if bootstrap:
            worth = torch.where(outcome.truncated, policy.value(outcome.state.goals), worth)
        self.cut_value.append(worth)
        return outcome

    def rollout(self, last: Float[Tensor, " episodes"]) -> Rollout:
        value = torch.stack(self.value)
        over = torch.stack([o.terminated | o.truncated for o in self.outcomes])
        after = torch.cat([value[1:], last[None]])
        reward = torch.stack([o.reward for o in self.outcomes])
        return Rollout(
            choices=self._choices(),
            log_prob=torch.stack(self.log_prob),
            value=value,
            next_value=torch.where(over, torch.stack(self.cut_value), after),
            reward=reward,
            over=over,
            going=torch.stack([~s.over for s in self.states]),
            tally=self._tally(over, reward),
        )

    def _choices(self) -> ActionChoices:
        offered = self.offered
        episodes = len(self.states[0])
        sizes = [len(o) for o in offered]
        before = [sum(sizes[:t]) for t in range(len(sizes))]
        chosen = [
            torch.where(c == FALSE, FALSE, c + n) for c, n in zip(self.chosen, before, strict=True)
        ]
        end = offered[0].start.new_tensor([sum(sizes)])
        starts = [o.start[:-1] + n for o, n in zip(offered, before, strict=True)]
        return ActionChoices(
            goals=Goals.cat([s.goals for s in self.states]),
            successors=Goals.cat([o.goals for o in offered]),
            parent=torch.cat([o.episode + t * episodes for t, o in enumerate(offered)]),
            clause=torch.cat([o.clause for o in offered]),
            start=torch.cat([*starts, end]),
            open=torch.cat([o.open for o in offered]),
            false=torch.cat([o.false for o in offered]),
            chosen=torch.cat(chosen),
        )

    def _tally(
        self, over: Bool[Tensor, "steps episodes"], reward: Float[Tensor, "steps episodes"]
    ) -> Tally:
        positive = torch.stack([s.label for s in self.states]) == 1
        proved = torch.stack([o.proved for o in self.outcomes])
        going = torch.stack([~s.over for s in self.states])
        cut = torch.stack([o.truncated for o in self.outcomes])
        counted = (going, over, over & positive, proved & positive, over & ~positive,
                   proved & ~positive, cut)  # fmt: skip
        # One transfer from the device for all of them.
        n = torch.stack([c.sum() for c in counted]).tolist()
        mean = float(reward.sum()) / max(n[1], 1)
        return Tally(n[0], n[1], n[2], n[3], n[4], n[5], n[6], mean)


def _integers(
    high: int, count: int, device: torch.device, generator: torch.Generator | None
) -> Int[Tensor, " count"]:
    where = device if generator is None else generator.device
    return torch.randint(high, (count,), generator=generator, device=where).to(device)
