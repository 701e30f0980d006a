"""The options and the folder of a run: a new one, or one to go on with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from deepprooflog.errors import DataError
from deepprooflog.recipes.folder import RunFolder, create, open_run
from deepprooflog.recipes.recipe import Recipe, read_recipe

Options = TypeVar("Options")


def begin(
    recipe: str,
    given: Mapping[str, object],
    out: Path,
    resume: bool,
    *,
    task: str,
    resolve: Callable[[Recipe, Mapping[str, object]], Options],
    check: Callable[[Options], object],
    places: Collection[str],
) -> tuple[Options, RunFolder]:
    """Resolve the options and make or open the folder.

    `check` refuses what cannot run before a folder is made for it. `places` are the options that a
    resumed run may be given anew: where it runs, not what it computes.
    """
    if not resume:
        options = resolve(read_recipe(recipe), given)
        check(options)
        return options, create(out, {"recipe": recipe, "task": task, "options": _dict(options)})
    run = open_run(out)
    kept = run.config()
    if kept["recipe"] != recipe:
        raise DataError(f"a run of {kept['recipe']}, not of {recipe}", file=str(out))
    options = resolve(read_recipe(recipe), {**kept["options"], **given})
    for key, value in _dict(options).items():
        # An option that the run's version did not have is what it is now.
        was = kept["options"].get(key, value)
        if value != was and key not in places:
            raise DataError(
                f"the run has {key}={was}, not {value}",
                file=str(out), hint="another --out for another run",
            )  # fmt: skip
    return options, run


def _dict(options: Any) -> dict[str, Any]:
    return asdict(options)
