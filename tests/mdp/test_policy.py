"""Drawing from π, its log-probabilities and its entropy, against closed forms."""

from __future__ import annotations

import pytest
import torch
from torch.distributions import Categorical

from deepprooflog.errors import ModelError
from deepprooflog.logic.program import Program
from deepprooflog.mdp.environment import (
    FALSE,
    Actions,
    Environment,
    Process,
    Queries,
    actions,
    reset,
)
from deepprooflog.mdp.policy import Policy, draw, entropy, log_prob
from deepprooflog.relational.database import Database
from deepprooflog.relational.goals import Goals
from deepprooflog.score.embedding.embedding import Embedding
from deepprooflog.score.transitions import LogPolicy

# Three episodes: two actions and False; three actions, one closed; nothing at all.
STEPS = torch.tensor([0.2, 0.3, 0.6, 0.0, 0.4], dtype=torch.float64).log()
FALSES = torch.tensor([0.5, 0.0, 0.0], dtype=torch.float64).log()
PARENT = torch.tensor([0, 0, 1, 1, 1])
LOG = LogPolicy(STEPS, FALSES)


def offered(copies: int) -> Actions:
    nothing = torch.zeros((5 * copies, 0, 3), dtype=torch.int64)
    goals = Goals(nothing, nothing[:, :, 0], torch.full((5 * copies,), -1))
    start = torch.cat([torch.tensor([0, 2, 5]) + 5 * i for i in range(copies)])
    return Actions(
        episode=torch.cat([PARENT + 3 * i for i in range(copies)]),
        goals=goals,
        clause=torch.zeros(5 * copies, dtype=torch.int64),
        open=STEPS.repeat(copies) > -torch.inf,
        start=torch.cat([start, torch.tensor([5 * copies])]),
        false=FALSES.repeat(copies) > -torch.inf,
        chance=torch.zeros(3 * copies, dtype=torch.bool),
    )


def test_draws_have_the_policys_frequencies() -> None:
    copies = 20_000
    log = LogPolicy(STEPS.repeat(copies), FALSES.repeat(copies))
    chosen = draw(log, offered(copies), torch.Generator().manual_seed(0)).view(copies, 3)
    base = torch.arange(copies) * 5
    for column, expected in ((0, {0: 0.2, 1: 0.3, FALSE: 0.5}), (1, {2: 0.6, 3: 0.0, 4: 0.4})):
        own = chosen[:, column]
        local = torch.where(own == FALSE, FALSE, own - base)
        for action, p in expected.items():
            share = (local == action).double().mean().item()
            assert abs(share - p) <= 4 * (p * (1 - p) / copies) ** 0.5
    assert (chosen[:, 2] == FALSE).all()


def test_greedy_takes_the_most_likely() -> None:
    assert draw(LOG, offered(1), greedy=True).tolist() == [FALSE, 2, FALSE]


def test_log_probabilities_of_what_was_chosen() -> None:
    found = log_prob(LOG, torch.tensor([1, 4, FALSE])).exp()
    torch.testing.assert_close(found, torch.tensor([0.3, 0.4, 1.0], dtype=torch.float64))
    assert log_prob(LOG, torch.tensor([FALSE, 2, FALSE])).exp()[0].item() == pytest.approx(0.5)


def test_entropy_with_its_gradient() -> None:
    """Against torch's own, and finite where a probability is 0."""
    rows = [torch.tensor([0.2, 0.3, 0.5]), torch.tensor([0.6, 0.0, 0.4]), torch.tensor([1.0])]
    expected = torch.stack([Categorical(probs=p.double()).entropy() for p in rows])
    steps, falses = STEPS.clone().requires_grad_(), FALSES.clone().requires_grad_()
    found = entropy(LogPolicy(steps, falses), PARENT)
    torch.testing.assert_close(found.detach(), expected)
    found.sum().backward()
    assert steps.grad is not None and steps.grad.isfinite().all()
    assert falses.grad is not None and falses.grad.isfinite().all()


def test_the_policy_is_the_scorers_softmax() -> None:
    """p(a) has two successors; with False they share the mass as exp(e_G · e_G')."""
    program = Program("p(X) :- q(X). p(X) :- r(X). q(a). r(a).")
    database = Database.of(program)
    scorer = Embedding(program, 8, seed=2).double()
    policy = Policy(scorer, database)
    environment = Environment(database, Process())
    state = reset(environment, Queries(database.goals(["p(a)"]), torch.tensor([1])))
    found = actions(environment, state)
    log = policy.log_policy(
        state.goals, found.goals, found.episode, found.clause, found.open, found.false
    )
    terms = database.decode(found.goals)
    vectors = scorer.embed([*database.decode(state.goals), *terms]).squeeze(1)
    logits = torch.cat([vectors[1:], scorer.false[None]]) @ vectors[0]
    expected = torch.log_softmax(logits, 0)
    torch.testing.assert_close(torch.cat([log.steps, log.false]), expected)
    assert policy.value(state.goals).tolist() == [0.0]


def test_actor_and_critic_know_the_same_symbols() -> None:
    program, other = Program("p(a)."), Program("p(a). q(b).")
    database = Database.of(program)
    with pytest.raises(ModelError, match="different symbols"):
        Policy(Embedding(program, 4), database, Embedding(other, 4))
