"""The top level on a pipe: each line answered, no prompts, and a status that scripts can read."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli.programs import ENDLESS, PLAIN, TWO_WAYS
from deepprooflog.cli import main


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """Give lines to a program's top level; what it printed, its notes, its status."""
    monkeypatch.chdir(tmp_path)

    def asked(program: str, *lines: str, options: tuple[str, ...] = ()) -> tuple[str, str, int]:
        Path("program.pl").write_text(program, encoding="utf-8")
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        status = main(["program.pl", *options])
        shown = capsys.readouterr()
        return shown.out, shown.err, status

    return asked


def test_answers_come_in_the_order_of_prolog(ask) -> None:  # type: ignore[no-untyped-def]
    out, err, status = ask(PLAIN, "edge(X, Y).", "?- edge(a, b)", "edge(c, X).", "", "% nothing")
    assert out.splitlines() == [
        "X = a, Y = b", "X = b, Y = c", "X = a, Y = 'Big C'", "true", "false",
    ]  # fmt: skip
    assert (err, status) == ("", 0)


def test_probabilities_answers_and_proofs(ask) -> None:  # type: ignore[no-untyped-def]
    # By hand: s(a) = 0.4 · 0.3² + 0.6 · 0.2, s(b) = 0.4 · 0.7² + 0.6 · 0.8; its best proof 0.48.
    out, _, status = ask(TWO_WAYS, ":prob s(a)", ":answers s(X)", ":prove s(b)", ":explain s(b)")
    lines = out.splitlines()
    assert lines[:3] == ["0.156", "s(b)  0.676", "s(a)  0.156"]
    proof = lines[3:7]
    assert proof[0] == "?- s(b)."
    assert proof[1].startswith("└─ s(b)  0.6  by 0.6 :: s(X) :- q(X).")
    assert proof[3] == "probability 0.48"
    assert lines[7:] == proof
    assert status == 0


def test_errors_have_carets_and_a_status(ask) -> None:  # type: ignore[no-untyped-def]
    out, err, status = ask(TWO_WAYS, "s(a))", "t(a)", ":prob", ":frob", ":p s(a)", "s(a).")
    assert out.splitlines() == ["true", "true"]  # the session went on; s(a) has two proofs
    assert "<query>:1:5: error:" in err
    assert "    s(a))\n        ^" in err
    assert "t/1" in err
    assert "error: :prob needs a query" in err
    assert "error: :frob is no command" in err
    assert "error: :p could be several commands\ntry: :prob, :prove" in err
    assert "Traceback" not in err
    assert status == 2


def test_what_stands_in_brackets_may_be_left_out(ask) -> None:  # type: ignore[no-untyped-def]
    out, err, status = ask("0.5 :: heads. tails.", ":list", ":list heads", ":set", ":l tails.")
    assert out.splitlines()[:3] == ["0.5 :: heads.", "tails.", "0.5 :: heads."]
    assert [line.split()[0] for line in out.splitlines()[3:-1]] == [
        "seconds", "goals", "memory", "answers",
    ]  # fmt: skip
    assert (out.splitlines()[-1], err, status) == ("tails.", "", 0)
    out, _, _ = ask("0.5 :: heads.", ":help")
    assert max(map(len, out.splitlines())) < 80
    _, err, status = ask("0.5 :: heads.", ":prob")
    assert (err, status) == ("error: :prob needs a query\ntry: :prob QUERY\n", 2)


def test_json_is_one_object_a_line(ask) -> None:  # type: ignore[no-untyped-def]
    lines = ("edge(a, X)", ":prob edge(a, b)", "edge(", "nat(N)", ":set answers 2", "nat(N)")
    out, _, status = ask(PLAIN, *lines, options=("--json", "--max-goals", "100000"))
    found = [json.loads(line) for line in out.splitlines()]
    assert found[0] == {
        "query": "edge(a, X)", "answers": [{"X": "b"}, {"X": "'Big C'"}], "complete": True,
    }  # fmt: skip
    assert found[1]["probability"] == 1.0
    # The line that breaks off goes on with the next.
    assert found[2]["query"] == "edge( nat(N)"
    assert "never closed" in found[2]["error"]
    assert found[3]["settings"]["answers"] == 2
    assert found[4] == {"query": "nat(N)", "answers": [{"N": "0"}, {"N": "1"}], "complete": False}
    assert status == 2


def test_budgets_hold_for_each_question(ask) -> None:  # type: ignore[no-untyped-def]
    lines = (":set goals 50", ":prob n(0)", "n(0), fail", ":set goals off", ":set goals x", ":set")
    out, err, status = ask(ENDLESS, *lines)
    # After n draws the mass 1 − 2⁻ⁿ has succeeded: the lower bound is within what is left.
    bounds = next(line for line in out.splitlines() if line.startswith("between"))
    lower, upper = (float(word) for word in bounds.split()[1::2])
    assert 1 - 2**-20 < lower <= 1 <= upper + 1e-9
    assert "not exact" in err
    assert "try: :set goals with a larger value" in err
    assert "did not end within 50 steps" in err
    assert "goals is a positive integer, not 'x'" in err
    assert "seconds  off" in out
    assert status == 2


def test_a_question_that_never_ends_is_stopped(ask) -> None:  # type: ignore[no-untyped-def]
    out, err, _ = ask("loop :- loop.\np.", ":set seconds 0.2", "loop", "p")
    assert "did not end within 0.2 s" in err
    assert "try: :set seconds with a larger value" in err
    assert out.splitlines()[-1] == "true"


def test_reload_reads_what_was_written_since(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from deepprooflog.repl.console import Console
    from deepprooflog.repl.lines import PipedLines
    from deepprooflog.repl.loop import answer_line, open_top_level
    from deepprooflog.repl.settings import TopLevelSettings

    file = tmp_path / "coin.pl"
    file.write_text("0.5 :: heads.", encoding="utf-8")
    top, console = open_top_level(str(file), TopLevelSettings()), Console(PipedLines())
    assert answer_line(top, console, ":prob heads")
    file.write_text("0.25 :: heads. tails.", encoding="utf-8")
    assert answer_line(top, console, ":reload")
    assert answer_line(top, console, ":prob heads")
    assert "tails" in top.words().goals
    file.write_text("0.25 :: heads", encoding="utf-8")
    assert not answer_line(top, console, ":reload")
    assert answer_line(top, console, ":prob heads")  # the earlier program stays
    shown = capsys.readouterr()
    read = f"{file}: 2 predicates, 2 clauses"
    assert shown.out.splitlines() == ["0.5", read, "0.25", "0.25"]
    assert f"{file}:1:" in shown.err


def test_hostile_names_are_shown_and_not_obeyed(ask) -> None:  # type: ignore[no-untyped-def]
    out, err, status = ask("p('\\x1b\\[31m<script>\\x202e\\').", "p(X)", ":list")
    assert (len(out.splitlines()), err, status) == (2, "", 0)
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "<script>" in out


def test_no_program_has_the_builtins(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("X is 6 * 7.\nhalt.\nX = 1.\n"))
    assert main(["repl"]) == 0
    assert capsys.readouterr().out.splitlines() == ["X = 42"]


def test_a_missing_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nowhere.pl"]) == 2
    assert "nowhere.pl: error: No such file" in capsys.readouterr().err


def test_torch_stays_out(tmp_path: Path) -> None:
    """A top level of a program begins at once: it does not load torch."""
    (tmp_path / "coin.pl").write_text("0.5 :: heads.", encoding="utf-8")
    script = (
        "import sys\n"
        "from deepprooflog.cli import main\n"
        "main(['coin.pl'])\n"
        "print(*{'torch'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, input=":prob heads\n:prove heads\nheads\n",
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[0] == "0.5"
    assert done.stdout.splitlines()[-1] == "true"
    assert done.stderr.split() == []
