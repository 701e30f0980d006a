"""The top level of an addition run: what `dprl query` answers, and its proofs."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from deepprooflog.cli import main
from deepprooflog.repl.settings import TopLevelSettings
from deepprooflog.repl.sums_top_level import SumsTopLevel

GOAL = "add([test(1)], [test(0)], Z, 0)"


def test_it_answers_as_the_command_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["n=1", "training.epochs=1", "training.average=0", "sums=60", "threads=1"]
    settings = [word for option in options for word in ("--set", option)]
    run = str(tmp_path / "run")
    assert main(["train", "digits-addition", *settings, "--out", run]) == 0
    capsys.readouterr()
    lines = f":set top 2\n{GOAL}\n:prove {GOAL}\nadd([test(99999)], [test(0)], Z, 0)\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    assert main(["repl", run, "--json"]) == 2  # the last line was refused
    _, two, one, refused = map(json.loads, capsys.readouterr().out.splitlines())
    assert "no test(99999)" in refused["error"]
    for found, top in ((two, "2"), (one, "1")):
        assert main(["query", run, GOAL, "--top", top, "--json"]) == 0
        assert found == json.loads(capsys.readouterr().out)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{GOAL}\n:prove {GOAL}\n"))
    assert main(["repl", run]) == 0
    text = capsys.readouterr().out
    assert f"Z = {one['answers'][0]['bindings']['Z']}  " in text
    assert "digit(test(1)," in text and "lenet(test(0))" in text
    goals, names = SumsTopLevel(run, TopLevelSettings()).goals_and_names()
    assert {"add(", "digit("} <= set(goals) and list(names) == ["test(", "train("]
