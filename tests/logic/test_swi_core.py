"""SWI-Prolog's own unit tests: exactly those that docs/syntax.md explains come out differently."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from logic.swi_core import Result, run_core

# Files about terms, text, numbers, control and lists; the others are about the system around.
CORE = (
    "arith bags bips call code_type copy_term dcg exception format list misc occurs_check op read "
    "skip_list sort string subsumes term text unicode unify write"
)
LIBRARY = "aggregate apply error lists option ordsets strings yall"
# The release that the list below is of, and how many of its portable tests pass.
RELEASE = 90004
PASS = 358

# File, unit and number of the tests that differ, by the reason that the documentation gives.
DIFFERENT: dict[str, dict[str, list[int]]] = {
    "ISO has another error": {
        "test_text/char_code": [8, 9],
        "test_text/atom_codes": [1, 2, 3, 4],
        "test_op/current_op": [3, 5, 6],
        "test_dcg/phrase": [7],
    },
    "integers and arities have no limit": {
        "test_arith/gdiv": [2],
        "test_arith/round": [3],
        "test_call/callN": [9, 10],
    },
    "`call/N` takes at most 7 arguments more": {"test_call/callN": [5, 6]},
    "there are no modules": {
        "test_call/cross_module_call": [5, 6, 7, 8],
        "test_call/no_autoload": [1],
    },
    "`sort/4` takes the number of an argument": {"test_sort/sort4": [8, 9, 10, 11, 17]},
    "digits are ASCII": {"test_unicode/numbers": [2, 3, 4, 5, 6, 7]},
    "`~@` and `portray` call no goals": {"test_format/format": [1, 2], "test_write/portray": [1]},
    "`aggregate_all/3` takes one aggregate": {"test_aggregate/aggregate": [5, 10]},
    "strings are no lists": {"test_dcg/context": [6]},
}


@pytest.fixture(scope="module")
def results(swipl: str) -> list[Result]:
    """Every test, run once."""
    shown = subprocess.run([swipl, "--dump-runtime-variables"], capture_output=True, text=True)
    home = re.search(r'PLBASE="(.*?)"', shown.stdout)
    if f'PLVERSION="{RELEASE}"' not in shown.stdout:
        pytest.skip(f"the list is of the tests of SWI-Prolog {RELEASE}")
    folder = Path(home[1] if home else "/usr/lib/swi-prolog") / "test" / "Tests"
    if not (folder / "core").is_dir():
        pytest.skip("the tests of SWI-Prolog are not installed (Debian: swi-prolog-test)")
    files = [folder / "core" / f"test_{name}.pl" for name in CORE.split()]
    files += [folder / "library" / f"test_{name}.pl" for name in LIBRARY.split()]
    return list(run_core(swipl, [f for f in files if f.is_file()]))


def test_exactly_the_documented_tests_differ(results: list[Result]) -> None:
    """A new difference fails here, and one that is gone."""
    expected = {
        f"{unit} {n}"
        for units in DIFFERENT.values()
        for unit, numbers in units.items()
        for n in numbers
    }
    differ = {r.name: r.outcome for r in results if r.outcome.startswith("failed")}
    named = {name.rpartition(" ")[0] for name in differ}
    assert {n: o for n, o in differ.items() if n.rpartition(" ")[0] not in expected} == {}
    assert expected - named == set()
    assert sum(r.outcome == "passed" for r in results) == PASS


def test_the_documentation_counts_them() -> None:
    """The page has a line for each reason, with the number of its tests."""
    page = (Path(__file__).parents[2] / "docs" / "syntax.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| (.+?) \| (\d+) \|", page, re.MULTILINE))
    for reason, units in DIFFERENT.items():
        assert int(table[reason]) == sum(map(len, units.values())), reason
    total = PASS + sum(len(n) for units in DIFFERENT.values() for n in units.values())
    assert f"{PASS} of the {total} that are portable pass" in page
