"""Small real runs, trained once: addition on the 8 × 8 digits, and the village by both learners."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from deepprooflog.recipes import graph as kg_run
from deepprooflog.recipes.addition import run as addition_run

DIGITS = {"n": 1, "sums": 12, "epochs": 2, "batch": 4, "average": 0.9, "augment": "none"}
VILLAGE = {
    "data": "village", "prior_dimension": 2, "prior_steps": 4, "prior_batch": 64, "steps": 2,
    "look": 1, "batch": 4, "negatives": 1, "nesting": 1, "looked_at": 4, "test": 2, "dimension": 2,
    "belief.shift": False, "threads": 1,
}  # fmt: skip

Train = Callable[..., dict[str, Any]]


@dataclass(frozen=True)
class SmallRun:
    """A run that is done, and one like it that has its last checkpoint but no result."""

    name: str
    recipe: str
    folder: Path
    train: Train


@lru_cache(maxsize=1)
def small_runs() -> tuple[SmallRun, ...]:
    """The runs, in a folder that goes with the process."""
    base = Path(tempfile.mkdtemp(prefix="small-runs-"))
    _cleaned(base)
    made = []
    for name, recipe, train, options in (
        ("digits", "digits-addition", addition_run.train, DIGITS),
        ("village", "kg", kg_run.train, VILLAGE),
        ("ppo", "kg", kg_run.train, {**VILLAGE, "learner": "ppo", "ppo_iterations": 2,
                                     "ppo_episodes": 4}),
    ):  # fmt: skip
        train(recipe, options, base / name, progress=False)
        made.append(SmallRun(name, recipe, base / name, train))
    return tuple(made)


def copy_of(run: SmallRun, folder: Path) -> Path:
    """The run's folder again, elsewhere."""
    if folder.exists():
        shutil.rmtree(folder)
    shutil.copytree(run.folder, folder)
    return folder


def _cleaned(base: Path) -> None:
    import atexit

    atexit.register(shutil.rmtree, base, ignore_errors=True)
