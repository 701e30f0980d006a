"""The parts of a command line that several commands share: program, query, output, budget."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, TypeAlias

from deepprooflog.errors import ProgramError, SyntaxProblem

if TYPE_CHECKING:
    from deepprooflog import Budget, Program

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def command(commands: Commands, name: str, summary: str, example: str) -> argparse.ArgumentParser:
    """A command's parser, with the arguments that every command has."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=f"example:\n{example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="a Prolog program (UTF-8)")
    parser.add_argument("query", metavar="QUERY", help="a goal, quoted for the shell: 's(X)'")
    parser.add_argument("--json", action="store_true", help="one JSON object, for machines")
    return parser


def add_budget(parser: argparse.ArgumentParser, counts: str) -> None:
    """`--max-goals` and `--max-seconds`, for work that may not end."""
    group = parser.add_argument_group("budget")
    group.add_argument(
        "--max-goals", metavar="N", type=positive_integer, help=f"stop after N {counts}"
    )
    group.add_argument(
        "--max-seconds", metavar="S", type=positive_seconds, help="stop after S seconds"
    )


def budget(arguments: argparse.Namespace, counts: str = "max_goals") -> Budget:
    """The budget asked for; where the user gave no limit, the library's own.

    `counts` is the limit that `--max-goals` sets: a plain search has steps in place of goals.
    """
    import deepprooflog as dpl

    limits = {counts: arguments.max_goals, "max_seconds": arguments.max_seconds}
    return dpl.Budget(**{name: limit for name, limit in limits.items() if limit is not None})


def positive_integer(text: str) -> int:
    """An integer from 1 on.

    >>> positive_integer("1000")
    1000
    """
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"a positive integer is needed, not {text!r}")
    return value


def positive_seconds(text: str) -> float:
    """A time greater than 0.

    >>> positive_seconds("0.5")
    0.5
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"a number of seconds above 0 is needed, not {text!r}")
    return value


def program_and_query(arguments: argparse.Namespace) -> tuple[Program, str]:
    """Read the program; refuse a query that is empty or no text before any work is done."""
    import deepprooflog as dpl

    query: str = arguments.query
    if not query.strip().rstrip("."):
        raise SyntaxProblem("the query is empty", file="<query>", hint="a goal such as 's(X)'")
    try:
        query.encode()
    except UnicodeEncodeError:
        raise SyntaxProblem("the query is not UTF-8 text", file="<query>") from None
    try:
        return dpl.Program.read(arguments.file), query
    except ValueError as error:
        raise ProgramError(str(error), file=arguments.file) from None
