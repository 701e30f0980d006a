"""The shape of the code: which package may import which, what stays free of torch, how long a file
may be."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "deepprooflog"

# From the bottom up: a part imports only itself and what stands on an earlier rung.
RUNGS: tuple[tuple[str, ...], ...] = (
    ("terminal",),
    ("markup",),
    ("errors",),
    ("frames",),
    ("device",),
    ("data",),
    ("syntax",),
    ("logic",),
    ("graph",),
    ("score",),
    ("infer",),
    ("relational",),
    ("proof",),
    ("questions",),
    ("insight",),
    ("api",),
    ("model",),
    ("mdp",),
    ("learn",),
    ("kg",),
    ("recipes",),
    ("demo",),
    ("repl",),
    ("serve",),
    ("cli",),
)
HEIGHT = {part: height for height, rung in enumerate(RUNGS) for part in rung}

# The public names are gathered in `__init__`; inside, only these use them, as a user would.
USERS_OF_THE_PUBLIC_NAMES = {"demo", "serve", "cli"}

WITHOUT_TENSORS = ("terminal", "errors", "syntax", "logic")
CHECKED = {"graph", "score", "infer", "relational", "model", "mdp", "learn", "kg", "recipes"}
TENSOR_LIBRARIES = {"torch", "numpy", "scipy", "jaxtyping", "sklearn"}

MODULES = sorted(PACKAGE.rglob("*.py"))
FACE = (PACKAGE / "__init__.py", PACKAGE / "__main__.py")
INNER = [path for path in MODULES if path not in FACE]


def name_of(path: Path) -> str:
    """The dotted name: src/deepprooflog/logic/unify.py is deepprooflog.logic.unify."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(module: str) -> str:
    """The rung's entry a module belongs to; the package itself is the empty string."""
    return [*module.split("."), ""][1]


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every module a file imports, with the line, also inside functions and TYPE_CHECKING."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = name_of(path).split(".")
                drop = node.level - (path.name == "__init__.py")
                base = ".".join(package[: len(package) - drop] + ([base] if base else []))
            if base == "deepprooflog":
                # `from deepprooflog import cli` may name a part or a public name.
                for alias in node.names:
                    yield node.lineno, f"{base}.{alias.name}" if alias.name in HEIGHT else base
            else:
                yield node.lineno, base


def test_every_part_is_there_and_contributing_names_it() -> None:
    """The order of packages speaks of what exists, on the page for contributors too."""
    assert {part_of(name_of(path)) for path in INNER} == set(HEIGHT)
    page = (PACKAGE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = re.search(r"what stands before it: (.*?);", page, re.DOTALL)
    assert listed is not None
    named = re.findall(r"\w+", listed[1].replace(" and ", " "))
    assert named == [part for rung in RUNGS for part in rung]


@pytest.mark.parametrize("path", INNER, ids=name_of)
def test_imports_point_downwards(path: Path) -> None:
    """syntax ← logic ← graph ← score ← infer ← … ← cli, never the other way."""
    part = part_of(name_of(path))
    assert part in HEIGHT, f"{part} has no place in the order of packages: give it one in RUNGS"
    wrong = []
    for line, module in imports(path):
        if module.split(".")[0] != "deepprooflog":
            continue
        other = part_of(module)
        if other == "":
            if part not in USERS_OF_THE_PUBLIC_NAMES:
                wrong.append(f"{path}:{line} imports the top level; import the module itself")
        elif HEIGHT.get(other, len(RUNGS)) > HEIGHT[part]:
            wrong.append(f"{path}:{line} imports {module}, which stands above {part}")
    assert not wrong, "\n".join(wrong)


# Private by their name, and yet what others offer: copies of named tuples, and things for which
# torch, argparse and the interpreter have no other word.
OTHERS = {
    "_replace", "_exit", "_getframe", "_current_frames", "_ArgumentGroup", "_foreach_lerp_",
    "_get_default_store",
}  # fmt: skip


def private_names(path: Path) -> tuple[set[str], Iterator[tuple[int, str]]]:
    """The names with an underscore before them that a file gives, and where it uses any."""
    tree = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    given = {node.name for node in tree if isinstance(node, defined)}
    given |= {node.id for node in tree if isinstance(node, ast.Name)}
    stored = [node for node in tree if isinstance(node, ast.Attribute)]
    given |= {node.attr for node in stored if isinstance(node.ctx, ast.Store)}
    used = [(node.lineno, node.attr) for node in stored]
    for node in tree:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("deepprooflog"):
            used += [(node.lineno, alias.name) for alias in node.names]
    return given, ((n, name) for n, name in used if name[:1] == "_" and name[:2] != "__")


@pytest.mark.parametrize("path", INNER, ids=name_of)
def test_what_is_private_stays_in_its_file(path: Path) -> None:
    """Of a `Model`, as of anything, other files use what has no underscore."""
    given, used = private_names(path)
    wrong = [f"{path}:{line}: {name}" for line, name in used if name not in given | OTHERS]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "path", [path for path in INNER if part_of(name_of(path)) in WITHOUT_TENSORS], ids=name_of
)
def test_the_logic_names_no_tensor_library(path: Path) -> None:
    """syntax and logic are plain Python: they import no torch, not even lazily."""
    used = [(line, module) for line, module in imports(path)]
    wrong = [f"{path}:{line}: {m}" for line, m in used if m.split(".")[0] in TENSOR_LIBRARIES]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("part", [*WITHOUT_TENSORS, "cli"])
def test_importing_it_loads_no_torch(part: str) -> None:
    """In a fresh interpreter, with all a part's modules and what they bring along."""
    modules = [name_of(path) for path in INNER if part_of(name_of(path)) == part]
    names = [module for module in modules if not module.endswith("__main__")]
    assert names
    script = (
        "import importlib, sys\n"
        f"for name in {names!r}: importlib.import_module(name)\n"
        "print('torch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["False"]


# Folders that call each other: the step runs guards in the solver, whose builtins resolve goals; a
# proof offers its renderings; tasks are listed above what they share.
TOGETHER = ("logic", "proof", "recipes")


def folder_of(module: str) -> str:
    """The folder below a part that a module is in: infer.cycles for infer.cycles.wide."""
    parts = module.split(".")[1:]
    inner = len(parts) > 1 and (PACKAGE / parts[0] / parts[1]).is_dir()
    return ".".join(parts[:2]) if inner else parts[0]


def test_folders_stand_in_an_order() -> None:
    """Within a part, no folder imports another that imports it, directly or through others."""
    above: dict[str, set[str]] = {}
    for path in INNER:
        own = folder_of(name_of(path))
        for _, module in imports(path):
            if module.startswith("deepprooflog.") and part_of(module) == own.split(".")[0]:
                above.setdefault(own, set()).add(folder_of(module))
    for start in above:
        if start.split(".")[0] in TOGETHER:
            continue
        met, todo = set(), sorted(above[start] - {start})
        while todo:
            here = todo.pop()
            assert here != start, f"{start} imports folders that import it"
            if here not in met:
                met.add(here)
                todo += sorted(above.get(here, set()) - {here})


@pytest.mark.parametrize("part", sorted({part_of(name_of(path)) for path in INNER}))
def test_a_folder_can_be_looked_over(part: str) -> None:
    """At most 26 modules in a row: more want folders."""
    for folder in [PACKAGE / part, *(PACKAGE / part).glob("*/")]:
        assert len(list(folder.glob("*.py"))) <= 26, f"{folder} is a long list"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_file_is_one_idea(path: Path) -> None:
    """Up to about 400 lines, and a name that says which idea."""
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= 450, f"{path} has {lines} lines: it holds more than one idea"
    assert path.stem.strip("_") not in {"util", "utils", "helper", "helpers", "misc", "common"}


# The pieces of CUDA graphs, which no other device has.
CUDA_GRAPHS = PACKAGE / "learn" / "run" / "minibatch.py"


@pytest.mark.parametrize("path", [path for path in INNER if path.stem != "device"], ids=name_of)
def test_devices_are_named_in_one_file(path: Path) -> None:
    """Another kind of GPU is a change of `device.py`."""
    named = re.findall(r"""torch\.cuda\b|["']cuda["']""", path.read_text(encoding="utf-8"))
    assert not named or path == CUDA_GRAPHS, f"{path} names {named[0]}"


def test_tensor_shapes_are_checked() -> None:
    """The import hook of conftest.py reaches every module that computes with tensors.

    An `__init__` only gathers names; pytest loads it past the hook when it collects doctests.
    """
    files = [path for path in INNER if path.name != "__init__.py"]
    modules = [name_of(path) for path in files if part_of(name_of(path)) in CHECKED]
    assert modules
    for module in modules:
        loader = type(importlib.import_module(module).__spec__.loader)  # type: ignore[union-attr]
        assert loader.__module__.startswith("jaxtyping"), f"{module} runs unchecked"
