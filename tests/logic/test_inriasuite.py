"""The INRIA suite of ISO conformance: exactly the rows that docs/syntax.md explains differ."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

from deepprooflog.logic.program import Program
from logic.inria import Row, run_suite

ROWS = 454

# What the driver of the suite defines itself.
DRIVER = Program(r"""
fail_if(G) :- \+ G.
exists(N/A) :- functor(G, N, A), catch((G ; true), error(existence_error(_, N/A), _), fail), !.
run_tests(_).
dog.
file(_).
file(_, _).
""")

# File and rows, by the reason that the documentation gives.
DIFFERENT: dict[str, dict[str, list[int]]] = {
    "a program is immutable": {
        "abolish": [6, 7],
        "asserta": [1],
        "assertz": [1, *range(6, 37)],
        "retract": [3, 4, 5, 6, 7, 8],
    },
    "there are no streams": {
        "current_input": [1],
        "current_output": [1],
        "file_manip": [1, 2, 3],
    },
    "numbers count as text": {"atom_length": [5], "sub_atom": [10]},
    "characters are Unicode's": {"atom_codes": [11], "number_codes": [14]},
    "arities have no limit": {"abolish": [4], "functor": [17], "functor-bis": [17]},
    "`arg/3` counts an unbound position up": {"arg": [10]},
    "a flag that does not exist": {"current_prolog_flag": [6]},
    "wrong on purpose": {"functor-bis": [2, 6, 10, 14]},
}


@pytest.fixture(scope="module")
def rows(conformance_dir: Path) -> list[Row]:
    """Every row, run once."""
    with warnings.catch_warnings():
        # The suite calls predicates that do not exist under the flag that warns of them.
        warnings.simplefilter("ignore")
        return list(run_suite(conformance_dir / "inriasuite", DRIVER))


def test_exactly_the_documented_rows_differ(rows: list[Row]) -> None:
    """A new difference fails here, and one that is gone."""
    expected = {
        f"{file} {n}"
        for files in DIFFERENT.values()
        for file, numbers in files.items()
        for n in numbers
    }
    differ = {
        row.name: f"{row.goal}: {row.expected}, not {row.outcome}" for row in rows if not row.passed
    }
    assert {n: t for n, t in differ.items() if n not in expected} == {}
    assert expected - set(differ) == set()
    assert len(rows) == ROWS


def test_the_documentation_counts_them() -> None:
    """The page has a line for each reason, with the number of its rows."""
    page = (Path(__file__).parents[2] / "docs" / "syntax.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| (.+?) \| (\d+) \|", page, re.MULTILINE))
    for reason, files in DIFFERENT.items():
        assert int(table[reason]) == sum(map(len, files.values())), reason
    total = sum(len(n) for files in DIFFERENT.values() for n in files.values())
    assert f"{ROWS - total} of its {ROWS} rows" in page
