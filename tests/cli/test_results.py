"""What the commands print when all goes well, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.programs import ENDLESS, PLAIN, TWO_WAYS
from deepprooflog.cli import main


@pytest.fixture
def two_ways(tmp_path: Path) -> str:
    path = tmp_path / "two_ways.pl"
    path.write_text(TWO_WAYS, encoding="utf-8")
    return str(path)


@pytest.fixture
def plain(tmp_path: Path) -> str:
    path = tmp_path / "plain.pl"
    path.write_text(PLAIN, encoding="utf-8")
    return str(path)


@pytest.fixture
def endless(tmp_path: Path) -> str:
    path = tmp_path / "endless.pl"
    path.write_text(ENDLESS, encoding="utf-8")
    return str(path)


def object_of(capsys: pytest.CaptureFixture[str]) -> Any:
    """The one JSON object on standard output."""
    return json.loads(capsys.readouterr().out)


def test_prob(two_ways: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prob", two_ways, "s(a)"]) == 0
    assert capsys.readouterr() == ("0.156\n", "")


def test_prob_json(two_ways: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prob", two_ways, "s(X)", "--json"]) == 0
    result = object_of(capsys)
    assert list(result) == ["query", "probability", "lower", "upper", "exact", "seconds"]
    assert result["query"] == "s(X)"
    assert result["probability"] == pytest.approx(0.832, abs=1e-12)
    assert result["lower"] == result["upper"] == result["probability"]
    assert result["exact"] is True
    assert 0 <= result["seconds"] < 60


def test_prob_of_what_cannot_succeed(two_ways: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prob", two_ways, "s(c)"]) == 0
    assert capsys.readouterr().out == "0\n"


def test_a_query_may_end_with_a_stop(two_ways: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prob", two_ways, "s(a)."]) == 0
    assert capsys.readouterr().out == "0.156\n"


def test_prob_over_budget_is_bounds(endless: str, capsys: pytest.CaptureFixture[str]) -> None:
    """1 is the value; a lower bound below it, an upper bound not below it, and how to go on."""
    assert main(["prob", endless, "n(0)", "--max-goals", "10", "--json"]) == 0
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert result["exact"] is False
    assert result["probability"] is None
    assert 0 < result["lower"] < 1 <= result["upper"] + 1e-12
    assert err.startswith("note: not exact: ")
    assert "--max-goals (now 10)" in err

    assert main(["prob", endless, "n(0)", "--max-goals", "10"]) == 0
    assert capsys.readouterr().out.startswith("between 0.")


def test_a_larger_budget_gives_closer_bounds(
    endless: str, capsys: pytest.CaptureFixture[str]
) -> None:
    widths = []
    for goals in ("10", "40"):
        main(["prob", endless, "n(0)", "--max-goals", goals, "--json"])
        result = object_of(capsys)
        widths.append(result["upper"] - result["lower"])
    assert widths[1] < widths[0]


def test_max_seconds(endless: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prob", endless, "n(0)", "--max-seconds", "0.2", "--json"]) == 0
    out, _ = capsys.readouterr()
    result = json.loads(out)
    assert result["lower"] <= 1.0 + 1e-12
    assert result["seconds"] < 30


def test_answers(two_ways: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["answers", two_ways, "s(X)"]) == 0
    assert capsys.readouterr().out == "s(b)  0.676\ns(a)  0.156\n"


def test_answers_json(two_ways: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["answers", two_ways, "s(X)", "--json"]) == 0
    result = object_of(capsys)
    assert result["query"] == "s(X)"
    assert result["answers"] == pytest.approx({"s(a)": 0.156, "s(b)": 0.676}, abs=1e-12)


def test_no_answers(two_ways: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["answers", two_ways, "s(c)", "--json"]) == 0
    assert object_of(capsys) == {"query": "s(c)", "answers": {}}


def test_answers_over_budget(endless: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["answers", endless, "n(0)", "--max-goals", "10", "--json"]) == 3
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert result["exact"] is False
    assert result["answers"] == {}
    assert 0 <= result["lower"] <= 1
    assert result["upper"] is None or result["upper"] >= 1 - 1e-12
    assert "--max-goals (now 10)" in err


def test_solve(plain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", plain, "edge(a, X), edge(Y, c)"]) == 0
    assert capsys.readouterr().out == "X = b, Y = b\nX = 'Big C', Y = b\n"


def test_solve_says_true_and_false(plain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", plain, "edge(a, b)"]) == 0
    assert capsys.readouterr().out == "true\n"
    assert main(["solve", plain, "edge(b, a)"]) == 0
    assert capsys.readouterr().out == "false\n"


def test_solve_json(plain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", plain, "edge(X, Y)", "--json"]) == 0
    answers = [{"X": "a", "Y": "b"}, {"X": "b", "Y": "c"}, {"X": "a", "Y": "'Big C'"}]
    assert object_of(capsys) == {"query": "edge(X, Y)", "answers": answers, "complete": True}


def test_solve_with_a_limit(plain: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The naturals never end; the first three come and the result says that it is a part."""
    assert main(["solve", plain, "nat(N)", "--limit", "3", "--json"]) == 0
    result = object_of(capsys)
    assert result["answers"] == [{"N": "0"}, {"N": "1"}, {"N": "2"}]
    assert result["complete"] is False


def test_solve_over_budget(plain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", plain, "nat(N), N < 0", "--max-goals", "5000", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["complete"] is False
    assert "--max-goals (now 5000)" in err


def test_prove(two_ways: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The one derivation by q, of weight 0.6 · 0.2, beats the one by p, 0.4 · 0.3²."""
    assert main(["prove", two_ways, "s(a)"]) == 0
    out = capsys.readouterr().out
    assert "q(a)" in out
    assert "p(a)" not in out
    assert "0.12" in out


def test_prove_json(two_ways: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", two_ways, "s(X)", "--json"]) == 0
    result = object_of(capsys)
    assert result["probability"] == pytest.approx(0.48, abs=1e-12)
    assert result["bindings"] == {"X": "b"}
    assert [node["atom"] for node in result["nodes"]] == ["s(b)", "q(b)"]


@pytest.mark.parametrize(
    ("form", "opening"),
    [
        ("text", "?- "),
        ("json", "{"),
        ("html", "<!doctype html>"),
        ("svg", "<svg"),
        ("latex", "\\documentclass"),
        ("mermaid", "flowchart TD"),
    ],
)
def test_prove_writes_documents(form: str, opening: str, two_ways: str, tmp_path: Path) -> None:
    target = tmp_path / "proof"
    assert main(["prove", two_ways, "s(a)", "--format", form, "-o", str(target)]) == 0
    document = target.read_text(encoding="utf-8")
    assert document.lower().startswith(opening.lower())
    assert document.endswith("\n")
    assert "q(a)" in document
