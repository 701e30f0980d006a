"""The page for users of other systems: ProbLog says of its programs what the page says.

Our side of each pair is run by tests/test_documentation.py, and the reader's notices and errors are
held to logic/neighbours.py by tests/logic/test_neighbours.py.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

from deepprooflog.errors import Notice, ProofLogError
from deepprooflog.logic.program import Program

PAGE = (Path(__file__).parents[1] / "docs" / "coming-from.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```problog\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
STATED = re.compile(r"^% (.+): ([0-9.]+)$", re.MULTILINE)


@pytest.mark.parametrize("text", PROGRAMS)
def test_problog_says_what_the_page_says(text: str) -> None:
    problog = pytest.importorskip("problog")
    reading = pytest.importorskip("problog.program")
    found = problog.get_evaluatable().create_from(reading.PrologString(text)).evaluate()
    values = {str(query): value for query, value in found.items()}
    stated = {query: float(value) for query, value in STATED.findall(text)}
    assert stated == pytest.approx(values, abs=1e-9)


@pytest.mark.parametrize("text", PROGRAMS)
def test_no_program_of_problog_is_read_without_a_word(text: str) -> None:
    """Each has a query/1, at least, that would not be asked."""
    said: list[str | None] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            Program(text)
        except ProofLogError as error:
            said.append(error.hint)
    said += [str(w.message) for w in caught]
    assert said and all(said)


# The rows of the table at the top: what is written there, and whether it is told of or refused.
TOLD = ["0.5 :: q. query(q).", "0.5 :: e. evidence(e, true).", "t(_) :: a."]
REFUSED = [
    "1/6 :: die(1); 5/6 :: die(2).",
    "P :: a(X) :- b(X, P).",
    "t(_, X) :: a(X).",
    ":- query(q).",
    ":- evidence(e, true).",
    "nn(m, [X]) :: p(X, 0); p(X, 1).",
    "nn(m, [X], Y, digit_dom) :: d(Y) --> [X].",
    "nn(m, [X], E) :: p(X, E).",
    "rel path(x, y) = edge(x, y)",
]


@pytest.mark.parametrize("text", TOLD)
def test_notices_of_the_table(text: str) -> None:
    assert f"`{text.split('. ')[-1]}`" in PAGE
    with pytest.warns(Notice):
        Program(text)


@pytest.mark.parametrize("text", REFUSED)
def test_errors_of_the_table(text: str) -> None:
    assert f"`{text}`" in PAGE
    with pytest.raises(ProofLogError) as caught:
        Program(text)
    assert caught.value.hint
