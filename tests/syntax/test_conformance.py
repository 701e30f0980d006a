"""The ISO syntax conformance table, row by row, each in a fresh state after its premise.

A row's `output` is what the query prints, `syntax err.`, `fails` or an error term; without one the
query must succeed and print nothing.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from syntax.mini_toplevel import TopLevel

SHOULD_PASS = 310

# Rows whose output is not fixed: the table's own check is code, given here as a pattern.
PATTERNS = {
    "write_canonical(_+_).": r"\+\((_\w+),(?!\1\))(_\w+)\)",
    "write_canonical(B+B).": r"\+\(([A-Z_]\w*),\1\)",
}


def table() -> list[dict[str, Any]]:
    folder = os.environ.get("DEEPPROOFLOG_CONFORMANCE")
    if not folder:
        return []
    rows: list[dict[str, Any]] = json.loads((Path(folder) / "iso_syntax.json").read_text("utf-8"))
    return rows


def passes(row: dict[str, Any]) -> bool:
    """True when the row's query does what the table says; shows both when it does not."""
    top = TopLevel()
    if "premise" in row:
        assert top.run(row["premise"]) is None
    got = top.run(row["input"])
    if "outputFn" in row:
        return got is not None and re.fullmatch(PATTERNS[row["input"]], got) is not None
    expected = row.get("output")
    print(f"{row['input']!r}: expected {expected!r}, got {got!r}")
    return bool(got == expected)


ROWS = table()


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{i}-{row['name']}") for i, row in enumerate(ROWS)] or [None]
)
def test_row(row: dict[str, Any] | None) -> None:
    if row is None:
        pytest.skip("DEEPPROOFLOG_CONFORMANCE is not set: the folder with the conformance table")
    assert passes(row)


def test_count() -> None:
    """The number of rows that the documentation says pass."""
    if not ROWS:
        pytest.skip("DEEPPROOFLOG_CONFORMANCE is not set: the folder with the conformance table")
    assert sum(passes(row) for row in ROWS) == SHOULD_PASS == len(ROWS)
