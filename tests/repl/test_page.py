"""The session on docs/repl.md is what the top level prints."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from deepprooflog.cli import main

ROOT = Path(__file__).parents[2]


def test_the_page_shows_what_happens(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "repl.md").read_text(encoding="utf-8")
    session, command = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    # A proof begins with the query after a prompt of its own, which is no input.
    lines = [line for line in session.splitlines(keepends=True) if line.startswith("?- ")]
    asked = [line[3:] for line in lines if line != "?- s(a).\n"]
    shown = "".join(line for line in session.splitlines(keepends=True) if line[3:] not in asked)
    monkeypatch.chdir(ROOT / "examples")
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(asked)))
    assert main(["two_ways.pl"]) == 0
    assert capsys.readouterr().out == shown
    monkeypatch.setattr("sys.stdin", io.StringIO(":prob s(a)\n"))
    assert main(["repl", "two_ways.pl", "--json"]) == 0
    printed, told = json.loads(capsys.readouterr().out), json.loads(command.splitlines()[1])
    assert printed.pop("seconds") >= 0 and told.pop("seconds") >= 0
    assert printed == told
