"""One name means one thing: no public class or type alias is defined in two modules."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "deepprooflog"

# Abbreviations of numpy's types, the same wherever they stand.
ABBREVIATIONS = {"Ints", "Floats"}


def _names(path: Path) -> Iterator[str]:
    """The public classes, and the aliases of types, that a module defines."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name) and not target.id.isupper():
                    yield target.id


def test_a_class_name_is_defined_once() -> None:
    where: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in _names(path):
            if name[:1].isupper() and name not in ABBREVIATIONS:
                where[name].append(str(path.relative_to(PACKAGE)))
    twice = {name: files for name, files in where.items() if len(files) > 1}
    assert not twice, "\n".join(f"{name}: {', '.join(files)}" for name, files in twice.items())
