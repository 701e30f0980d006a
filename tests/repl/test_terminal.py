"""The top level on a terminal: keys, Ctrl-C, completion, history, and a picture of a session."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cli.programs import PLAIN
from repl.screen import VirtualScreen, svg

pexpect = pytest.importorskip("pexpect")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="a pseudo terminal")

ROOT = Path(__file__).parents[2]
PROMPT = r"\?-\Z"
EDITORS = pytest.mark.parametrize("options", [(), ("--plain",)], ids=["prompt_toolkit", "plain"])


@dataclass
class Terminal:
    """A session in a pseudo terminal, and the screen that a person would see.

    Waiting is for what stands on the screen: line editors send only what has changed.
    """

    child: Any
    screen: VirtualScreen
    seen: int = 0  # characters of the screen's text before what is waited for next

    def type(self, keys: str, until: str = PROMPT) -> None:
        """Type, and wait for what is expected to appear."""
        self.child.send(keys)
        self.wait(until)

    def wait(self, until: str = PROMPT, seconds: float = 30.0) -> None:
        """Wait until the screen shows something new."""
        end = time.monotonic() + seconds
        while (found := re.compile(until).search(self.screen.text(), self.seen)) is None:
            assert time.monotonic() < end, f"no {until!r} in\n{self.screen.text()}"
            with contextlib.suppress(pexpect.TIMEOUT):
                self.screen.feed(self.child.read_nonblocking(4096, timeout=0.1))
        self.seen = found.end()

    def leave(self, keys: str = "\x04") -> int:
        """Ctrl-D; the exit status."""
        self.child.send(keys)
        self.child.expect(pexpect.EOF)
        self.child.close()
        status: int = self.child.exitstatus
        return status


@pytest.fixture
def start(tmp_path: Path) -> Iterator[object]:
    """Begin sessions in a folder of their own."""
    begun = []

    def started(
        *options: str, folder: Path = tmp_path, columns: int = 80, deaf: bool = False
    ) -> Terminal:
        environment = {
            **os.environ, "DEEPPROOFLOG_HISTORY": str(tmp_path / "history"), "TERM": "xterm",
            # There is no terminal that says where its cursor is.
            "PROMPT_TOOLKIT_NO_CPR": "1", "PYTHONPATH": str(ROOT / "src"),
        }  # fmt: skip
        child = pexpect.spawn(
            sys.executable, ["-m", "deepprooflog", *options], cwd=str(folder), env=environment,
            encoding="utf-8", dimensions=(40, columns), timeout=60,
            preexec_fn=_ignore_interrupts if deaf else None,
        )  # fmt: skip
        begun.append(child)
        terminal = Terminal(child, VirtualScreen(columns))
        terminal.wait()
        return terminal

    (tmp_path / "plain.pl").write_text(PLAIN + "loop :- loop.\n", encoding="utf-8")
    yield started
    for child in begun:
        child.close(force=True)


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@EDITORS
def test_a_session(start, options: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    session = start("plain.pl", *options)
    session.type("edge(X, Y).\r", "X = a, Y = b")
    session.type(";", "X = b, Y = c")
    session.type("\r")  # no more
    session.type("edge(b, Z).\r", r"Z = c\.")  # the last: no key is waited for
    session.wait()
    session.type("nat(N), N > 1.\r", "N = 2")
    session.type("h", "Enter or . to stop")
    session.wait("N = 2")
    session.type(" ", "N = 3")
    session.type(".")
    session.type("edge(c, X).\r", r"false\.")
    session.wait()
    session.type("edge(a))\r", r"error: .*\n +edge\(a\)\)\n +\^")
    session.wait()
    session.type("edge(a,\r", r"\|\Z")
    session.type("'Big C').\r", r"true\.")
    session.wait()
    assert session.leave() == 0
    assert "X = a, Y = b ;\nX = b, Y = c .\n" in session.screen.text()


@EDITORS
def test_interrupts_stop_the_question_and_not_the_session(start, options: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    session = start("plain.pl", *options)
    # What is written tells that the search has begun; the numbers stand nowhere in the query.
    begun = "X is 6 * 7, write(X), nl"
    for query in (f"{begun}, loop.", f"{begun}, nat(N), N < 0.", f":prob {begun}, nat(N)"):
        session.type(f"{query}\r", "42")
        session.child.sendintr()
        session.wait("interrupted")
        session.wait()
    session.type("edge(a", r"edge\(a")
    session.child.sendintr()  # at the prompt: the line is dropped
    session.wait()
    session.type("edge(X, Y).\r", "X = a, Y = b")
    session.child.sendintr()  # where a key is waited for
    session.wait("interrupted")
    session.wait()
    session.type("edge(b, X).\r", r"X = c\.")
    session.wait()
    assert session.leave() == 0


def test_interrupts_are_heard_where_the_caller_ignores_them(start) -> None:  # type: ignore[no-untyped-def]
    """A shell starts background jobs so, and pseudo terminals in them inherit it."""
    session = start("plain.pl", "--plain", deaf=True)
    session.type("X is 6 * 7, write(X), nl, loop.\r", "42")
    session.child.sendintr()
    session.wait("interrupted")
    session.wait()
    assert session.leave() == 0


@EDITORS
def test_completion_and_history(start, options: tuple[str, ...], tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    session = start("plain.pl", *options)
    session.type("edg\t", r"edge\(")
    session.type("b, X).\r", r"X = c\.")
    session.wait()
    session.type(":expl\t", ":explain")
    session.type(" nat(0)\r", "probability 1")
    session.wait()
    assert session.leave() == 0
    assert (tmp_path / "history").read_text(encoding="utf-8").splitlines() == [
        "edge(b, X).", ":explain nat(0)",
    ]  # fmt: skip
    assert (tmp_path / "history").stat().st_mode & 0o077 == 0
    again = start("plain.pl", *options)
    again.type("\x1b[A", r"nat\(0\)")
    again.seen = 0  # the line is drawn anew
    again.type("\x1b[A", r"edge\(b, X\)\.")  # the line before the last
    again.type("\r", r"X = c\.")
    again.wait()
    assert again.leave() == 0


def test_quit_ends_it(start) -> None:  # type: ignore[no-untyped-def]
    session = start("plain.pl")
    assert session.leave(":quit\r") == 0


def test_a_picture_for_the_documentation(start) -> None:  # type: ignore[no-untyped-def]
    """A session with the program of the first page; docs/images/repl.svg shows its screen.

    DEEPPROOFLOG_SCREENSHOTS=1 draws it anew.
    """
    session = start("two_ways.pl", folder=ROOT / "examples")
    session.type("s(X).\r", "X = a")
    session.type(";", "X = b")
    session.type("\r")
    asked = {
        ":answers s(X)": r"s\(a\)  0.156", ":prob s(a)": r"\n0\.156", ":prove s(a)": "probability",
        "r(a).": "try: ", "s(a": "never closed",
    }  # fmt: skip
    for line, until in asked.items():
        session.type(f"{line}\r", until)
        session.wait()
    assert session.leave() == 0
    text = session.screen.text()
    # By hand, as in examples/two_ways.pl.
    for line in ("X = a ;", "X = b .", "s(b)  0.676", "s(a)  0.156", "0.156", "probability 0.12"):
        assert f"\n{line}\n" in text
    assert "\n    s(a\n     ^\n" in text
    picture = ROOT / "docs" / "images" / "repl.svg"
    if os.environ.get("DEEPPROOFLOG_SCREENSHOTS"):
        picture.parent.mkdir(exist_ok=True)
        picture.write_text(svg(session.screen, "dprl two_ways.pl"), encoding="utf-8")
    assert picture.read_text(encoding="utf-8") == svg(session.screen, "dprl two_ways.pl")
