"""`dprl repl FILE`, or `dprl FILE`: a program or a trained graph, asked line by line."""

from __future__ import annotations

import argparse

from deepprooflog.cli.arguments import (
    Commands,
    command,
    positive_integer,
    positive_seconds,
    positive_size,
)

EXAMPLE = """\
  dprl repl two_ways.pl
  dprl two_ways.pl
  dprl repl runs/village
  echo ':prob s(a)' | dprl repl two_ways.pl --json

A line is a query, whose answers come in Prolog's order: `;` asks for the next, Enter stops. Lines
with a colon ask otherwise: :prob, :answers, :prove, :explain; :help lists them. Ctrl-C stops the
question, Ctrl-D leaves. A pipe's lines are answered without prompts; the status is 2 where one was
refused. JSON: one object for each line, as the command of its name gives it, or {query, error}
"""


def add_parser(commands: Commands) -> None:
    parser = command(commands, "repl", "a top level, to ask a program or a graph", EXAMPLE)
    parser.add_argument(
        "source", metavar="FILE", nargs="?",
        help="a Prolog program, or a folder that dprl train wrote; default: the builtins alone",
    )  # fmt: skip
    parser.add_argument("--plain", action="store_true", help="line editing without prompt_toolkit")
    group = parser.add_argument_group("budget of each question")
    # Other names than those of commands whose budget is one for all they do.
    group.add_argument(
        "--max-seconds", dest="seconds", metavar="S", type=positive_seconds,
        help="stop after S seconds",
    )  # fmt: skip
    group.add_argument(
        "--max-goals", dest="goals", metavar="N", type=positive_integer,
        help="stop after N goals or steps",
    )  # fmt: skip
    group.add_argument(
        "--max-memory", dest="memory", metavar="SIZE", type=positive_size,
        help="stop at SIZE of memory; default: three quarters of what is free",
    )  # fmt: skip
    parser.set_defaults(run=run, needs="deepprooflog.repl.loop")


def run(arguments: argparse.Namespace) -> int:
    """Answer until the user leaves."""
    from deepprooflog.repl.loop import open_top_level, run_session
    from deepprooflog.repl.settings import TopLevelSettings

    limits = TopLevelSettings(arguments.seconds, arguments.goals, arguments.memory)
    top = open_top_level(arguments.source, limits)
    return run_session(top, json=arguments.json, plain=arguments.plain)
