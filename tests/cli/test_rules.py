"""`dprl rules` and `dprl evaluate --reading` on a small run, from the outside."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from deepprooflog.cli import main

QUICK = ("prior.dimension=2", "prior.steps=2", "exact.steps=1", "policy.dimension=4", "threads=1")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("graph")
    rows = [f"{r}({a}{n},{b}{n})." for n in "012" for a in "ab" for b in "cd" for r in "pq"]
    (folder / "train.pl").write_text("\n".join(rows[:-4]))
    (folder / "valid.pl").write_text("\n".join(rows[-4:-2]))
    (folder / "test.pl").write_text("\n".join(rows[-2:]))
    (folder / "rules.pl").write_text("p(X,Y) :- q(X,Y).\nq(X,Y) :- p(X,Y), q(X,Z), Y \\= Z.\n")
    options = [part for text in (*QUICK, f"data={folder}") for part in ("--set", text)]
    assert main(["train", "kg", *options, "--out", str(folder / "run"), "--json"]) == 0
    return str(folder / "run")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def test_each_rule_with_what_is_known_of_it(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    found: dict[str, Any] = json.loads(printed(capsys, "rules", run, "--json"))
    first, second = found["rules"]
    assert first["rule"] == "p(A,B) :- q(A,B)." and first["place"].endswith("rules.pl:1")
    assert (first["support"], first["predictions"], first["confidence"]) == (10, 10, 1.0)
    assert 0 < first["weight"] < 1 and first["example"] == "p(a0,c0)"
    assert (first["right"], first["wrong"]) == (0, 0)  # q(b2,c2) is valid, so it is no fact
    assert second["redundant"] is None
    rows = list(csv.DictReader(printed(capsys, "rules", run, "--format", "csv").splitlines()))
    assert [row["rule"] for row in rows] == [first["rule"], second["rule"]]
    text = printed(capsys, "rules", run, "--sort", "confidence", "--top", "1")
    assert text.splitlines()[1].split()[1:5] == ["1.000", "10", "of", "10"]


def test_readings_beside_each_other(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(printed(capsys, "evaluate", run, "--reading", "all", "--json"))
    assert list(found["readings"]) == ["max", "noisy-or", "clusters"]
    text = printed(capsys, "evaluate", run, "--reading", "max", "--protocol", "full")
    assert text.splitlines()[2].startswith("max ") and "rules 2; seconds" in text


def test_rules_of_another_file(
    run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.pl"
    other.write_text("p(X,Y) :- q(X,Y).\np(X,Y) :- r(X,Y).\n")
    arguments = ["evaluate", run, "--reading", "noisy-or", "--rules", str(other)]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert "rules 1;" in out and "1 rule left out of readings" in err
