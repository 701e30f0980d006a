"""The parts of a command line that several commands share: program, query, output, budget."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeAlias

from deepprooflog.device import DEVICES
from deepprooflog.errors import ProgramError, SyntaxProblem
from deepprooflog.logic.limits.sizes import read_size

if TYPE_CHECKING:
    from deepprooflog import Budget, Program

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def command(commands: Commands, name: str, summary: str, example: str) -> argparse.ArgumentParser:
    """A command's parser, with the argument that every command has."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=f"example:\n{example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="one JSON object, for machines")
    parser.set_defaults(parser=parser)
    return parser


def read_arguments(root: argparse.ArgumentParser, given: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command line; of an option that its command lacks, the nearest it has."""
    arguments, unknown = root.parse_known_args(given)
    if unknown:
        known = re.findall(r"--[a-z-]+", arguments.parser.format_help())
        near = get_close_matches(unknown[0].partition("=")[0], known, 1, 0.7)
        hint = f"; did you mean {near[0]}?" if near else ""
        arguments.parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    return arguments


def add_program(parser: argparse.ArgumentParser) -> None:
    """A program, and a question to it."""
    parser.add_argument("file", metavar="FILE", help="a Prolog program (UTF-8)")
    parser.add_argument("query", metavar="QUERY", help="a goal, quoted for the shell: 's(X)'")


def add_run(parser: argparse.ArgumentParser) -> None:
    """A trained run, where it is asked and on what data, with a budget."""
    parser.add_argument("run_folder", metavar="RUN", help="a folder that dprl train wrote")
    parser.add_argument("--device", choices=DEVICES, help="default: the run's own")
    parser.add_argument("--data", metavar="DATA", help="default: the run's own")
    add_limits(parser)
    parser.set_defaults(needs="deepprooflog.recipes.tasks")


def add_save(parser: argparse.ArgumentParser) -> None:
    """`--save PATH`: the result as a table too."""
    parser.add_argument(
        "--save", metavar="PATH", type=table_path,
        help="write a table there too: CSV, TSV or Parquet, by the ending",
    )  # fmt: skip


def table_path(text: str) -> str:
    """A file that a table can be written to, by its ending.

    >>> table_path("answers.parquet")
    'answers.parquet'
    """
    from deepprooflog.frames import ENDINGS

    if not text.lower().endswith(ENDINGS):
        raise argparse.ArgumentTypeError(f"{text!r} has none of the endings {', '.join(ENDINGS)}")
    return text


def add_budget(parser: argparse.ArgumentParser, counts: str) -> None:
    """`--max-goals`, `--max-seconds` and `--max-memory`, for work that may not end."""
    group = add_limits(parser)
    group.add_argument(
        "--max-goals", metavar="N", type=positive_integer, help=f"stop after N {counts}"
    )


def add_limits(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """`--max-seconds` and `--max-memory`: they hold for the whole command, reading included."""
    group = parser.add_argument_group("budget")
    group.add_argument(
        "--max-seconds", metavar="S", type=positive_seconds, help="stop after S seconds"
    )
    group.add_argument(
        "--max-memory", metavar="SIZE", type=positive_size,
        help="stop at SIZE of memory (500MB, 2GB); default: three quarters of what is free",
    )  # fmt: skip
    return group


def add_goals(parser: argparse.ArgumentParser) -> None:
    """`--max-goals`, of a graph run: a neighbourhood, and bounds where it is not all."""
    parser.add_argument(
        "--max-goals", metavar="N", type=positive_integer,
        help="of a graph run: explore N goals, those most probability reaches, and show bounds",
    )  # fmt: skip


def limits(arguments: argparse.Namespace) -> Budget:
    """What the command as a whole may use; no limit for commands that take none."""
    from deepprooflog.logic.limits.budget import Budget
    from deepprooflog.logic.limits.watch import available

    if not hasattr(arguments, "max_memory"):
        return Budget()
    if arguments.max_memory is None:
        free = available()
        memory = None if free is None else free * 3 // 4
    else:
        memory = arguments.max_memory
    return Budget(max_seconds=arguments.max_seconds, max_memory=memory)


def budget(arguments: argparse.Namespace, counts: str = "max_goals") -> Budget:
    """The budget asked for, its clock running since the command began.

    `counts` is the limit that `--max-goals` sets: a plain search has steps in place of goals.
    """
    started: Budget = arguments.limits
    if arguments.max_goals is None:
        return started
    return replace(started, **{counts: arguments.max_goals})


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


def positive_size(text: str) -> int:
    """A size in bytes, with a unit.

    >>> positive_size("500MB"), positive_size("2 GB"), positive_size("1.5GiB")
    (500000000, 2000000000, 1610612736)
    """
    value = read_size(text)
    if value is None:
        raise argparse.ArgumentTypeError(f"a size such as 500MB or 2GB is needed, not {text!r}")
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
