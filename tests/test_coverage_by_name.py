"""Every module with code of its own is met by a test: imported by one, or shown by a doctest.

Commands are tested by their names and builtins by their goals, against SWI-Prolog. The other
modules named here are tested through what uses them; the list may only become shorter.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "deepprooflog"
BY_NAME = ("cli", "builtins")
THROUGH_OTHERS = {
    *("__main__", "query", "bank", "begin", "error_site", "build", "control_steps", "encoders"),
    *("examples", "frontier", "interrupt", "prior", "layout", "logistic", "match", "newton"),
    *("body_order", "parser", "precise", "prediction", "proofs", "iso_errors", "reach"),
    *("resolve", "rule_formats", "slack", "term_levels", "terms", "values", "weigh"),
}


def _functions(path: Path) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.FunctionDef) for node in ast.walk(tree))


def _module(path: Path) -> str:
    parts = ("deepprooflog", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


def _imported() -> set[str]:
    names: set[str] = set()
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module, *(f"{node.module}.{a.name}" for a in node.names)}
            elif isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
    return names


def test_no_module_is_without_a_test_of_its_own() -> None:
    imported = _imported()
    alone = {
        path.stem
        for path in SOURCE.rglob("*.py")
        if not set(BY_NAME) & set(path.parts)
        and ">>> " not in path.read_text(encoding="utf-8")
        and _module(path) not in imported
        and _functions(path)
    }
    assert alone <= THROUGH_OTHERS, f"no test imports {', '.join(sorted(alone - THROUGH_OTHERS))}"
