"""The adapter for TorchRL: its own checker, and rewards of a process known by hand."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
import torch

from deepprooflog.mdp.torchrl_env import torchrl_env
from deepprooflog.syntax.terms import Functor

pytest.importorskip("torchrl", reason="torchrl is not installed")

from torchrl.envs.utils import check_env_specs

PROGRAM = "p(X) :- q(X). p(X) :- r(X). q(a). r(b)."
SMALL = {"max_atoms": 3, "max_actions": 4}


def test_the_checker_is_content() -> None:
    env = torchrl_env(PROGRAM, ["p(a)", "p(b)"], [1, 0], num_envs=5, **SMALL)
    env.set_seed(0)
    check_env_specs(env)


def test_rewards_by_hand() -> None:
    """p(a) by its first rule, then the fact: +1. Its second rule leads to r(a), which fails."""
    env = torchrl_env(PROGRAM, ["p(a)"], [1], num_envs=3, **SMALL, false_action=False)
    state = env.reset()
    assert state["action_mask"].sum(-1).tolist() == [2, 2, 2]
    state = env.step(state.set("action", torch.tensor([0, 1, 3])))["next"]
    assert state["terminated"].squeeze(-1).tolist() == [False, False, True]
    again = state.select("goal", "successors", "action_mask")
    state = env.step(again.set("action", torch.zeros(3, dtype=torch.int64)))["next"]
    assert state["reward"].squeeze(-1).tolist() == [1.0, 0.0, 0.0]
    assert state["proved"].squeeze(-1).tolist() == [True, False, False]
    assert state["terminated"].squeeze(-1).tolist() == [True, True, False]


def test_episodes_are_renewed_one_by_one() -> None:
    """A rollout that goes on past the end of episodes sees each of them begin anew."""
    env = torchrl_env(PROGRAM, ["p(a)", "p(b)"], [1, 0], num_envs=4, **SMALL)
    env.set_seed(1)
    rollout = env.rollout(12, break_when_any_done=False)
    done = rollout["next", "done"].squeeze(-1)
    assert done.sum() > 4
    fresh = rollout["goal"][:, 1:][done[:, :-1]]
    query = env.session.environment.database.symbols.predicate(Functor("p", 1))
    assert (fresh[:, 0, 0] == query).all()
    assert rollout["action_mask"].any(-1).all()


def test_the_page_shows_what_happens() -> None:
    """The example of docs/mdp.md; other pages' examples need nothing that is optional."""
    page = Path(__file__).parents[2] / "docs" / "mdp.md"
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```pycon\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    test = doctest.DocTestParser().get_doctest(blocks[0], {}, "TorchRL", str(page), 0)
    assert test.examples
    failures: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=failures.append)
    assert not failures, "\n".join(failures)
