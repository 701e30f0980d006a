"""SWI-Prolog as an oracle: one process that is handed programs and queries and lists the answers.

    Reply(answers in order, ending)     ending is "done", "more" or "error …"

Answers are compared as text after `normal_form`, which removes layout and numbers variables by
first occurrence, so that nothing depends on how either side spaces terms or names variables.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

TOO_LONG = "error inference_limit_exceeded"
CYCLIC = "error occurs_check"
LIMITED = "error representation_error"
"""Where SWI-Prolog wants a machine integer and was given a longer one."""

_TOKEN = re.compile(
    r"""(?P<quoted>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*")
      | (?P<variable>(?<![A-Za-z0-9_])[A-Z_][A-Za-z0-9_]*)
      | (?P<word>[a-z0-9][A-Za-z0-9_]*(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?)?)
      | (?P<space>\s+)""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Reply:
    """What a query gives: the values of its variables for each answer, and how it ended."""

    answers: tuple[str, ...]
    ending: str


def normal_form(text: str) -> str:
    """The text of a term without layout, variables numbered by first occurrence.

    >>> normal_form("[f(_G7, X), 'a b' , _G7]")
    "[f(_0,_1),'a b',_0]"
    """
    numbers: dict[str, str] = {}

    def rewrite(match: re.Match[str]) -> str:
        if match["space"] is not None:
            return ""
        if match["variable"] is not None:
            return numbers.setdefault(match[0], f"_{len(numbers)}")
        return match[0]

    return _TOKEN.sub(rewrite, text)


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


class Swi:
    """A running `swipl`; use it in a `with` statement."""

    def __init__(self, executable: str) -> None:
        server = Path(__file__).with_name("swi_server.pl")
        self._process = subprocess.Popen(
            [executable, "--traditional", "-q", "-g", "serve", "-t", "halt", str(server)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> Swi:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=20)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def load(self, program: str) -> None:
        """Make this the program that queries run in."""
        reply = self._ask(f"program({_quote(program)}).")
        if reply.ending != "done":
            raise ValueError(f"swipl refuses the program: {reply.ending}\n{program}")

    def query(self, goal: str, limit: int, inferences: int = 20_000) -> Reply:
        """At most `limit` answers to the goal, in order.

        The ending is `TOO_LONG` when they take more than so many inferences and `CYCLIC` when a
        variable would be bound to a term that contains it, `LIMITED` when it meets a limit.
        """
        return self._ask(f"query({_quote(goal)}, {limit}, {inferences}).")

    def _ask(self, request: str) -> Reply:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(request + "\n")
        self._process.stdin.flush()
        answers = []
        for line in self._process.stdout:
            kind, _, rest = line.rstrip("\n").partition(" ")
            if kind == "answer":
                answers.append(normal_form(rest))
            else:
                ending = f"error {normal_form(rest)}" if kind == "error" else kind
                for known in (CYCLIC, LIMITED):
                    ending = known if ending.startswith(known) else ending
                return Reply(tuple(answers), ending)
        raise RuntimeError(f"swipl ended in the middle of {request!r}")
