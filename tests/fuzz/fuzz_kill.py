"""Training that is killed, terminated or interrupted at random moments, and gone on with."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
import time
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from deepprooflog.learn.run import checkpoint, loop
from fuzz.fuzz_checkpoints import same
from fuzz.rounds import Rounds, Tally
from fuzz.small_runs import VILLAGE

PROMISE = "a run that was killed or stopped, once or often, ends bit by bit as one that was not"
QUICK = 1

RUNS = {
    "digits-addition": {"n": 1, "sums": 200, "epochs": 6, "batch": 4, "augment": "affine"},
    "kg": {**VILLAGE, "prior_steps": 60, "steps": 10, "look": 5},
}
STATUS = {signal.SIGKILL: {-9}, signal.SIGTERM: {143, -15}, signal.SIGINT: {130, 1, -2}}
LONGEST = 300.0


def attack(rounds: Rounds) -> Tally:
    """Stop a run up to three times in each case, then let it end."""
    tally = Tally()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["deepprooflog.recipes.tasks", "deepprooflog.cli", "sklearn.datasets", "fuzz.fuzz_kill"]
    )
    whole: dict[str, tuple[object, float]] = {}
    with tempfile.TemporaryDirectory() as base:
        for number, draw in enumerate(rounds):
            recipe = draw.choice(list(RUNS))
            if recipe not in whole:
                out = Path(base) / recipe
                began = time.monotonic()
                ended = _child(context, recipe, out, False)
                ended.join(LONGEST)
                whole[recipe] = learned(out), time.monotonic() - began
            out = Path(base) / str(number)
            case = f"{recipe}: "
            held = True
            for _ in range(draw.randrange(1, 4)):
                process = _child(context, recipe, out, (out / "config.json").exists())
                process.join(draw.uniform(0.0, 1.1) * whole[recipe][1])
                which = draw.choice(list(STATUS))
                if process.is_alive():
                    assert process.pid is not None
                    os.kill(process.pid, which)
                process.join(LONGEST)
                case += f"{which.name} {process.exitcode}, "
                held = held and process.exitcode in {0, *STATUS[which]}
                if which is not signal.SIGKILL:
                    held = held and not _left_over(out)
            process = _child(context, recipe, out, (out / "config.json").exists())
            process.join(LONGEST)
            held = held and process.exitcode == 0 and not _left_over(out)
            held = held and same(learned(out), whole[recipe][0])
            tally.record(held, case + f"then {process.exitcode} {_left_over(out)}")
            if held:
                shutil.rmtree(out)
    return tally


def learned(out: Path) -> object:
    """What a run has learned, but for the seconds."""
    try:
        state = checkpoint.load(out / "checkpoint.pt", loop.SHAPE)
    except Exception as error:
        return str(error)
    rows = [{k: v for k, v in row.items() if k != "seconds"} for row in state["history"]]
    return state["trainer"], state["best"], state["random"], rows


def _left_over(out: Path) -> list[str]:
    if not out.exists():
        return []
    return [p.name for p in out.iterdir() if p.name.endswith(".part") or p.name == ".lock"]


def _child(
    context: multiprocessing.context.ForkServerContext, recipe: str, out: Path, resume: bool
) -> ForkServerProcess:
    process = context.Process(target=_train, args=(recipe, str(out), resume))
    process.start()
    return process


def _train(recipe: str, out: str, resume: bool) -> None:
    """What the process does: `dprl train`, with a checkpoint after each step."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    import torch

    from deepprooflog.cli import main

    torch.set_num_threads(1)
    loop.SECONDS_BETWEEN_CHECKPOINTS = 0.0
    given = [f"--set={key}={value}" for key, value in RUNS[recipe].items()]
    more = ["--resume"] if resume else given
    os._exit(main(["train", recipe, "--out", out, "--json", *more]))
