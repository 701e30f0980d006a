"""The session: read a line, do what it says, show what went wrong, and go on."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from deepprooflog.data.places import is_folder
from deepprooflog.errors import BudgetExceeded, ProofLogError, Stopped, error_text
from deepprooflog.repl.console import Console
from deepprooflog.repl.lines import Lines, open_lines
from deepprooflog.repl.program_top_level import ProgramTopLevel
from deepprooflog.repl.settings import TopLevelSettings, larger
from deepprooflog.repl.top_level import Leave, TopLevel

PROMPT, GOES_ON = "?- ", "|  "
# A line that ends so is not a whole query.
UNFINISHED = (",", "(", "[", "->", "|", ":-")


def open_top_level(source: str | None, settings: TopLevelSettings) -> TopLevel:
    """The top level of a program's file, of a run's folder, or of the builtins alone."""
    if source is not None and is_folder(Path(source)):
        from deepprooflog.learn.run.folder import open_run
        from deepprooflog.recipes.addition.task import TASK
        from deepprooflog.repl.run_top_level import RunTopLevel
        from deepprooflog.repl.sums_top_level import SumsTopLevel

        if open_run(Path(source)).config()["task"] == TASK:
            return SumsTopLevel(source, settings)
        return RunTopLevel(source, settings)
    return ProgramTopLevel(source, settings)


def run_session(top: TopLevel, *, json: bool = False, plain: bool = False) -> int:
    """Answer lines until there are no more; 2 where a line of a pipe was refused."""
    lines = open_lines(top.words, plain=plain)
    console = Console(lines, json)
    refused = False
    if lines.live and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A script's background job begins so; here Ctrl-C is promised to stop the question.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if lines.live and not json:
        print(f"{top.greeting()}. :help lists the commands, Ctrl-D leaves.", flush=True)
    while True:
        try:
            line = _whole_line(lines)
        except EOFError:
            if lines.live and not json:
                print(flush=True)
            return 2 if refused else 0
        except KeyboardInterrupt as error:
            if not lines.live or isinstance(error, Stopped):
                raise
            if not hasattr(lines, "session"):  # prompt_toolkit ends the line itself
                print(flush=True)
            continue
        try:
            refused |= not answer_line(top, console, line) and not lines.live
        except Leave:
            return 2 if refused else 0
        except KeyboardInterrupt as error:
            if not lines.live or isinstance(error, Stopped):
                raise
            sys.stdout.flush()
            print("\ninterrupted", file=sys.stderr, flush=True)


def answer_line(top: TopLevel, console: Console, line: str) -> bool:
    """Do what one line says; False when it was refused, and why is said."""
    text = line.strip().removeprefix("?-").strip()
    if not text or text.startswith("%"):
        return True
    if text.rstrip(" .") == "halt":
        raise Leave
    try:
        if text.startswith(":"):
            top.command(console, text)
        else:
            top.ask(console, text)
    except BudgetExceeded as error:
        message = f"error: {error.message}\ntry: {larger(error)}"
    except ProofLogError as error:
        message = error_text(error)
    except MemoryError:
        message = "error: there was not enough memory"
    else:
        return True
    if console.json:
        console.record({"query": text, "error": message})
    else:
        sys.stdout.flush()
        print(message, file=sys.stderr, flush=True)
    return False


def _whole_line(lines: Lines) -> str:
    line = lines.line(PROMPT)
    while line.rstrip().endswith(UNFINISHED) and not line.lstrip().startswith((":", "%")):
        line = f"{line.rstrip()} {lines.line(GOES_ON).strip()}"
    return line
