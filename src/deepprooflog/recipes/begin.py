"""The options and the folder of a run, a new one or one to go on with; how a run ends early."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

import torch

from deepprooflog.errors import DataError, ModelError, Stopped
from deepprooflog.learn.run.checkpoint import first_line
from deepprooflog.learn.run.folder import RunFolder, create, reopen
from deepprooflog.learn.run.handed import RunFile, hand_out, run_files
from deepprooflog.learn.run.interrupt import handled, stop_at_once
from deepprooflog.learn.run.processes import ProcessLost, processes
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

    Of several processes the first has the folder, and the others one of their own that is gone
    afterwards; they must have been given the same, and go on from what the first one has.
    """
    here = processes()
    with handled(stop_at_once), _told(recipe, out), ExitStack() as stack:
        if here.several:
            _agree(recipe, given, resume, resolve)
        if resume:
            run, files = here.from_first(lambda: _reopened(stack, out))
        else:
            options = resolve(read_recipe(recipe), given)
            check(options)
            config = {"recipe": recipe, "task": task, "options": as_tables(options)}
            run, files = here.from_first(lambda: (stack.enter_context(create(out, config)), []))
        if not here.first:
            run = RunFolder(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        hand_out(files, out, run.path)
        if resume:
            options = _kept(recipe, given, run, resolve, places)
        yield options, run


def _agree(
    recipe: str,
    given: Mapping[str, object],
    resume: bool,
    resolve: Callable[..., object],
) -> None:
    """Refuse processes that were given other recipes or options."""
    asked = None if resume else as_tables(resolve(read_recipe(recipe), given))
    told = json.dumps([recipe, dict(given), resume, asked], sort_keys=True, default=str)
    processes().agree(
        "recipe or options", told, "the same command and recipe file on every machine"
    )


def _reopened(stack: ExitStack, out: Path) -> tuple[RunFolder, list[RunFile]]:
    """A run to go on with, and what other processes need of it; steps are told by the loop."""
    run = stack.enter_context(reopen(out))
    if not processes().several:
        return run, []
    steps = {path.name for path in out.glob("*.pt")} - {"prior-training-trials.pt"}
    names = [p.name for p in out.iterdir() if p.is_file() and not p.name.startswith(".")]
    return run, run_files(out, [name for name in names if name not in steps])


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
    several = ["torchrun", "--nproc-per-node", str(processes().size), "-m", "deepprooflog"]
    begun = several if processes().several else ["dprl"]
    again = shlex.join([*begun, "train", recipe, "--out", str(out), "--resume"])
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
    except ProcessLost as error:
        if run.learned:
            error.hint = f"{error.hint}; then  {again}"
        raise
    except (MemoryError, RuntimeError) as error:
        failed = isinstance(error, MemoryError | torch.OutOfMemoryError | torch.AcceleratorError)
        if not failed and not any(text in str(error) for text in _DEVICE):
            raise
        then = f", then  {again}" if run.learned else ""
        raise ModelError(
            f"the device is full or was lost: {first_line(error)}",
            hint=f"a smaller batch or dimension, or another device{then}",
        ) from None
