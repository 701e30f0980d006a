"""The way of a graph query through the source: which files run, and where packages are crossed.

    python scripts/query_walk.py
    python scripts/query_walk.py --run runs/village --query 'uncle(X, max_ashgrove)'

A file is on the way from the first time that one of its functions is called; what runs while
modules are imported is left out. Files are listed in that order, with a │ where the next one is in
another package; these are the crossings. The walk is taken twice, with the best proof of each
answer: for `dprl query` as a whole, the run opened first, and for `model.query` of an open model.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import deepprooflog
from deepprooflog import cli

PACKAGE = Path(deepprooflog.__file__).parent
QUERY = "uncle(X, max_ashgrove)"
WIDTH = 100


@dataclass(frozen=True)
class QueryWalk:
    """Files in the order of their first call, each with the functions that were called in it."""

    files: dict[str, list[str]]

    @property
    def crossings(self) -> int:
        """How often the next file is in another package."""
        packages = [package_of(file) for file in self.files]
        return sum(a != b for a, b in itertools.pairwise(packages))

    def __str__(self) -> str:
        """The files, those of a package together, wrapped."""
        words: list[str] = []
        for file in self.files:
            if words and package_of(file) != package_of(words[-1]):
                words.append("│")
            words.append(file)
        lines = [""]
        for word in words:
            if len(lines[-1]) + len(word) >= WIDTH:
                lines.append("")
            lines[-1] += f"{word} "
        return "\n".join(line.rstrip() for line in lines)


def package_of(file: str) -> str:
    """The top-level package of a file; a module of the root is one by itself.

    >>> package_of("kg/prove/answers.py"), package_of("errors.py")
    ('kg', 'errors.py')
    """
    return file.split("/")[0]


def traced(run: Callable[[], object]) -> QueryWalk:
    """The files of the package whose functions run within a call, but for imports."""
    files: dict[str, list[str]] = {}
    importing = 0

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal importing
        code = frame.f_code
        if code.co_name == "<module>":
            importing += (event == "call") - (event == "return")
        if event != "call" or importing or not code.co_filename.startswith(f"{PACKAGE}/"):
            return
        called = files.setdefault(code.co_filename[len(str(PACKAGE)) + 1 :], [])
        if code.co_name not in called:
            called.append(code.co_name)

    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return QueryWalk(files)


def small_run(folder: Path) -> Path:
    """A run on the village that was trained for a few steps: its way is that of any other."""
    options = ["prior.steps=20", "exact.steps=2", "evaluation.test_size=2"]
    chosen = [part for option in options for part in ("--set", option)]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        given = ["train", "kg", *chosen, "--set", "rules=village", "--out", str(folder)]
        if cli.main(given):
            raise SystemExit(1)
    return folder


def whole_walk(run: Path, query: str) -> QueryWalk:
    """The way of `dprl query RUN QUERY --proof`, from the arguments to the last line."""
    with contextlib.redirect_stdout(io.StringIO()):
        return traced(lambda: cli.main(["query", str(run), query, "--proof"]))


def open_walk(run: Path, query: str) -> QueryWalk:
    """The way of `model.query(QUERY)`, where the model is open."""
    model = deepprooflog.kg.open(run)
    return traced(lambda: model.query(query))


def main() -> None:
    """Print both walks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--run", type=Path, help="default: a run that is trained for it")
    parser.add_argument("--query", default=QUERY)
    parser.add_argument("--functions", action="store_true", help="show what is called in each")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = arguments.run or small_run(Path(folder) / "run")
        walks = {
            f"dprl query RUN '{arguments.query}' --proof": whole_walk(run, arguments.query),
            f"model.query('{arguments.query}')": open_walk(run, arguments.query),
        }
    for name, walk in walks.items():
        print(f"{name}: {len(walk.files)} files, {walk.crossings} crossings\n{walk}\n")
        if arguments.functions:
            for file, called in walk.files.items():
                print(f"  {file}: {', '.join(called)}")


if __name__ == "__main__":
    main()
