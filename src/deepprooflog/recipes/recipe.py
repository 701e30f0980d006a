"""Recipe files: TOML with a task, its options, and cases by method and n with expected results."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from deepprooflog.data.places import is_file
from deepprooflog.errors import DataError


@dataclass(frozen=True)
class Recipe:
    """A recipe as its file gives it."""

    name: str
    file: str
    task: str
    about: str
    options: Mapping[str, Any]
    cases: tuple[Mapping[str, Any], ...]

    def case(self, method: object, n: object) -> Mapping[str, Any]:
        """The case of a method with the largest n that is not above this one; empty if none."""
        fitting = [
            c for c in self.cases
            if c["method"] == method and isinstance(n, int) and c["n"] <= n
        ]  # fmt: skip
        return max(fitting, key=lambda c: int(c["n"]), default={})


NOT_OPTIONS = ("method", "n", "reported")


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
        raise DataError(
            f"there is no recipe {name[:80]}: neither a file nor one of {', '.join(shipped())}",
            hint="dprl train mnist-addition --set n=4 --out RUN",
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
    return Recipe(name, file, task, str(table.get("about", "")), options, tuple(cases))
