"""What the user gets wrong is one message on standard error and status 2, never a traceback."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cli.programs import TWO_WAYS
from deepprooflog.cli import main

COMMANDS = ("prob", "answers", "solve", "prove")


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command that must fail with status 2; its message."""
    try:
        status = main(arguments)
    except SystemExit as stop:  # argparse's way out
        status = stop.code  # type: ignore[assignment]
    out, err = capsys.readouterr()
    assert status == 2
    assert out == ""
    assert "Traceback" not in err
    assert err.endswith("\n")
    return err


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("program.pl").write_text(TWO_WAYS, encoding="utf-8")
    return "program.pl"


@pytest.mark.parametrize("command", COMMANDS)
def test_no_such_file(command: str, program: str, capsys: pytest.CaptureFixture[str]) -> None:
    absent = "error: No such file or directory\n    try: "
    message = refused(capsys, command, "no_such.pl", "s(a)")
    assert message == f"no_such.pl: {absent}programs here: program.pl\n"
    message = refused(capsys, command, "progam.pl", "s(a)")
    assert message == f"progam.pl: {absent}did you mean program.pl?\n"
    message = refused(capsys, command, "no/program.pl", "s(a)")
    assert message == f"no/program.pl: {absent}there is no folder no\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder(command: str, program: str, capsys: pytest.CaptureFixture[str]) -> None:
    message = refused(capsys, command, ".", "s(a)")
    assert message.startswith(".: error: ") and "dprl query RUN" in message


def test_not_utf8(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("latin1.pl").write_bytes("p('é').".encode("latin-1"))
    assert "UTF-8" in refused(capsys, "prob", "latin1.pl", "p(X)")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("query", ["", "   ", "% only a comment", "."])
def test_empty_query(
    command: str, query: str, program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(capsys, command, program, query).startswith("<query>:")


@pytest.mark.parametrize("command", COMMANDS)
def test_syntax_error_in_the_query(
    command: str, program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The place, the line, a caret below it."""
    lines = refused(capsys, command, program, "s(a, ,b)").splitlines()
    place = re.fullmatch(r"<query>:1:(\d+): error: .+", lines[0])
    assert place
    assert lines[1] == "    s(a, ,b)"
    assert lines[2] == " " * (3 + int(place[1])) + "^"
    assert place[1] == "6"


@pytest.mark.parametrize("command", COMMANDS)
def test_two_queries(command: str, program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, command, program, "s(a). s(b).").startswith("<query>:1:")


@pytest.mark.parametrize("command", COMMANDS)
def test_syntax_error_in_the_program(
    command: str, program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("broken.pl").write_text("p(a).\nq(X :- p(X).\n", encoding="utf-8")
    lines = refused(capsys, command, "broken.pl", "p(a)").splitlines()
    assert re.match(r"broken\.pl:2:\d+: error: ", lines[0])
    assert lines[1] == "    q(X :- p(X)."


@pytest.mark.parametrize("command", COMMANDS)
def test_unknown_predicate(command: str, program: str, capsys: pytest.CaptureFixture[str]) -> None:
    message = refused(capsys, command, program, "s(a, b)")
    assert "s/2" in message
    assert "s/1" in message, "a hint at what was meant"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("query", ["X", "3", "s(a), 7"])
def test_a_query_that_is_no_goal(
    command: str, query: str, program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(capsys, command, program, query)


def test_partly_labelled(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("partly.pl").write_text("0.5 :: p(a).\np(b).\n", encoding="utf-8")
    assert refused(capsys, "prob", "partly.pl", "p(X)").startswith("partly.pl:2")


def test_labels_above_one(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("much.pl").write_text("0.5 :: p(a).\n0.6 :: p(a).\n", encoding="utf-8")
    assert refused(capsys, "prob", "much.pl", "p(a)").startswith("much.pl:")


def test_no_network(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The command line has no networks to give: it must say so, not fail inside."""
    Path("neural.pl").write_text("nn(net, [X], D, 0..9) :: digit(X, D).\n", encoding="utf-8")
    assert "net" in refused(capsys, "prob", "neural.pl", "digit(a, 3)")


def test_an_error_while_the_goal_runs(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    message = refused(capsys, "solve", program, "X is foo + 1")
    assert "evaluable" in message


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["prob"],
        ["prob", "program.pl"],
        ["guess", "program.pl", "s(a)"],
        ["prob", "program.pl", "s(a)", "--no-such-option"],
        ["prob", "program.pl", "s(a)", "--max-goals", "0"],
        ["prob", "program.pl", "s(a)", "--max-goals", "many"],
        ["prob", "program.pl", "s(a)", "--max-seconds", "-1"],
        ["prob", "program.pl", "s(a)", "--max-seconds", "nan"],
        ["solve", "program.pl", "s(a)", "--limit", "0"],
        ["prove", "program.pl", "s(a)", "--format", "pdf"],
        ["prob", "program.pl", "s(a)", "--js"],
    ],
    ids=" ".join,
)
def test_bad_options(
    arguments: list[str], program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "dprl" in refused(capsys, *arguments)


def test_a_misspelt_option_names_the_nearest(
    program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refused(capsys, "prob", program, "s(a)", "--max-second", "3")
    assert message.startswith("usage: dprl prob ")
    assert message.endswith("unrecognized arguments: --max-second 3; did you mean --max-seconds?\n")


def test_no_proof(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    message = refused(capsys, "prove", program, "s(c)")
    assert message.startswith("error: s(c) has no proof\ntry: dprl why-not ")


@pytest.mark.skipif(os.name != "posix", reason="limits as POSIX has them")
def test_a_proof_that_does_not_fit_leaves_nothing(program: str) -> None:
    """A full disk: status 2, one message, the older document as it was."""
    Path("old.html").write_text("old", encoding="utf-8")
    for name in ("new.html", "old.html"):
        words = f"prove {program} s(a) --format html -o {name}".split()
        command = shlex.join([sys.executable, "-m", "deepprooflog", *words])
        done = subprocess.run(
            ["sh", "-c", f"ulimit -f 1; {command}"], capture_output=True, text=True
        )
        assert done.returncode == 2
        assert done.stderr.startswith(f"{name}: error: cannot write: File too large\n    try: ")
    assert Path("old.html").read_text(encoding="utf-8") == "old"
    assert sorted(path.name for path in Path().iterdir()) == ["old.html", program]


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="there is no /dev/stdout")
def test_a_proof_goes_into_a_pipe(program: str) -> None:
    words = ["prove", program, "s(a)", "-o", "/dev/stdout"]
    done = subprocess.run(
        [sys.executable, "-m", "deepprooflog", *words], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("?- s(a).") and Path("/dev/stdout").is_symlink()


def test_output_that_cannot_be_written(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    message = refused(capsys, "prove", program, "s(a)", "-o", "no_such_folder/proof.html")
    assert message.startswith("no_such_folder/proof.html: error: cannot write")
