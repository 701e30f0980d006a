"""The page of results: what the recipes say, all of it, with a reason where ours falls short."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from deepprooflog.recipes.recipe import read_recipe

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "results_page.py"))
ROWS: list[Any] = SCRIPT["every_row"]()
NAMES = [f"{row.recipe}: {row.title}" for row in ROWS]


def test_the_page_is_what_the_recipes_say() -> None:
    """After a change in a recipe: python scripts/results_page.py --write."""
    assert SCRIPT["PAGE"].read_text(encoding="utf-8") == SCRIPT["page"]()


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_a_row_says_how_it_was_made(row: Any) -> None:
    """A command, a protocol, seeds and a machine; or why there are no figures."""
    if not row.is_measured:
        assert isinstance(row.measured.get("none"), str)
        return
    found = row.measured
    assert found["command"].startswith(("dprl ", "python scripts/", "python benchmarks/"))
    assert found["protocol"] and found["device"] and found["seconds"] and found["seeds"]
    assert not row.shortfalls() or "note" in found, "why is it below what is published?"


def test_scripts_of_commands_exist() -> None:
    root = Path(__file__).parents[2]
    for row in ROWS:
        for word in row.measured.get("command", "").split():
            if word.endswith(".py"):
                assert (root / word).is_file()


def test_a_row_that_falls_short() -> None:
    """.97 is .012 below .982 and .005 below .975: the first is named."""
    row = SCRIPT["ResultRow"](
        "one", "family", "a row", {"source": "Table 9", "mrr": 0.982}, {"mrr": {"mean": 0.97}},
        [{"source": "others", "mrr": 0.975}],
    )  # fmt: skip
    assert row.shortfalls() == ["MRR .012 below Jiao et al. 2026, Table 9"]


def test_what_is_not_measured_says_so() -> None:
    row = SCRIPT["ResultRow"]("one", "family", "a row", {}, {"none": "it wants a GPU"}, [])
    [line] = SCRIPT["block"](1, row, [])
    assert line.startswith("| **1** `one`: a row | ") and line.endswith("| not measured |")
    assert SCRIPT["note"](row) == "Not measured: it wants a GPU."


def test_a_known_line() -> None:
    """The figures of Family stand beside those of Table 2."""
    lines = SCRIPT["PAGE"].read_text(encoding="utf-8").splitlines()
    at = next(i for i, text in enumerate(lines) if "`family-dprl`: 48 rules" in text)
    mean = read_recipe("family-dprl").measured["mrr"]["mean"]
    assert f".{mean * 10000:.0f} ±" in lines[at]
    assert lines[at + 1].startswith("| prior alone | .")
    assert lines[at + 2].startswith("| proofs alone | .7844 |")
    assert "Table 2, Family: DPrL (PG)* | .986 | .979 | .994 | .995" in lines[at + 3]
