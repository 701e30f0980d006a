"""Damage to the files of a run: cuts, lost and repeated pieces, noise, flips of one bit."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import torch

from deepprooflog.errors import ProofLogError
from deepprooflog.kg.belief.prior import read_prior
from deepprooflog.kg.opening import open_graph_model
from deepprooflog.learn.run import checkpoint, loop
from deepprooflog.learn.run.folder import open_run
from deepprooflog.recipes.addition import run as addition_run
from fuzz.damage import damaged
from fuzz.rounds import Rounds, Tally
from fuzz.small_runs import SmallRun, copy_of, small_runs

PROMISE = "a run with a damaged file gives the same values or is refused with one message"
QUICK = 75

Read = Callable[[Path], Any]
Damage = Callable[[bytes, Random], bytes]


def attack(rounds: Rounds) -> Tally:
    """Damage one file of a run in each case, read it, and put it back."""
    return spoil(rounds, damaged)


def spoil(rounds: Rounds, damage: Damage) -> Tally:
    """The same with one kind of damage."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as base, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = [(run, copy_of(run, Path(base) / run.name)) for run in small_runs()]
        whole = {(run.name, file): read(folder) for run, folder in runs
                 for file, read in readers(run).items()}  # fmt: skip
        for random in rounds:
            run, folder = random.choice(runs)
            file, read = random.choice(list(readers(run).items()))
            path = folder / file.partition(":")[0]
            raw = path.read_bytes()
            path.write_bytes(damage(raw, random))
            held = _held(read, folder, whole[run.name, file])
            if not held:
                path.with_name("broken-" + path.name).write_bytes(path.read_bytes())
            tally.record(held, f"{run.name}/{file}")
            path.write_bytes(raw)
    return tally


def readers(run: SmallRun) -> dict[str, Read]:
    """What reads each file of a run; some read more than their own file."""
    every: dict[str, Read] = {
        "config.json": lambda folder: open_run(folder).config(),
        "result.json": lambda folder: run.train(run.recipe, {}, folder, resume=True),
        "metrics.jsonl": lambda folder: run.train(run.recipe, {}, folder, resume=True),
        "curves.svg": lambda folder: run.train(run.recipe, {}, folder, resume=True),
        "checkpoint.pt": lambda folder: checkpoint.load(folder / "checkpoint.pt", loop.SHAPE),
    }
    if run.name == "digits":
        every["model.safetensors"] = _weights_of_digits
    else:
        every["prior.safetensors"] = lambda folder: read_prior(folder / "prior.safetensors")
        for name in ("graph.json", "graph.safetensors", "prior.safetensors", "model.safetensors"):
            every[f"{name}:model"] = _weights_of_village
    return every


def _weights_of_digits(folder: Path) -> Any:
    return addition_run.trained(open_run(folder))[0].state_dict()


def _weights_of_village(folder: Path) -> Any:
    return open_graph_model(folder).prover.state_dict()


def _held(read: Read, folder: Path, whole: Any) -> bool:
    try:
        return same(read(folder), whole)
    except ProofLogError as error:
        return bool(str(error))
    except Exception:
        return False


def same(one: Any, two: Any) -> bool:
    """Equal to the last bit."""
    if isinstance(one, torch.Tensor):
        alike = isinstance(two, torch.Tensor) and one.dtype == two.dtype and one.shape == two.shape
        return alike and one.numpy().tobytes() == two.numpy().tobytes()
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(same, one, two))
    return type(one) is type(two) and json.dumps(one) == json.dumps(two)
