"""One of several processes, as torchrun starts it: commands one after another, and what they gave.

    torchrun --nproc-per-node 2 process_worker.py PLAN

PLAN is a JSON file: `commands`, each the words after `dprl`; `results`, a file for the exit status
of each in the first process; `kill`, the step at which the last process ends itself as by kill -9;
`folders`, one for each process to work in; `gradients`, a file for what
DistributedDataParallel makes
of a `Model` and of the run `prover`, half of the questions in each process.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import deepprooflog as dpl
from deepprooflog.cli import main
from deepprooflog.learn.run import loop
from deepprooflog.learn.run.descent import Descent
from deepprooflog.learn.run.processes import joined


def die_at(step: int) -> None:
    """End this process without a word at a step; the first one keeps every step before it."""
    take = Descent.step

    def last(self: Any, done: int) -> str:
        if done == step and os.environ["RANK"] == "1":
            os.kill(os.getpid(), signal.SIGKILL)
        return take(self, done)

    Descent.step = last  # type: ignore[method-assign]
    loop.SECONDS_BETWEEN_CHECKPOINTS = 0.0


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


if __name__ == "__main__":
    plan = json.loads(Path(sys.argv[1]).read_text())
    if "kill" in plan:
        die_at(plan["kill"])
    if "folders" in plan:
        os.chdir(plan["folders"][int(os.environ["RANK"])])
    with joined():
        found = [main(words) for words in plan["commands"]]
        if "gradients" in plan:
            write_gradients(plan["prover"], plan["gradients"])
    if "results" in plan and os.environ["RANK"] == "0":
        Path(plan["results"]).write_text(json.dumps(found))
    sys.exit(max(found))
