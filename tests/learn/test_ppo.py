"""PPO, actor-critic and REINFORCE on processes whose optimum is known in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

import deepprooflog as dpl
from deepprooflog.errors import ModelError
from deepprooflog.learn.actor_critic import (
    ActorCritic,
    EpisodicReinforce,
    actor_critic_learner,
    reinforce_learner,
)
from deepprooflog.learn.on_policy import IterationReport, Learner, OnPolicy, train
from deepprooflog.learn.ppo import Ppo, clipped_objective, divergence, ppo_learner, value_loss
from deepprooflog.learn.rollout import collect, collect_whole
from deepprooflog.logic.program import Program
from deepprooflog.mdp.environment import Environment, Process, Queries, reset
from deepprooflog.mdp.policy import Policy, log_prob
from deepprooflog.relational.database import Database
from deepprooflog.score.embedding.embedding import Embedding

Make = Callable[[Environment, Policy, Any], Learner]
LEARNERS: list[tuple[Make, type[OnPolicy]]] = [
    (ppo_learner, Ppo),
    (actor_critic_learner, ActorCritic),
    (reinforce_learner, EpisodicReinforce),
]
NAMES = ["ppo", "actor_critic", "reinforce"]

# p(a) has one derivation that succeeds among two; n(a), a negative query, is best abandoned.
PROGRAM = Program(
    """
    p(X) :- good(X), fine(X).
    p(X) :- bad(X).
    n(X) :- good(X).
    n(X) :- fine(X).
    good(a). fine(a). bad(b).
    """
)


def made(
    program: Program,
    queries: list[str],
    labels: list[int],
    *,
    critic: bool = True,
    seed: int = 0,
    **process: Any,
) -> tuple[Environment, Policy, Queries]:
    database = Database.of(program)
    actor = Embedding(program, 8, seed=seed, false_action=process.get("false_action", True))
    other = Embedding(program, 8, seed=seed + 100) if critic else None
    policy = Policy(actor, database, other)
    labelled = Queries(database.goals(queries), torch.tensor(labels))
    return Environment(database, Process(max_depth=6, **process)), policy, labelled


def exact(program: Program, policy: Policy, query: str) -> float:
    """p_success of the learned scorer, by dynamic programming over the goal graph."""
    return dpl.Model(program, scorer=policy.actor).prob(query)


@pytest.mark.parametrize(("make", "settings"), LEARNERS, ids=NAMES)
def test_reaches_the_optimal_policy(make: Make, settings: type[OnPolicy]) -> None:
    """p_success 1 for the positive query, 0 for the negative one."""
    environment, policy, queries = made(PROGRAM, ["p(a)", "n(a)"], [1, 0])
    chosen = settings(episodes=64, steps=6, iterations=12, lr=0.05, entropy=0.02)
    reports = train(make(environment, policy, chosen), queries)
    assert exact(PROGRAM, policy, "p(a)") > 0.95
    assert exact(PROGRAM, policy, "n(a)") < 0.05
    assert reports[-1].tally.reward > reports[0].tally.reward


@pytest.mark.parametrize(("make", "settings"), LEARNERS, ids=NAMES)
def test_entropy_stops_short_of_certainty(make: Make, settings: type[OnPolicy]) -> None:
    """One choice, True or False, with entropy weight c: π(True) = σ(1 / c) at the optimum."""
    program = Program("p(a).")
    environment, policy, queries = made(program, ["p(a)"], [1])
    extra = {"normalize": False, "epochs": 1, "target_kl": None} if settings is Ppo else {}
    chosen = settings(
        episodes=512,
        steps=1,
        iterations=40,
        lr=0.03,
        entropy=0.5,
        max_grad_norm=100.0,
        **extra,  # type: ignore[arg-type]
    )
    seen: list[float] = []

    def late(report: IterationReport) -> None:
        if report.iteration > 16 and report.iteration % 3 == 0:
            seen.append(exact(program, policy, "p(a)"))

    train(make(environment, policy, chosen), queries, late)
    expected = 1 / (1 + math.exp(-1 / 0.5))
    assert sum(seen) / len(seen) == pytest.approx(expected, abs=0.02)


def test_reinforce_needs_no_critic() -> None:
    environment, policy, queries = made(PROGRAM, ["p(a)"], [1], critic=False)
    settings = EpisodicReinforce(episodes=64, iterations=20, lr=0.03, entropy=0.0)
    train(reinforce_learner(environment, policy, settings), queries)
    assert exact(PROGRAM, policy, "p(a)") > 0.95
    with pytest.raises(ModelError, match="PPO needs a critic"):
        ppo_learner(environment, policy)


def test_rollouts_succeed_as_often_as_the_exact_probability_says() -> None:
    """Memory off: the share of episodes proved estimates p_success."""
    environment, policy, queries = made(PROGRAM, ["p(a)", "n(a)"], [1, 0], memory=False)
    count = 20_000
    numbers = torch.arange(count) % 2
    rollout, _ = collect_whole(
        environment, policy, queries, numbers, torch.Generator().manual_seed(0)
    )
    for share, query in zip(rollout.tally.success, ["p(a)", "n(a)"], strict=True):
        p = exact(PROGRAM, policy, query)
        assert abs(share - p) < 4 * (p * (1 - p) / (count / 2)) ** 0.5
    assert rollout.tally.episodes == count and rollout.tally.cut == 0


def test_the_policy_gradient_is_that_of_the_exact_objective() -> None:
    """E[Σ A ∇ log π] against the gradient of Σ (2y − 1) p_success by dynamic programming."""
    environment, policy, queries = made(
        PROGRAM, ["p(a)", "n(a)"], [1, 0], critic=False, memory=False
    )
    numbers = torch.arange(40_000) % 2
    rollout, _ = collect_whole(
        environment, policy, queries, numbers, torch.Generator().manual_seed(1)
    )
    log = rollout.choices.score(policy)
    taken = log_prob(log, rollout.choices.chosen).view_as(rollout.reward) * rollout.going
    surrogate = (taken.sum(0) * rollout.reward.sum(0)).mean()
    found = torch.autograd.grad(surrogate, list(policy.actor.parameters()), allow_unused=True)
    log_p = dpl.Model(PROGRAM, scorer=policy.actor).log_prob(["p(a)", "n(a)"])
    p = log_p.exp()
    objective = (p[0] - p[1]) / 2
    expected = torch.autograd.grad(objective, list(policy.actor.parameters()), allow_unused=True)
    one, two = (
        torch.cat(
            [
                torch.zeros_like(p).flatten() if g is None else g.flatten()
                for p, g in zip(policy.actor.parameters(), grads, strict=True)
            ]
        )
        for grads in (found, expected)
    )
    assert (one - two).norm() < 0.05 * two.norm()


def test_clipped_objective_by_hand() -> None:
    """ε = 0.2, A = ±2: a ratio of 1.5 gains no more than 1.2 would; a loss is not clipped."""
    log_ratio = torch.tensor([1.5, 1.5, 0.5, 0.5, 1.1], dtype=torch.float64).log().requires_grad_()
    gain = torch.tensor([2.0, -2.0, 2.0, -2.0, 2.0], dtype=torch.float64)
    found = clipped_objective(log_ratio, gain, 0.2)
    torch.testing.assert_close(
        found.detach(), torch.tensor([2.4, -3.0, 1.0, -1.6, 2.2], dtype=torch.float64)
    )
    found.sum().backward()
    assert log_ratio.grad is not None
    torch.testing.assert_close(
        log_ratio.grad, torch.tensor([0.0, -3.0, 1.0, 0.0, 2.2], dtype=torch.float64)
    )


def test_value_loss_by_hand() -> None:
    """½ · mean of 1 and 4; clipped to 0.5 around the old value 0, ½ · mean of 1 and 6.25."""
    value, old, returns = torch.tensor([2.0, 1.0]), torch.zeros(2), torch.tensor([1.0, 3.0])
    assert value_loss(value, old, returns, None).item() == pytest.approx(0.5 * (1 + 4) / 2)
    assert value_loss(value, old, returns, 0.5).item() == pytest.approx(0.5 * (1 + 6.25) / 2)


def test_divergence_of_two_coins() -> None:
    """Over draws from the old coin the estimate is KL: 0.5 log(0.5/0.8) + 0.5 log(0.5/0.2)."""
    log_ratio = torch.tensor([0.8 / 0.5, 0.2 / 0.5], dtype=torch.float64).log()
    expected = 0.5 * math.log(0.5 / 0.8) + 0.5 * math.log(0.5 / 0.2)
    assert divergence(log_ratio).item() == pytest.approx(expected)


def test_the_divergence_limit_stops_an_update() -> None:
    environment, policy, queries = made(PROGRAM, ["p(a)", "n(a)"], [1, 0])
    settings = Ppo(episodes=64, steps=6, lr=0.5, epochs=20, minibatch=64, target_kl=0.01)
    losses = ppo_learner(environment, policy, settings).learn(queries).losses
    assert losses.stopped and losses.kl > 0.01 and losses.updates < 20 * 6


def test_a_loss_that_is_not_finite_ends_the_run() -> None:
    """A vector of the value network overflows: the message says what to try."""
    environment, policy, queries = made(PROGRAM, ["p(a)", "n(a)"], [1, 0])
    assert policy.head is not None
    torch.nn.init.constant_(policy.head.bias, math.inf)
    with pytest.raises(ModelError, match="not finite"):
        ppo_learner(environment, policy, Ppo(episodes=8, steps=2)).learn(queries)


def weights(policy: Policy) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in policy.parameters()])


@pytest.mark.parametrize(("make", "settings"), LEARNERS, ids=NAMES)
def test_reproducible_by_seed(make: Make, settings: type[OnPolicy]) -> None:
    def run(seed: int) -> torch.Tensor:
        environment, policy, queries = made(PROGRAM, ["p(a)", "n(a)"], [1, 0])
        chosen = settings(episodes=16, steps=3, iterations=2, seed=seed)
        train(make(environment, policy, chosen), queries)
        return weights(policy)

    assert torch.equal(run(0), run(0))
    assert not torch.equal(run(0), run(1))


@pytest.mark.parametrize(("make", "settings"), LEARNERS, ids=NAMES)
def test_resumed_as_if_never_stopped(make: Make, settings: type[OnPolicy], tmp_path: Any) -> None:
    """Two iterations, then two more by another learner from a file: bit for bit four."""
    chosen = settings(episodes=16, steps=3, iterations=4, entropy_end=0.0)
    environment, policy, queries = made(PROGRAM, ["p(a)", "n(a)"], [1, 0])
    train(make(environment, policy, chosen), queries)
    _, first, _ = made(PROGRAM, ["p(a)", "n(a)"], [1, 0])
    learner = make(environment, first, chosen)
    train(learner, queries, lambda report: report.iteration == 2)
    torch.save(learner.state_dict(), tmp_path / "state.pt")
    _, second, _ = made(PROGRAM, ["p(a)", "n(a)"], [1, 0], seed=9)
    other = make(environment, second, chosen)
    other.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    reports = train(other, queries)
    assert [r.iteration for r in reports] == [3, 4]
    assert torch.equal(weights(second), weights(policy))


def test_queries_may_change_between_iterations() -> None:
    """Fresh negatives: the learner asks for the queries of each iteration."""
    environment, policy, queries = made(PROGRAM, ["p(a)", "n(a)"], [1, 0])
    asked = []

    def fresh(iteration: int) -> Queries:
        asked.append(iteration)
        return queries

    train(ppo_learner(environment, policy, Ppo(episodes=4, steps=2, iterations=3)), fresh)
    assert asked == [0, 1, 2]
    empty = Queries(queries.goals.select(torch.zeros(0, dtype=torch.int64)), torch.zeros(0).long())
    with pytest.raises(ModelError, match="no query"):
        ppo_learner(environment, policy).learn(empty)


def test_episodes_cut_off_are_counted_and_bootstrapped_only_when_asked() -> None:
    """p(a) :- p(a) for ever, memory off: at max_depth = 6 every episode of 6 steps is cut."""
    program = Program("p(X) :- p(X). q(a).")
    environment, policy, queries = made(program, ["p(a)"], [1], memory=False, false_action=False)
    assert policy.head is not None
    torch.nn.init.constant_(policy.head.bias, 0.25)
    state = reset(environment, queries, torch.zeros(5, dtype=torch.int64))
    plain, _ = collect(environment, policy, state, queries, 12)
    valued, _ = collect(environment, policy, state, queries, 12, bootstrap=True)
    assert plain.tally.cut == valued.tally.cut == 10 and plain.tally.episodes == 10
    assert plain.next_value[5].tolist() == [0.0] * 5
    assert valued.next_value[5].tolist() == plain.next_value[4].tolist() == [0.25] * 5
