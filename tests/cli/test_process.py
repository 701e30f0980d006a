"""`dprl` as a process: what only shows there (start-up, pipes, signals, bytes)."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.programs import PLAIN, TWO_WAYS

DPRL = [sys.executable, "-m", "deepprooflog.cli"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "two_ways.pl").write_text(TWO_WAYS, encoding="utf-8")
    (tmp_path / "plain.pl").write_text(PLAIN, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("command", [[], ["prob"], ["answers"], ["solve"], ["prove"], ["repl"]])
def test_help_has_an_example(command: list[str]) -> None:
    run = subprocess.run([*DPRL, *command, "--help"], capture_output=True, text=True)
    assert run.returncode == 0
    assert f"example:\n  dprl {' '.join(command)}" in run.stdout


@pytest.mark.parametrize("arguments", [["--help"], ["solve", "plain.pl", "edge(X, Y)"]])
def test_torch_stays_out(arguments: list[str], folder: Path) -> None:
    """Help and plain solving start at once: they do not load torch."""
    script = (
        "import sys\n"
        "from deepprooflog.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print(*{'torch'} & set(sys.modules), file=sys.stderr)"
    )
    command = [sys.executable, "-c", script, *arguments]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert run.stdout
    assert run.stderr.split() == []


def test_answers_stream(folder: Path) -> None:
    """An endless enumeration shows its answers while it runs; a closed pipe ends it quietly."""
    command = [*DPRL, "solve", "plain.pl", "nat(N)"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stderr
        assert [process.stdout.readline() for _ in range(3)] == ["N = 0\n", "N = 1\n", "N = 2\n"]
        process.stdout.close()
        assert process.wait(timeout=60) == 141
        assert process.stderr.read() == ""


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_interrupt(folder: Path) -> None:
    command = [*DPRL, "solve", "plain.pl", "nat(N)"]
    # A shell starts its background jobs with interrupts ignored, and what they start inherits that.
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:  # fmt: skip
        assert process.stdout
        assert process.stdout.readline() == "N = 0\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert err == "interrupted\n"


def test_a_query_that_is_no_text(folder: Path) -> None:
    command = [*(os.fsencode(word) for word in DPRL), b"solve", b"plain.pl", b"edge(\xff, X)"]
    run = subprocess.run(command, cwd=folder, capture_output=True)
    assert run.returncode == 2
    assert b"UTF-8" in run.stderr
    assert b"Traceback" not in run.stderr


def test_version() -> None:
    run = subprocess.run([*DPRL, "--version"], capture_output=True, text=True)
    assert run.returncode == 0
    assert re.match(r"dprl (0\.|\(run from its source)", run.stdout)
