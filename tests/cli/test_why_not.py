"""`dprl why-not`: of programs and of runs, for people and for machines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import deepprooflog as dpl
from deepprooflog.cli import main

PROGRAM = "gran(X, Y) :- mother(X, Z), father(Z, Y). mother(ann, bob). father(joe, cy).\n"


def test_of_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "gran.pl"
    file.write_text(PROGRAM)
    assert main(["why-not", str(file), "gran(ann, cy)", "--json", "--missing", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["missing"] for one in found["derivations"]] == [
        ["father(bob,cy)"], ["mother(ann,joe)"]
    ]  # fmt: skip
    assert found["probability"] == 0.0
    assert main(["why-not", str(file), "gran(ann, cy)", "--most", "1"]) == 0
    shown = capsys.readouterr().out
    assert "missing father(bob,cy)" in shown
    assert "mother(ann,joe)" not in shown


def test_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = [("ann", "mother", "bob"), ("joe", "father", "cy")]
    graph = dpl.kg.load(facts, valid=[("bob", "gran", "joe")])
    rules = "gran(X, Y) :- mother(X, Z), father(Z, Y)."
    dpl.kg.train(graph, rules, {"kind": "complex", "steps": 5}, "none", seed=0).save(
        tmp_path / "run"
    )
    assert main(["why-not", str(tmp_path / "run"), "gran(ann, cy)", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    single = {one["missing"][0] for one in found["derivations"] if len(one["missing"]) == 1}
    assert single == {"father(bob,cy)", "mother(ann,joe)"}
    assert all(one["then"] > 0 for one in found["derivations"])


def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "gran.pl"
    file.write_text(PROGRAM)
    assert main(["why-not", str(file), "gran(ann, "]) == 2
    assert main(["why-not", str(tmp_path), "gran(ann, cy)"]) == 2
    assert main(["why-not", str(tmp_path / "none.pl"), "gran(ann, cy)"]) == 2
    assert "Traceback" not in capsys.readouterr().err
