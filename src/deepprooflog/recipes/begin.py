"""The options and the folder of a run, a new one or one to go on with; how a run ends early."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import torch

from deepprooflog.errors import DataError, ModelError, Stopped
from deepprooflog.learn.run.checkpoint import first_line
from deepprooflog.learn.run.folder import RunFolder, create, reopen
from deepprooflog.learn.run.interrupt import handled, stop_at_once
from deepprooflog.learn.run.settings import as_tables, settings, values_of
from deepprooflog.recipes.recipe import read_recipe

RunOptions = TypeVar("RunOptions")

# How torch speaks of a device that is full or gone where it has no class of errors for it.
_DEVICE = ("can't allocate memory", "out of memory", "CUDA error", "CUDNN", "cuDNN", "CUBLAS")


@contextmanager
def begin(
    recipe: str,
    given: Mapping[str, object],
    out: Path,
    resume: bool,
    *,
    task: str,
    resolve: Callable[..., RunOptions],
    check: Callable[[RunOptions], object],
    places: Collection[str],
) -> Iterator[tuple[RunOptions, RunFolder]]:
    """Resolve the options, make or open the folder, and hold its lock.

    `check` refuses what cannot run before a folder is made for it. `places` are the options that a
    resumed run may be given anew: where it runs, not what it computes. A signal, or a device that
    is lost or full, ends the run with one message that says how to go on.
    """
    with handled(stop_at_once), _told(recipe, out):
        if not resume:
            options = resolve(read_recipe(recipe), given)
            check(options)
            config = {"recipe": recipe, "task": task, "options": as_tables(options)}
            with create(out, config) as run:
                yield options, run
            return
        with reopen(out) as run:
            yield _kept(recipe, given, run, resolve, places), run


def _kept(
    recipe: str,
    given: Mapping[str, object],
    run: RunFolder,
    resolve: Callable[..., RunOptions],
    places: Collection[str],
) -> RunOptions:
    """The options of a run that is gone on with; others than its own are refused."""
    kept = run.config()
    if kept["recipe"] != recipe:
        raise DataError(f"a run of {kept['recipe']}, not of {recipe}", file=str(run.path))
    options = resolve(read_recipe(recipe), given, kept["options"])
    own = settings(type(options), kept["options"], "config.json", notice=False)
    for key, value in values_of(options).items():
        # An option that the run's version did not have is what it is now.
        was = own.get(key, value)
        if value != was and key not in places:
            raise DataError(
                f"the run has {key}={was}, not {value}",
                file=str(run.path), hint="another --out for another run",
            )  # fmt: skip
    return options


@contextmanager
def _told(recipe: str, out: Path) -> Iterator[None]:
    """Within, what ends a run from outside is told with how to go on."""
    again = shlex.join(["dprl", "train", recipe, "--out", str(out), "--resume"])
    run = RunFolder(out)
    try:
        yield
    except KeyboardInterrupt as error:
        number = error.signal if isinstance(error, Stopped) else 2
        what = "terminated" if number == 15 else "interrupted"
        if not (out / "config.json").exists():
            raise Stopped(f"{what} before the run began", number) from None
        saved = "what was learned is saved" if run.learned else "nothing was learned yet"
        raise Stopped(f"{what}; {saved}\ngo on with  {again}", number) from None
    except (MemoryError, RuntimeError) as error:
        failed = isinstance(error, MemoryError | torch.OutOfMemoryError | torch.AcceleratorError)
        if not failed and not any(text in str(error) for text in _DEVICE):
            raise
        then = f", then  {again}" if run.learned else ""
        raise ModelError(
            f"the device is full or was lost: {first_line(error)}",
            hint=f"a smaller batch or dimension, or another device{then}",
        ) from None
