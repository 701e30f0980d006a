"""Weak scaling: as much work for each process, and as many processes as there are cores.

    python benchmarks/processes.py --processes 1 2 --steps 30
    python benchmarks/processes.py --work mnist-addition

Three trainings as `torchrun -m deepprooflog train` runs them: the exact learner's policy on the
village (`exact`: 128 positives a process, 32 negatives of each, nesting 2) and sums of two-digit
numbers given as pictures, of 8 × 8 (`digits-addition`) and of 28 × 28 (`mnist-addition`, where the
data are: by name only), 128 sums a process. The minibatch grows with the number of processes.
Printed are

    steps/s     by the clock, the waiting for each other and the sums of gradients included
    efficiency  the clock's time of a step with one process ÷ with so many: 1 is ideal
    CPU s       of a process in a step, which other work beside it does not change much

with one thread a process. Each is the best of `--repeats` runs of so many steps.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import distributed

from deepprooflog.kg.learn.exact_learner import ExactObjective, exact_loop
from deepprooflog.kg.learn.options import GraphOptions
from deepprooflog.kg.learn.setup import make_prover, read_sources, splits, theory_of
from deepprooflog.learn.run.descent import Descent
from deepprooflog.learn.run.loop import Trainer
from deepprooflog.learn.run.processes import Processes, joined
from deepprooflog.learn.run.settings import options_from
from deepprooflog.recipes.addition.options import resolve
from deepprooflog.recipes.addition.task import objective, prepare
from deepprooflog.recipes.recipe import read_recipe

POSITIVES, SUMS, WARM = 128, 128, 3
CPU = torch.device("cpu")


def exact(size: int) -> Trainer:
    """Steps on goal graphs."""
    options = options_from(GraphOptions, {
        "data": "village", "prior": "none", "learner": "exact", "exact.batch": size * POSITIVES,
        "device": "cpu",
    })  # fmt: skip
    theory = theory_of(options, read_sources(options))
    positives, _ = splits(options, theory.graph, theory.candidates)
    prover = make_prover(options, theory, None)
    return exact_loop(ExactObjective(prover, theory.graph, positives, options.exact)).trainer


def sums(recipe: str, size: int) -> Trainer:
    """Steps on pictures under a program."""
    given = {"n": 2, "training.batch": size * SUMS, "augment": "none", "device": "cpu"}
    options = resolve(read_recipe(recipe), given)
    task = prepare(options, CPU)
    optimizer = torch.optim.AdamW([p for p in task.model.parameters() if p.numel()], lr=1e-3)
    return Descent(
        task.model, objective(options, task)(0.0), optimizer, task.training, batch=size * SUMS,
        describe=lambda i: str(task.goals[i]),
    )  # fmt: skip


DIGITS, MNIST = "digits-addition", "mnist-addition"
WORK: dict[str, Callable[[int], Trainer]] = {
    "exact": exact, DIGITS: partial(sums, DIGITS), MNIST: partial(sums, MNIST)
}  # fmt: skip


def measure(work: str, steps: int, repeats: int, out: Path) -> None:
    """One process of several: the seconds of a step, by the clock and of this process's CPU."""
    torch.set_num_threads(1)
    with joined() as here:
        torch.manual_seed(0)
        trainer = WORK[work](here.size)
        here.align(trainer.module)
        taken = 0
        found = []
        for repeat in range(repeats + 1):
            together(here)
            clock, cpu = time.perf_counter(), time.process_time()
            for _ in range(steps if repeat else WARM):
                trainer.step(taken)
                taken += 1
            together(here)
            found.append([time.perf_counter() - clock, time.process_time() - cpu])
        if here.first:
            clocks, cpus = zip(*found[1:], strict=True)
            out.write_text(json.dumps({"clock": min(clocks) / steps, "cpu": min(cpus) / steps}))


def together(here: Processes) -> None:
    """Wait for all."""
    if here.several:
        distributed.barrier()


def run(work: str, size: int, steps: int, repeats: int) -> dict[str, float]:
    """The seconds of a step by so many processes."""
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "seconds.json"
        own = [__file__, "--work", work, "--steps", str(steps), "--repeats", str(repeats)]
        subprocess.run([*start, str(size), *own, "--out", str(out)], check=True)
        found: dict[str, float] = json.loads(out.read_text())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--work", choices=WORK, help="one of them; default: the first two")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.out is not None:
        measure(options.work, options.steps, options.repeats, options.out)
        return
    print(f"{os.cpu_count()} cores, one thread a process, torch {torch.__version__}")
    print(f"{'work':15} {'processes':>9} {'steps/s':>8} {'efficiency':>10} {'CPU s':>7}")
    for work in [options.work] if options.work else ("exact", DIGITS):
        first = 0.0
        for size in options.processes:
            found = run(work, size, options.steps, options.repeats)
            first = first or found["clock"]
            print(f"{work:15} {size:9} {1 / found['clock']:8.2f} {first / found['clock']:10.2f} "
                  f"{found['cpu']:7.4f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
