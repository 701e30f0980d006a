"""One of several processes, as torchrun starts it: commands one after another, and what they gave.

    torchrun --nproc-per-node 2 process_worker.py PLAN

PLAN is a JSON file: `commands`, each the words after `dprl`; `results`, a file for the exit status
of each in the first process; `kill`, the step at which the last process ends itself as by kill -9;
`folders`, one for each process to work in; `full`, the step from which the first process finds no
space left to write a checkpoint; `gradients`, a file for what DistributedDataParallel makes of a
`Model` and of the run `prover`, half of the questions in each process; `update`, files for what
an update of PPO makes of a policy, part of one rollout in each process.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import deepprooflog as dpl
from deepprooflog.cli import main
from deepprooflog.kg.learn.ppo_learner import PpoTrainer
from deepprooflog.learn.ppo import Ppo, ppo_learner, update
from deepprooflog.learn.rollout import Rollout, collect
from deepprooflog.learn.run import loop
from deepprooflog.learn.run.descent import Descent
from deepprooflog.learn.run.processes import joined
from deepprooflog.mdp.environment import Environment, Process, Queries, reset
from deepprooflog.mdp.policy import Policy
from deepprooflog.relational.database import Database


def die_at(step: int) -> None:
    """End this process without a word at a step; the first one keeps every step before it."""

    def die(done: int) -> None:
        if done == step and os.environ["RANK"] == "1":
            os.kill(os.getpid(), signal.SIGKILL)

    before_steps(die)


def full_at(step: int) -> None:
    """Let the first process find no space left from a step on."""

    def fails(fd: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fill(done: int) -> None:
        if done >= step and os.environ["RANK"] == "0":
            os.fsync = fails

    before_steps(fill)


def before_steps(call: Callable[[int], object]) -> None:
    """Call something before each step; every step is kept."""
    loop.SECONDS_BETWEEN_CHECKPOINTS = 0.0
    trainers: tuple[Any, ...] = (Descent, PpoTrainer)
    for trainer in trainers:
        trainer.step = called_before(trainer.step, call)


def called_before(
    take: Callable[[Any, int], str], call: Callable[[int], object]
) -> Callable[[Any, int], str]:
    """A step that something is called before."""

    def step(self: Any, done: int) -> str:
        call(done)
        return take(self, done)

    return step


GOALS = ["s(a)", "s(b)", "p(a)", "q(b)"]
PROGRAM = """
t(0.5) :: s(X) :- p(X), p(X). t(0.5) :: s(X) :- q(X).
t(0.3) :: p(a). t(0.7) :: p(b). t(0.2) :: q(a). t(0.8) :: q(b).
"""


def gradients(modules: Sequence[nn.Module], inputs: Sequence[Any]) -> list[list[Any]]:
    """The gradients of the mean log probability, or mean success, of some questions."""
    found = []
    for module, asked in zip(modules, inputs, strict=True):
        given = module(asked)
        (given if isinstance(given, Tensor) else given.success).mean().backward()
        own = [None if p.grad is None else p.grad.tolist() for p in module.parameters()]
        found.append(own)
    return found


def questions(run: str) -> tuple[list[nn.Module], list[Any]]:
    """A model and a run's prover, with questions for each."""
    graph_model = dpl.load(run)
    rows = torch.from_numpy(graph_model.graph.test[:4])
    prover = graph_model.prover
    for parameter in prover.belief.parameters():
        parameter.requires_grad_(False)
    return [dpl.Model(dpl.Program(PROGRAM)), prover], [GOALS, rows]


def write_gradients(run: str, path: str) -> None:
    """By DistributedDataParallel, of this process's half of the questions."""
    modules, inputs = questions(run)
    # A policy has weights for terms that these questions do not have.
    wrapped = [
        nn.parallel.DistributedDataParallel(module, find_unused_parameters=number == 1)
        for number, module in enumerate(modules)
    ]
    rank = int(os.environ["RANK"])
    found = gradients(wrapped, [asked[2 * rank : 2 * rank + 2] for asked in inputs])
    if rank == 0:
        Path(path).write_text(json.dumps(found))


CHOICES = """
p(X) :- good(X), fine(X). p(X) :- bad(X). n(X) :- good(X). n(X) :- fine(X).
good(a). fine(a). bad(b).
"""
EPISODES, STEPS = 9, 6


def updated(of_rank: slice, settings: Ppo) -> dict[str, Any]:
    """What an update makes of a policy by some episodes of a rollout that is always the same."""
    program = dpl.Program(CHOICES)
    database = Database.of(program)
    actor, critic = (dpl.Embedding(program, 8, seed=seed, false_action=True) for seed in (0, 1))
    environment, policy = Environment(database, Process(6)), Policy(actor, database, critic)
    queries = Queries(database.goals(["p(a)", "n(a)"]), torch.tensor([1, 0]))
    drawn = torch.Generator().manual_seed(1)
    state = reset(environment, queries, torch.arange(EPISODES) % 2)
    whole, _ = collect(environment, policy, state, queries, STEPS, drawn)
    learner = ppo_learner(environment, policy, settings)
    losses = update(learner, part_of(whole, of_rank), entropy_weight=0.1)
    return {"weights": [p.tolist() for p in policy.parameters()], "losses": asdict(losses)}


def part_of(rollout: Rollout, episodes: slice) -> Rollout:
    """Some episodes of a rollout."""
    place = torch.arange(STEPS * EPISODES).view(STEPS, EPISODES)[:, episodes]
    names = ("log_prob", "value", "next_value", "reward", "over", "going")
    own = {name: getattr(rollout, name)[:, episodes] for name in names}
    return replace(rollout, choices=rollout.choices.select(place.flatten()), **own)


# One minibatch an epoch, so that in which order steps are drawn makes no difference; the second
# ends early, by the divergence of all steps.
UPDATES = {
    "passes": Ppo(episodes=EPISODES, epochs=3, minibatch=1000, lr=0.01, target_kl=None),
    "ends": Ppo(episodes=EPISODES, epochs=9, minibatch=1000, lr=0.01, target_kl=0.015),
}


def write_update(path: str, rank: int) -> None:
    """By joined processes, the first of which has four of nine episodes."""
    own = slice(0, 4) if rank == 0 else slice(4, EPISODES)
    found = {name: updated(own, settings) for name, settings in UPDATES.items()}
    Path(f"{path}.{rank}").write_text(json.dumps(found))


if __name__ == "__main__":
    plan = json.loads(Path(sys.argv[1]).read_text())
    if "kill" in plan:
        die_at(plan["kill"])
    if "full" in plan:
        full_at(plan["full"])
    if "folders" in plan:
        os.chdir(plan["folders"][int(os.environ["RANK"])])
    with joined():
        found = [main(words) for words in plan["commands"]]
        if "gradients" in plan:
            write_gradients(plan["prover"], plan["gradients"])
        if "update" in plan:
            write_update(plan["update"], int(os.environ["RANK"]))
    if "results" in plan and os.environ["RANK"] == "0":
        Path(plan["results"]).write_text(json.dumps(found))
    sys.exit(max(found))
