"""The parts of line editing one by one: keys, history, the menu, and what ends a session."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from deepprooflog.repl.completion import Words
from deepprooflog.repl.console import Console
from deepprooflog.repl.history import history_file, past_lines, remember
from deepprooflog.repl.keys import read_key
from deepprooflog.repl.lines import PipedLines
from deepprooflog.repl.loop import answer_line, open_top_level
from deepprooflog.repl.program_top_level import ProgramTopLevel
from deepprooflog.repl.prompt import PromptLines
from deepprooflog.repl.settings import TopLevelSettings
from deepprooflog.repl.top_level import Leave


def test_history_keeps_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPPROOFLOG_HISTORY", str(tmp_path / "new" / "history"))
    assert past_lines() == []
    for line in ("p(X).", "p(X).", "two\nlines", ":help"):
        remember(line)
    assert past_lines() == ["p(X).", "two lines", ":help"]
    assert history_file().read_text(encoding="utf-8").count("\n") == 4


def test_a_history_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("DEEPPROOFLOG_HISTORY", str(tmp_path / "file" / "history"))
    remember("p(X).")
    assert past_lines() == []


@pytest.mark.skipif(os.name != "posix", reason="a pseudo terminal")
def test_keys_come_without_enter(monkeypatch: pytest.MonkeyPatch) -> None:
    keyboard, terminal = os.openpty()
    with os.fdopen(terminal, "r") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        os.write(keyboard, b";")
        assert read_key() == ";"
        os.write(keyboard, b"\x1b[A")  # an arrow is one key
        assert read_key() == "\x1b"
        os.write(keyboard, b".")
        assert read_key() == "."
    os.close(keyboard)


def test_the_menu_offers_what_fits() -> None:
    lines = PromptLines(lambda: Words(goals=("edge(", "edit"), names=("ann",)))
    completer = lines.session.completer
    assert completer is not None

    def offered(text: str) -> list[tuple[str, int]]:
        found = completer.get_completions(Document(text), CompleteEvent())
        return [(one.text, one.start_position) for one in found]

    assert offered("ed") == [("edge(", -2), ("edit", -2)]
    assert offered("edge(a") == [("ann", -1)]
    assert offered("X = 1, ") == []


@pytest.mark.parametrize("line", ["halt.", "?- halt.", ":quit", ":q"])
def test_what_leaves(line: str) -> None:
    top = open_top_level(None, TopLevelSettings())
    assert isinstance(top, ProgramTopLevel)
    with pytest.raises(Leave):
        answer_line(top, Console(PipedLines()), line)
