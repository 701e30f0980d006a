"""`--max-seconds` and `--max-memory`: one message, the status that says so, never a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from deepprooflog.cli import main

PROGRAM = """\
loop :- loop.
nat(0).
nat(s(X)) :- nat(X).
grow(L) :- grow([a|L]).
double(0, X, X) :- !.
double(N, X, Y) :- M is N - 1, double(M, f(X, X), Y).
0.5 :: p :- \\+ loop.
0.5 :: p.
0.5 :: q :- length(L, 1000000000), L = [].
0.5 :: r(X) :- r(f(X)).
0.5 :: r(_).
0.5 :: g :- grow([]).
0.5 :: g.
texts(A) :- atom_concat(A, A, B), texts(B).
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program.pl"
    path.write_text(PROGRAM, encoding="utf-8")
    return str(path)


def asked(*command: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, whose memory begins small."""
    return subprocess.run(
        [sys.executable, "-m", "deepprooflog.cli", *command],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("query", ["p", "r(a)"])
def test_bounds_are_printed(program: str, query: str) -> None:
    """What was found counts: the proof by the other clause."""
    run = asked("prob", program, query, "--max-seconds", "1.5", "--json")
    result = json.loads(run.stdout)
    assert not result["exact"]
    assert result["lower"] >= 0.5
    assert "--max-seconds (now 1.5)" in run.stderr


def test_answers_found_so_far_are_printed(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The search ends by its seconds; the first answers stand."""
    assert main(["solve", program, "nat(X)", "--max-seconds", "0.2", "--json"]) == 0
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert result["answers"][:3] == [{"X": "0"}, {"X": "s(0)"}, {"X": "s(s(0))"}]
    assert not result["complete"]
    assert "--max-seconds" in err


@pytest.mark.parametrize(
    ("command", "query"),
    [("solve", "grow([])"), ("answers", "g"), ("prob", "g"), ("solve", "texts(abc)")],
)
def test_memory_is_limited(program: str, command: str, query: str) -> None:
    """The message says that it was memory, in one line and its remedy."""
    run = asked(command, program, query, "--max-memory", "30MB")
    assert run.returncode in (0, 2, 3)
    assert "memory" in run.stderr
    assert "Traceback" not in run.stderr
    assert run.stderr.count("\n") <= 4


@pytest.mark.parametrize("query", ["double(60, a, X), write(X)", "loop", "X is 7 ** (2 ** 28)"])
def test_nothing_to_show_is_said(
    program: str, query: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the budget or by size, whichever comes first."""
    assert main(["solve", program, query, "--max-seconds", "0.2"]) in (0, 2, 3)
    err = capsys.readouterr().err
    assert "Traceback" not in err
    assert "did not end" in err or "resource_error" in err


def test_reading_is_part_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A program that takes long to read ends with status 3."""
    path = tmp_path / "long.pl"
    path.write_text("\n".join(f"p(a{i}, X) :- q(X, b{i})." for i in range(100_000)) + "\nq(a, b).")
    assert main(["prob", str(path), "q(a, b)", "--max-seconds", "0.1"]) == 3
    err = capsys.readouterr().err
    assert err.startswith("error: the work did not end within 0.1 s")
    assert "--max-seconds" in err


def test_no_memory_at_all(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An allocation that fails is a message, too."""

    def fail(*_: object, **__: object) -> float:
        raise MemoryError

    monkeypatch.setattr("deepprooflog.questions.success", fail)
    assert main(["prob", program, "p"]) == 0
    assert "max_memory" in capsys.readouterr().err
    monkeypatch.setattr("deepprooflog.log_prob", fail)
    assert main(["prob", program, "p"]) == 3
    err = capsys.readouterr().err
    assert "memory" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("size", ["", "5", "0MB", "-1GB", "3X", "GB", "1e3MB"])
def test_sizes_need_a_unit(size: str, program: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is no size is refused by name (a bare number of bytes is one)."""
    if size == "5":
        assert main(["prob", program, "r(a)", "--max-memory", "5", "--max-goals", "5"]) in (0, 3)
        return
    with pytest.raises(SystemExit) as caught:
        main(["prob", program, "p", f"--max-memory={size}"])
    assert caught.value.code == 2
    assert "500MB" in capsys.readouterr().err


def test_a_budget_that_suffices_changes_nothing(
    program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = ["--max-seconds", "60", "--max-memory", "1GB"]
    assert main(["solve", program, "nat(X)", "--limit", "2", *limits]) == 0
    assert capsys.readouterr().out == "X = 0\nX = s(0)\n"
