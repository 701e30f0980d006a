"""The page on the mathematics: its names are in the code, the paper's numbered items are on it.

And what it says of the paper's mask, counted without a program.
"""

from __future__ import annotations

import importlib
import re
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "deepprooflog"
PAGES = [ROOT / "docs" / name for name in ("mathematics.md", "how-it-is-built.md")]
PARTS = {path.stem for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"}
CODE = re.compile(r"`([^`\n]+)`")
DOTTED = re.compile(r"[a-z_]+(\.\w+)+")
FILE = re.compile(r"[\w/-]+\.(?:py|pl|md|toml)")

# Four definitions, four numbered equations, two propositions: as many as the paper has.
NUMBERED = [
    *(f"Definition {n}" for n in (1, 2, 3, 4)),
    *(f"Equation {n}" for n in (1, 2, 3, 4)),
    *(f"Proposition {n}" for n in (1, 2)),
]
# Their equations have no numbers.
APPENDICES = [f"appendix {n}" for n in ("A.1", "A.3")] + ["Appendix A.2", "(B.1)", "(B.2)"]
APPENDICES += ["(C.1)", "(C.2)"]


def code_names(page: Path) -> list[str]:
    """What stands between backquotes and begins with a part of the package."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = (name.removeprefix("deepprooflog.") for name in CODE.findall(text))
    return sorted({n for n in found if DOTTED.fullmatch(n) and n.split(".")[0] in PARTS})


def exists(name: str) -> bool:
    """Whether a module, or something in one, has this dotted name."""
    parts = f"deepprooflog.{name}".split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_name_is_in_the_code(page: Path) -> None:
    names = code_names(page)
    assert len(names) >= 15
    assert not [name for name in names if not FILE.fullmatch(name) and not exists(name)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_file_is_there(page: Path) -> None:
    named = {name for name in CODE.findall(page.read_text("utf-8")) if FILE.fullmatch(name)}
    assert named
    missing = [n for n in named if not (ROOT / n).exists() and not (PACKAGE / n).exists()]
    assert not missing


def test_a_wrong_name_would_be_seen() -> None:
    assert exists("logic.resolve.successors") and exists("proof.tree.Proof.check")
    assert not exists("logic.resolve.predecessors")
    assert not exists("logic.resolved.successors")


@pytest.mark.parametrize("item", [*NUMBERED, *APPENDICES])
def test_every_numbered_item_of_the_paper_is_there(item: str) -> None:
    """It stands in a section, or a row of a table, that says where in the code it is."""
    text = PAGES[0].read_text("utf-8").partition("## What differs")[0]
    sections = [one for one in re.split(r"^(?=#)", text, flags=re.MULTILINE) if item in one]
    titled = [one for one in sections if item in one.partition("\n")[0]]
    rows = [row for one in sections for row in one.splitlines() if item in row and row[0] == "|"]
    told = [one.partition("*In code:*")[2] for one in titled or sections]
    told += [row.rpartition(" | ")[2] for row in rows]
    assert any(CODE.search(one) for one in told)


def test_the_listing_of_the_paper_loses_sequences() -> None:
    """5,500 of 10,000: the high column must be one less than its target, unless the rest is 9."""
    kept = 0
    for high, high_too, low, low_too in product(range(10), repeat=4):
        total = 10 * (high + high_too) + low + low_too
        target = total // 10
        kept += high + high_too == (target if total % 10 == 9 else target - 1)
    assert kept == 5500
