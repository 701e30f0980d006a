"""The proof environment for TorchRL, many episodes in one batch on one device.

TorchRL is an optional extra: it is imported when the first environment is made.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch

from deepprooflog.errors import ModelError
from deepprooflog.logic.program import Program
from deepprooflog.mdp.session import Session, View


def torchrl_env(
    program: Program | str,
    queries: Sequence[str],
    labels: Sequence[int] | None = None,
    *,
    num_envs: int = 1,
    **options: Any,
) -> Any:
    """A `torchrl.envs.EnvBase` with batch size [num_envs]; `options` are those of `Session`.

    Its tensordicts have `goal`, `successors` and `action_mask`; `proved` says which steps reached
    True.
    """
    session = Session(program, queries, labels, **options)
    return _env_class()(session, num_envs)


@cache
def _env_class() -> Any:
    try:
        base = importlib.import_module("torchrl.envs").EnvBase
    except ImportError:
        raise ModelError(
            "TorchRL is not installed", hint="pip install 'deepprooflog[torchrl]'"
        ) from None
    methods = {
        "__init__": _init,
        "_reset": _reset,
        "_step": _step,
        "_set_seed": _set_seed,
        "base": base,
        "__doc__": "Derivations as episodes.",
    }
    return type("ProofEnv", (base,), methods)


def _init(self: Any, session: Session, num_envs: int) -> None:
    specs = importlib.import_module("torchrl.data")
    device = session.device
    self.base.__init__(self, device=device, batch_size=[num_envs])
    self.session = session
    # Seeds of their own leave the global generators as they are.
    self.queries = torch.Generator().manual_seed(0)
    low, high = session.bounds
    limits, width = session.limits, session.width
    batch = (num_envs,)

    def atoms(*shape: int) -> Any:
        shape = (*batch, *shape, limits.atoms, width)
        return specs.Bounded(low, high, shape=shape, dtype=torch.int64, device=device)

    def flags(*shape: int) -> Any:
        return specs.Binary(n=shape[-1], shape=(*batch, *shape), dtype=torch.bool, device=device)

    self.observation_spec = specs.Composite(
        goal=atoms(),
        successors=atoms(limits.actions),
        action_mask=flags(session.numbers),
        proved=flags(1),
        shape=batch,
        device=device,
    )
    self.action_spec = specs.Categorical(
        session.numbers, shape=batch, dtype=torch.int64, device=device
    )
    self.reward_spec = specs.Unbounded(shape=(*batch, 1), device=device)
    done = {name: flags(1) for name in ("done", "terminated", "truncated")}
    self.done_spec = specs.Composite(**done, shape=batch, device=device)


def _reset(self: Any, tensordict: Any = None, **_: Any) -> Any:
    session: Session = self.session
    count = len(session.queries)
    query = torch.randint(count, tuple(self.batch_size), generator=self.queries)
    which = None if tensordict is None else tensordict.get("_reset", None)
    if which is None or session.state is None:
        seed = int(torch.randint(1 << 31, (), generator=self.queries))
        return _seen(self, session.begin(query, seed))
    return _seen(self, session.renew(query, which.squeeze(-1)))


def _step(self: Any, tensordict: Any) -> Any:
    outcome, view, _ = self.session.act(tensordict["action"])
    over = outcome.terminated | outcome.truncated
    ends = {"terminated": outcome.terminated, "truncated": outcome.truncated, "done": over}
    found = _seen(self, view, proved=outcome.proved)
    found.update({name: value.unsqueeze(-1) for name, value in ends.items()})
    return found.set("reward", outcome.reward.unsqueeze(-1))


def _set_seed(self: Any, seed: int | None) -> None:
    if seed is not None:
        self.queries.manual_seed(seed)


def _seen(self: Any, view: View, proved: torch.Tensor | None = None) -> Any:
    tensordict = importlib.import_module("tensordict").TensorDict
    none = torch.zeros((*self.batch_size, 1), dtype=torch.bool, device=view.mask.device)
    values = {
        "goal": view.goal,
        "successors": view.successors,
        "action_mask": view.mask,
        "proved": none if proved is None else proved.unsqueeze(-1),
    }
    return tensordict(values, batch_size=self.batch_size, device=view.mask.device)
