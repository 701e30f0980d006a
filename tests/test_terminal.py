"""What a terminal would obey is shown, wherever it is printed; what is no text for one is not."""

from __future__ import annotations

import json
import sys
import unicodedata
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprooflog.cli import main
from deepprooflog.errors import DataError, SyntaxProblem
from deepprooflog.kg.data.notice import DataNotice
from deepprooflog.learn.run.progress import Progress
from deepprooflog.terminal import Own, Screen, columns, json_visible, visible

ANY = st.text(st.characters(), max_size=40)


def obeyed(text: str) -> list[str]:
    """The characters of a text that a terminal acts on."""
    return [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")]


@given(ANY)
def test_nothing_is_obeyed_and_nothing_else_changed(text: str) -> None:
    assert not obeyed(visible(text, keep=""))
    assert set(obeyed(visible(text))) <= {"\n", "\t"}
    assert visible(visible(text)) == visible(text)
    if not obeyed(text):
        assert visible(text) == text


@given(ANY)
def test_json_stays_what_it_is(text: str) -> None:
    for ascii_only in (True, False):
        shown = json_visible(json.dumps(text, ensure_ascii=ascii_only))
        assert not obeyed(shown)
        assert json.loads(shown) == text


@given(ANY, ANY, ANY, ANY, st.integers(1, 45))
def test_errors_and_notices(message: str, file: str, line: str, hint: str, column: int) -> None:
    error = SyntaxProblem(message, file=file, line=1, column=column, text=line, hint=hint)
    assert set(obeyed(str(error))) <= {"\n", "\t"}
    assert not obeyed(str(DataNotice(message, file, 3)))


@pytest.mark.parametrize(
    ("line", "column", "below"),
    [("p(X :- q.", 5, ":"), ("\x1b[31mp(X :- q.", 10, ":"), ("数数p :- q.", 3, "p"),
     ("\u202ep :- q.", 2, "p"), ("e\u0301p", 3, "p"), ("\tp", 2, "p")],
)  # fmt: skip
def test_the_caret_stands_below_its_character(line: str, column: int, below: str) -> None:
    lines = str(SyntaxProblem("no", file="a.pl", line=1, column=column, text=line)).splitlines()
    assert lines[2].endswith("^")
    before = len(lines[2]) - 1
    # The character that begins where as many columns are used as there are blanks before the caret.
    at = next(i for i in range(len(lines[1])) if columns(lines[1][:i]) == before
              and not unicodedata.combining(lines[1][i]))  # fmt: skip
    assert lines[1][at] == below


def test_a_file_name_does_not_begin_a_line() -> None:
    assert str(DataError("gone", file="a\nerror: b")) == "a\\nerror: b: error: gone"


def test_our_own_steering_is_let_through() -> None:
    under = StringIO()
    screen = Screen(under)
    print("a\rb", file=screen)
    screen.write(Own("\rc"))
    assert under.getvalue() == "a\\rb\n\rc"


def test_the_progress_bar_shows_what_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    under = Terminal()
    monkeypatch.setattr(sys, "stderr", Screen(under))
    bar = Progress(2)
    bar.update(2, "step \x1b[2J\r")
    bar.close()
    text = under.getvalue()
    assert text[0] == "\r"
    assert obeyed(text[1:]) == ["\n"]
    assert "\\x1b[2J\\r" in text


def test_documents_into_a_pipe_are_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A zero-width joiner belongs to its word in a page, and is shown in a text."""
    path = tmp_path / "p.pl"
    path.write_text("p('a\u200db').", encoding="utf-8")
    assert main(["prove", str(path), "p(X)", "--format", "mermaid"]) == 0
    page = capsys.readouterr().out
    written = str(tmp_path / "p.mmd")
    assert main(["prove", str(path), "p(X)", "-o", written, "--format=mermaid"]) == 0
    assert (tmp_path / "p.mmd").read_text(encoding="utf-8") == page
    assert main(["prove", str(path), "p(X)"]) == 0
    assert not set(obeyed(capsys.readouterr().out)) - {"\n"}
