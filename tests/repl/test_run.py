"""The top level of a trained graph: answers and proofs as the commands give them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from deepprooflog.cli import main

SMALL = ("prior.kind=none", "exact.steps=2", "policy.dimension=4", "threads=1")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("graph")
    facts = [f"q(a{n},b{n})." for n in range(6)] + [f"p(a{n},b{n})." for n in range(4)]
    (folder / "train.pl").write_text("\n".join(facts), encoding="utf-8")
    (folder / "valid.pl").write_text("p(a4,b4).\n", encoding="utf-8")
    (folder / "test.pl").write_text("p(a5,b5).\n", encoding="utf-8")
    (folder / "rules.pl").write_text("p(X,Y) :- q(X,Y).\n", encoding="utf-8")
    options = [part for text in (*SMALL, f"data={folder}") for part in ("--set", text)]
    assert main(["train", "kg", *options, "--out", str(folder / "run"), "--json"]) == 0
    return str(folder / "run")


def asked(
    run: str, lines: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[dict[str, Any]]:
    capsys.readouterr()
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    main(["repl", run, "--json"])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_it_answers_as_the_commands_do(
    run: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "p(X, b5)\n:set proofs 1\n:explain p(a5, b5)\n:prob p(a5, b5)\n"
    answers, _, explained, chance = asked(run, lines, monkeypatch, capsys)
    capsys.readouterr()
    assert main(["query", run, "p(X, b5)", "--json"]) == 0
    by_query = json.loads(capsys.readouterr().out)
    assert main(["explain", run, "p(a5, b5)", "--json"]) == 0
    by_explain = json.loads(capsys.readouterr().out)
    # The one q(·, b5) is q(a5, b5), so that no other triple has a proof.
    (one,) = answers["answers"]
    assert one["bindings"] == {"X": "a5"}
    assert one["probability"] == by_query["answers"][0]["probability"]
    assert explained["proofs"] == by_explain["proofs"]
    assert chance["probability"] == by_explain["probability"]


def test_words_are_those_of_the_graph(run: str) -> None:
    from deepprooflog.repl.completion import completions
    from deepprooflog.repl.loop import open_top_level
    from deepprooflog.repl.run_top_level import RunTopLevel
    from deepprooflog.repl.settings import TopLevelSettings

    top = open_top_level(run, TopLevelSettings())
    assert isinstance(top, RunTopLevel)
    words = top.words()
    assert completions("p(a", words) == ("a", [f"a{n}" for n in range(6)])
    assert completions("p", words) == ("p", ["p("])
    assert completions(":ex", words) == (":ex", [":explain"])


def test_text_and_errors(
    run: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("p(X, b0)\nr(X, b0)\n:explain p(X, b0)\n:help\n"))
    assert main(["repl", run]) == 2
    shown = capsys.readouterr()
    assert shown.out.splitlines()[1].split()[:3] == ["X", "=", "a0"]
    assert ":explain TRIPLE" in shown.out
    assert max(map(len, shown.out.splitlines())) < 80
    assert "error: " in shown.err
    assert "error: p(X, b0) is open\ntry: :answers p(X, b0)\n" in shown.err
    assert "Traceback" not in shown.err


def test_a_folder_that_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repl", str(tmp_path)]) == 2
    assert "error" in capsys.readouterr().err
