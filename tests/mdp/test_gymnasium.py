"""The adapters for Gymnasium: its own checker, its registry, and the plain environment's values."""

from __future__ import annotations

import random
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import torch

from deepprooflog.errors import ModelError
from deepprooflog.graph.goalgraph import goal_text
from deepprooflog.logic.program import Program
from deepprooflog.mdp.environment import Process
from deepprooflog.relational.goals import Goals
from mdp import reference

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from deepprooflog.mdp.gymnasium_env import ID  # noqa: E402

PROGRAM = """
p(X, Y) :- q(X, Y).
p(X, Y) :- q(X, Z), p(Z, Y).
q(a, b). q(b, c). q(c, a).
"""
QUERIES, LABELS = ["p(a, c)", "p(b, a)", "p(a, a)"], [1, 0, 1]


def make(**options: object) -> Any:
    options = {"program": PROGRAM, "queries": QUERIES, "labels": LABELS, **options}
    return gymnasium.make(ID, **options)


@pytest.mark.parametrize("false_action", [True, False])
def test_the_checker_is_content(false_action: bool) -> None:
    """Not even a warning."""
    env = make(false_action=false_action)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


@pytest.mark.parametrize("make", ["make", "make_vec"])
def test_gymnasium_finds_it_by_module_and_name(make: str) -> None:
    """The library leaves imports alone: Gymnasium imports the adapter when its name says so."""
    script = (
        "import sys; finders = list(sys.meta_path); import deepprooflog\n"
        "assert sys.meta_path == finders and 'gymnasium' not in sys.modules\n"
        "import gymnasium\n"
        f"assert {ID!r} not in gymnasium.registry\n"
        f"env = gymnasium.{make}('deepprooflog.mdp.gymnasium_env:{ID}',\n"
        "    program='p(X) :- q(X). q(a).', queries=['p(a)'])\n"
        "env.reset(seed=0)\n"
        f"assert {ID!r} in gymnasium.registry"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def decoded(env: Any, atoms: np.ndarray) -> list[str]:
    """The goals of an observation as text."""
    none = torch.zeros((len(atoms), 0), dtype=torch.int64)
    goals = Goals(torch.as_tensor(atoms), none, torch.full((len(atoms),), -1))
    return [goal_text(g) for g in env.unwrapped.session.environment.database.decode(goals)]


def test_episodes_as_the_plain_environment_has_them() -> None:
    """Random derivations: goals, successors, masks and rewards compared."""
    env, process, dice = make(max_depth=8), Process(max_depth=8), random.Random(0)
    proved = 0
    for number in range(12):
        query = number % len(QUERIES)
        seen, info = env.reset(seed=number, options={"query": query})
        assert info["query"] == query
        episode = reference.begin(Program(PROGRAM), QUERIES[query], LABELS[query])
        while episode.end is None:
            offered = reference.offers(episode, process)
            assert decoded(env, seen["goal"][None]) == [goal_text(episode.goal)]
            own = decoded(env, seen["successors"])[: len(offered.goals)]
            mask = dict(zip(own, seen["action_mask"].tolist(), strict=False))
            expected = [goal_text(g) for g in offered.goals]
            assert mask == dict(zip(expected, offered.open, strict=True))
            assert seen["action_mask"].sum() == sum(offered.open) + offered.false
            free = [i for i, is_open in enumerate(offered.open) if is_open]
            pick = dice.choice(free) if free else None
            action = 64 if pick is None else own.index(expected[pick])
            episode, reward = reference.step(episode, process, pick)
            seen, value, terminated, truncated, info = env.step(action)
            assert value == reward and info["proved"] == (episode.end is reference.End.PROVED)
            assert truncated == (episode.end is reference.End.CUT)
            assert (terminated or truncated) == (episode.end is not None)
        proved += episode.end is reference.End.PROVED
    assert proved > 3


def test_false_and_excluded_actions_end_the_episode() -> None:
    env = make()
    for action, excluded in ((64, False), (5, True)):
        env.reset(seed=0)
        _, reward, terminated, _, info = env.step(action)
        assert (reward, terminated, info["excluded_action"]) == (0.0, True, excluded)
        with pytest.raises(ModelError, match="the episode is over"):
            env.unwrapped.step(0)


def test_what_does_not_fit_is_an_error() -> None:
    """p(X, Y) has two rules; its second resolvent has two atoms."""
    with pytest.raises(ModelError, match="a goal has 2 successors, more than the 1 declared"):
        make(max_actions=1).reset()
    with pytest.raises(ModelError, match="a goal has 2 atoms, more than the 1 declared"):
        make(max_atoms=1).reset()
    with pytest.raises(ModelError, match="3 queries with 1 labels"):
        make(labels=[1])


def test_the_goal_is_shown_as_text() -> None:
    env = make(render_mode="ansi", queries=["p(a, c)"], labels=[1])
    env.reset(seed=0)
    assert env.render() == "p(a,c)"


def test_vector_environment() -> None:
    """Random open actions: observations in the space, ended episodes replaced and handed over."""
    env = gymnasium.make_vec(
        ID, num_envs=7, vectorization_mode="vector_entry_point", program=PROGRAM,
        queries=QUERIES, labels=LABELS, max_depth=5,
    )  # fmt: skip
    seen, _ = env.reset(seed=3)
    generator = np.random.default_rng(0)
    ended = 0
    for _ in range(30):
        assert seen in env.observation_space
        actions = np.array([generator.choice(m.nonzero()[0]) for m in seen["action_mask"]])
        seen, reward, terminated, truncated, info = env.step(actions)
        assert not info["excluded_action"].any()
        over = terminated | truncated
        ended += over.sum()
        assert seen["action_mask"].any(1).all()
        assert (reward[~info["proved"]] == 0).all()
        labels = np.array(LABELS)[info["query"]]
        assert (reward[info["proved"]] == (2 * labels - 1)[info["proved"]]).all()
        if over.any():
            assert (info["_final_obs"] == over).all()
            for i in over.nonzero()[0]:
                assert not info["final_obs"][i]["action_mask"].any()
    assert ended > 10


def test_the_same_seed_gives_the_same_episodes() -> None:
    runs = []
    for _ in range(2):
        env = gymnasium.make_vec(
            ID, num_envs=4, vectorization_mode="vector_entry_point", program=PROGRAM,
            queries=QUERIES, labels=LABELS,
        )  # fmt: skip
        seen, info = env.reset(seed=5)
        runs.append((info["query"].tolist(), seen["goal"].tolist()))
        seen, *_ = env.step(np.full(4, 64))
        runs[-1] += (seen["goal"].tolist(),)  # type: ignore[assignment]
    assert runs[0] == runs[1]
