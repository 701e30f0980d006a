"""`dprl`, the command line: a module for each command, torch loaded only by those that need it."""

from __future__ import annotations

import argparse
import io
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import NoReturn, TextIO

from deepprooflog import __version__
from deepprooflog.cli.arguments import limits, read_arguments
from deepprooflog.cli.report import notices_as_notes
from deepprooflog.data.places import is_file
from deepprooflog.errors import ProofLogError, Stopped, error_text
from deepprooflog.logic.limits.budget import BudgetExceeded
from deepprooflog.logic.limits.watch import watched
from deepprooflog.terminal import Screen, visible

# Each is a module beside this one, with _ for -.
COMMANDS = (
    "prob", "answers", "solve", "prove", "mine", "train", "evaluate", "rules", "query", "explain",
    "why-not", "plot", "add", "data", "demo", "repl", "serve",
)  # fmt: skip

# Those that several processes share out; torchrun tells each of them which one it is.
SHARED_OUT = ("train", "evaluate")

EPILOG = """\
example:
  dprl prob two_ways.pl 's(a)'

exit status: 0 done (bounds instead of an exact probability included), 2 bad input,
3 the budget ended before there was anything to show, 130 interrupted, 143 terminated
"""


class CommandParser(argparse.ArgumentParser):
    """An argparse parser whose complaints stay on their line, whatever the arguments hold."""

    def error(self, message: str) -> NoReturn:
        super().error(visible(message, keep=""))


def parser(names: Sequence[str] = COMMANDS) -> argparse.ArgumentParser:
    """The command line as one argparse tree, with the commands of these names."""
    root = CommandParser(
        prog="dprl",
        description="Stochastic logic programs: probabilities, answers and the proofs behind them.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    root.add_argument(
        "--version", action="version", version=f"dprl {__version__}",
        help="the version, and nothing else",
    )  # fmt: skip
    commands = root.add_subparsers(metavar="COMMAND", required=True)
    for name in names:
        import_module(f"deepprooflog.cli.{name.replace('-', '_')}").add_parser(commands)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit status; what the user got wrong is one message and a 2."""
    given = as_command(sys.argv[1:] if argv is None else argv)
    asked = [name for name in given[:1] if name in COMMANDS]
    several = int(os.environ.get("WORLD_SIZE", "1")) > 1 and "MASTER_PORT" in os.environ
    if several and os.environ.get("RANK") != "0":
        return _other_process(given, asked)
    with screens():
        if several and asked and asked[0] not in SHARED_OUT:
            print(
                f"error: {asked[0]} runs in one process, not in {os.environ['WORLD_SIZE']}\n"
                f"try: dprl {asked[0]} without torchrun",
                file=sys.stderr,
            )
            return 2
        return _status(read_arguments(parser(asked or COMMANDS), given))


def _other_process(given: Sequence[str], asked: Sequence[str]) -> int:
    """A process that is not the first of several: it prints only what the first does not say."""
    if asked and asked[0] not in SHARED_OUT:
        return 2
    told = io.StringIO()
    with open(os.devnull, "w") as nowhere, screens(), redirect_stdout(nowhere):
        with redirect_stderr(nowhere):
            status = _status(read_arguments(parser(asked or COMMANDS), given), Screen(told))
        if told.getvalue():
            print(f"process {os.environ['RANK']}: {told.getvalue()}", end="", file=sys.stderr)
    return status


def as_command(given: Sequence[str]) -> Sequence[str]:
    """The words of a command line, where a program in a command's place is `repl` of it.

    >>> as_command(["coin.pl"]), as_command(["prob", "coin.pl", "heads"])
    (['repl', 'coin.pl'], ['prob', 'coin.pl', 'heads'])
    """
    first = next(iter(given), "-")
    if first in COMMANDS or first.startswith("-"):
        return given
    return ["repl", *given] if first.endswith(".pl") or is_file(Path(first)) else given


@contextmanager
def screens() -> Iterator[None]:
    """Within, all that is printed shows what a terminal would obey, and nothing is obeyed."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    formatted = warnings.formatwarning
    # Where in the library a warning arose helps nobody at a terminal.
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"
    try:
        with redirect_stdout(Screen(sys.stdout)), redirect_stderr(Screen(sys.stderr)):
            yield
    finally:
        warnings.formatwarning = formatted


def _status(arguments: argparse.Namespace, told: TextIO | Screen | None = None) -> int:
    told = sys.stderr if told is None else told
    try:
        # Loading the library takes a second or more where it needs torch, and is not the question.
        if hasattr(arguments, "needs"):
            import_module(arguments.needs)
        with notices_as_notes(), watched(limits(arguments)) as arguments.limits:
            status: int = arguments.run(arguments)
        sys.stdout.flush()
    except BudgetExceeded as error:
        option = "--" + error.limit.replace("_", "-")
        print(f"error: {error.message}\ntry: a larger {option}", file=told)
        return 3
    except MemoryError:
        print("error: there was not enough memory", file=told)
        return 3
    except ProofLogError as error:
        if not error.told_by_first:
            print(error_text(error), file=told)
        return 2
    except KeyboardInterrupt as error:
        stopped = error if isinstance(error, Stopped) else Stopped()
        print(stopped, file=told)
        return stopped.status
    except BrokenPipeError:
        # The reader of our output has left; Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    return status
