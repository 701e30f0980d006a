"""The proof environment for Gymnasium: one episode, or many in one batch.

To import this module registers the environment as `deepprooflog/Proof-v0`; Gymnasium imports it
where the name says so. `options` of an environment are those of `Session`.

>>> import gymnasium
>>> name = "deepprooflog.mdp.gymnasium_env:deepprooflog/Proof-v0"
>>> env = gymnasium.make(name, program="p(X) :- q(X). q(a).", queries=["p(a)"])
>>> observation, info = env.reset(seed=0)
>>> observation["action_mask"].nonzero()[0].tolist()
[0, 64]
>>> _ = env.step(0)
>>> env.step(0)[1]
1.0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsInt, TypeAlias

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from deepprooflog.errors import ModelError
from deepprooflog.logic.program import Program
from deepprooflog.mdp.session import Session, View

ID = "deepprooflog/Proof-v0"

Observation: TypeAlias = dict[str, NDArray[Any]]


def _spaces(session: Session) -> tuple[spaces.Space[Any], spaces.Space[Any]]:
    low, high = session.bounds
    limits, width = session.limits, session.width
    goal = spaces.Box(low, high, (limits.atoms, width), np.int64)
    successors = spaces.Box(low, high, (limits.actions, limits.atoms, width), np.int64)
    mask = spaces.MultiBinary(session.numbers)
    seen = spaces.Dict({"action_mask": mask, "goal": goal, "successors": successors})
    return seen, spaces.Discrete(session.numbers)


def _arrays(view: View) -> Observation:
    return {
        "action_mask": view.mask.to(torch.int8).cpu().numpy(),
        "goal": view.goal.cpu().numpy(),
        "successors": view.successors.cpu().numpy(),
    }


class ProofEnv(gymnasium.Env[Any, Any]):
    """One derivation at a time. `reset(options={"query": n})` chooses the query."""

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012  (as Gymnasium has it)

    def __init__(
        self,
        program: Program | str,
        queries: Sequence[str],
        labels: Sequence[int] | None = None,
        *,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        self.session = Session(program, queries, labels, **options)
        self.observation_space, self.action_space = _spaces(self.session)
        self.render_mode = render_mode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        count = len(self.session.queries)
        query = int(self.np_random.integers(count))
        query = int((options or {}).get("query", query))
        if not 0 <= query < count:
            raise ModelError(f"there is no query {query}", hint=f"0 to {count - 1}")
        view = self.session.begin(torch.tensor([query]), int(self.np_random.integers(1 << 31)))
        return self._first(view), {"query": query}

    def step(self, action: SupportsInt) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        state = self.session.state
        if state is None or bool(state.over[0]):
            raise ModelError("the episode is over", hint="env.reset()")
        outcome, view, excluded = self.session.act(torch.tensor([int(action)]))
        info = {
            "query": int(state.query[0]),
            "proved": bool(outcome.proved[0]),
            "excluded_action": bool(excluded[0]),
        }
        return (
            self._first(view),
            float(outcome.reward[0]),
            bool(outcome.terminated[0]),
            bool(outcome.truncated[0]),
            info,
        )

    def render(self) -> str:
        """The goal as Prolog."""
        return self.session.text()[0] if self.session.state is not None else ""

    @staticmethod
    def _first(view: View) -> Observation:
        return {name: array[0] for name, array in _arrays(view).items()}


class ProofVectorEnv(VectorEnv[Any, Any, NDArray[Any]]):
    """Many derivations at once; one that ends is replaced in the same step."""

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012  (as Gymnasium has it)

    def __init__(
        self,
        program: Program | str,
        queries: Sequence[str],
        labels: Sequence[int] | None = None,
        num_envs: int = 1,
        **options: Any,
    ) -> None:
        self.num_envs = num_envs
        self.session = Session(program, queries, labels, **options)
        self.single_observation_space, self.single_action_space = _spaces(self.session)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        query = self._draw()
        view = self.session.begin(query, int(self.np_random.integers(1 << 31)))
        return _arrays(view), {"query": query.cpu().numpy()}

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[Observation, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        number = torch.as_tensor(np.asarray(actions, dtype=np.int64))
        outcome, view, excluded = self.session.act(number)
        over = outcome.state.over.cpu().numpy()
        info: dict[str, Any] = {
            "proved": outcome.proved.cpu().numpy(),
            "excluded_action": excluded.cpu().numpy(),
            "query": outcome.state.query.cpu().numpy(),
        }
        seen = _arrays(view)
        if over.any():
            last = np.full(self.num_envs, None, dtype=object)
            for i in over.nonzero()[0]:
                last[i] = {name: array[i] for name, array in seen.items()}
            info |= {"final_obs": last, "_final_obs": over}
            seen = _arrays(self.session.renew(self._draw()))
        return (
            seen,
            outcome.reward.double().cpu().numpy(),
            outcome.terminated.cpu().numpy(),
            outcome.truncated.cpu().numpy(),
            info,
        )

    def _draw(self) -> torch.Tensor:
        drawn = self.np_random.integers(len(self.session.queries), size=self.num_envs)
        return torch.as_tensor(drawn)


if ID not in gymnasium.registry:
    gymnasium.register(
        ID,
        entry_point=f"{__name__}:{ProofEnv.__name__}",
        vector_entry_point=f"{__name__}:{ProofVectorEnv.__name__}",
    )
