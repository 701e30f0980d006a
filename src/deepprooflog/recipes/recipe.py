"""Recipe files: TOML with a task, its options, cases by method and n, and results.

    [reported]    what the paper gives: `source` and figures, or `none`, the reason why it has none
    [measured]    what this recipe gave: `command`, `seeds`, `device`, `seconds` and figures, each
                  { mean, spread } or { mean } of a single run; or `none`. Beside them `protocol`,
                  `note`, and figures of a part alone: `prior.mrr`, `belief.mrr`, `proofs.mrr`, and
                  `rules.mrr` where rules stand beside walks
    [[published]] what others give for the same question: `source` and figures
    [[row]]       the same recipe measured otherwise: `name`, `reported`, `measured`, `published`

Figures that belong to a case are its own `reported` and `measured`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from deepprooflog.data.places import is_file
from deepprooflog.errors import DataError
from deepprooflog.learn.run.settings import build, settings


@dataclass(frozen=True)
class Recipe:
    """A recipe as its file gives it."""

    name: str
    file: str
    task: str
    about: str
    options: Mapping[str, Any]
    cases: tuple[Mapping[str, Any], ...]
    reported: Mapping[str, Any]
    measured: Mapping[str, Any]
    published: tuple[Mapping[str, Any], ...] = ()
    rows: tuple[Mapping[str, Any], ...] = ()

    def case(self, method: object, n: object) -> Mapping[str, Any]:
        """The case of a method with the largest n that is not above this one; empty if none."""
        fitting = [
            c for c in self.cases
            if c["method"] == method and isinstance(n, int) and c["n"] <= n
        ]  # fmt: skip
        return max(fitting, key=lambda c: int(c["n"]), default={})


TaskOptions = TypeVar("TaskOptions")


def resolve_options(
    options: type[TaskOptions],
    recipe: Recipe,
    given: Mapping[str, object],
    kept: Mapping[str, object] | None = None,
) -> TaskOptions:
    """The options of a task: a recipe's, then those that a run kept, then those given."""
    values = settings(options, recipe.options, recipe.file)
    values |= settings(options, kept or {}, "config.json", notice=False)
    values |= settings(options, given, "--set")
    return build(options, values)


NOT_OPTIONS = ("method", "n", "reported", "measured")
SOURCES: dict[str, dict[str, type]] = {
    "reported": {"source": str},
    "measured": {"command": str, "seeds": list, "device": str},
}
"""What a block of results must say of where its figures come from."""
WORDS = ("none", "protocol", "note", "seconds")
PARTS = ("prior", "belief", "proofs", "rules")
"""What may be measured alone beside the whole."""


def shipped() -> list[str]:
    """The names of the recipes that come with the package.

    >>> "mnist-addition" in shipped()
    True
    """
    folder = resources.files("deepprooflog.recipes")
    return sorted(f.name.removesuffix(".toml") for f in folder.iterdir()
                  if f.name.endswith(".toml"))  # fmt: skip


def read_recipe(name: str) -> Recipe:
    """A recipe by the name of a shipped one, or from a file.

    >>> read_recipe("mnist-addition").case("dp", 17)["n"]
    15
    """
    if name in shipped():
        text = (resources.files("deepprooflog.recipes") / f"{name}.toml").read_text("utf-8")
        return _recipe(name, f"{name}.toml", text)
    path = Path(name)
    if not is_file(path):
        near = get_close_matches(name, shipped(), 1)
        raise DataError(
            f"there is no recipe {name[:80]}: neither a file nor one of {', '.join(shipped())}",
            hint=f"did you mean {near[0]}?" if near else "dprl train mnist-addition --set n=4",
        )
    try:
        return _recipe(path.stem, name, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read: {error}", file=name) from None


def _recipe(name: str, file: str, text: str) -> Recipe:
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"not TOML: {error}", file=file) from None
    task, options, cases = table.get("task"), table.get("options", {}), table.get("case", [])
    if not isinstance(task, str):
        raise DataError("the recipe names no task", file=file, hint='task = "mnist-addition"')
    if not isinstance(options, dict) or not isinstance(cases, list):
        raise DataError("[options] is a table and [[case]] a list of tables", file=file)
    for case in cases:
        named = isinstance(case, dict) and isinstance(case.get("method"), str)
        if not named or type(case.get("n")) is not int:
            raise DataError("every [[case]] has a method and an n", file=file)
    for block in SOURCES:
        _check_results(block, table.get(block), [c[block] for c in cases if block in c], file)
    rows = table.get("row", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError("[[row]] is a list of tables", file=file)
    for row in rows:
        if not isinstance(row.get("name"), str):
            raise DataError("every [[row]] has a name", file=file)
        for block in SOURCES:
            _check_results(block, row.get(block), [], file)
        _check_published(row.get("published", []), file)
    published = table.get("published", [])
    _check_published(published, file)
    about, reported = str(table.get("about", "")), table.get("reported", {})
    measured = table.get("measured", {})
    return Recipe(
        name, file, task, about, options, tuple(cases), reported, measured, tuple(published),
        tuple(rows),
    )  # fmt: skip


def _check_published(published: object, file: str) -> None:
    """Each says whose figures they are, and its figures are numbers."""
    if not isinstance(published, list):
        raise DataError("[[published]] is a list of tables", file=file)
    for each in published:
        if not isinstance(each, dict) or not isinstance(each.get("source"), str):
            raise DataError("every [[published]] has a source", file=file)
        _check_figures("reported", each, file)


def _check_results(block: str, results: object, of_cases: list[object], file: str) -> None:
    """Results say where they come from, and their figures are numbers."""
    if results is None:
        if of_cases and block == "measured":
            raise DataError(f"a case has `{block}`, but there is no [{block}]", file=file)
        results = {"none": "nothing is said"}
    for each in (results, *of_cases):
        if not isinstance(each, dict):
            raise DataError(f"[{block}] is a table", file=file)
        _check_figures(block, each, file)
    assert isinstance(results, dict)
    if isinstance(results.get("none"), str):
        return
    for key, kind in SOURCES[block].items():
        if not isinstance(results.get(key), kind):
            raise DataError(
                f"[{block}] does not say its {key}",
                file=file,
                hint=f'{", ".join(SOURCES[block])} and figures; or none = "the reason"',
            )


def _check_figures(block: str, results: Mapping[str, Any], file: str) -> None:
    for key, value in results.items():
        if key in (*WORDS, *SOURCES[block]):
            continue
        if block == "measured" and key in PARTS and isinstance(value, dict):
            _check_figures(block, value, file)
            continue
        numbers = value.values() if isinstance(value, dict) else [value]
        known = not isinstance(value, dict) or {"mean"} <= value.keys() <= {"mean", "spread"}
        if not known or any(type(number) not in (int, float) for number in numbers):
            raise DataError(
                f"{key} of [{block}] is no figure",
                file=file,
                hint="a number, or { mean = 0.98, spread = 0.01 }",
            )
