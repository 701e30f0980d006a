"""`dprl why-not RUN|FILE QUERY`: the facts that a query lacks to be proved."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from deepprooflog.cli import report
from deepprooflog.cli.arguments import (
    Commands,
    add_budget,
    budget,
    command,
    positive_integer,
    program_and_query,
)

if TYPE_CHECKING:
    from deepprooflog import Budget
    from deepprooflog.insight.failure import WhyNot

EXAMPLE = """\
  dprl why-not runs/family 'uncle(2266, 2252)'
  dprl why-not cousins.pl 'cousin(ann, bob)' --most 3

Derivations that lack the fewest facts come first, then the more probable ones; each was checked:
with its missing facts the query is proved. JSON: {query, probability, derivations: [{missing,
failed, invented, probability, then, believed, steps}], stopped, goals, seconds}; then is the
probability of the query with the missing facts added, believed that of each missing fact by the
prior, invented are names that stand for anything
"""


def add_parser(commands: Commands) -> None:
    parser = command(commands, "why-not", "what a query lacks to be proved", EXAMPLE)
    parser.add_argument(
        "file", metavar="RUN|FILE", help="a folder that dprl train wrote, or a Prolog program"
    )
    parser.add_argument("query", metavar="QUERY", help="a goal, quoted for the shell")
    parser.add_argument(
        "--most", metavar="N", type=positive_integer, default=5, help="derivations; default: 5"
    )
    parser.add_argument(
        "--missing", metavar="N", type=positive_integer, default=2,
        help="facts that a derivation may lack; default: 2",
    )  # fmt: skip
    add_budget(parser, "goals")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the nearest failed derivations."""
    found = _of_run(arguments) if Path(arguments.file).is_dir() else _of_program(arguments)
    if arguments.json:
        report.emit_json(found.to_dict())
    else:
        print(found)
    return 0


def _of_run(arguments: argparse.Namespace) -> WhyNot:
    import deepprooflog as dpl

    model = dpl.kg.open(arguments.file)
    return model.why_not(
        arguments.query, most=arguments.most, missing=arguments.missing, budget=_budget(arguments)
    )


def _of_program(arguments: argparse.Namespace) -> WhyNot:
    program, query = program_and_query(arguments)
    import deepprooflog as dpl

    return dpl.why_not(
        program, query, most=arguments.most, missing=arguments.missing, budget=_budget(arguments)
    )


def _budget(arguments: argparse.Namespace) -> Budget:
    """The budget asked for; without one, that of the library."""
    from deepprooflog.insight.why_not import GOALS

    asked = budget(arguments)
    return asked if arguments.max_goals is not None else replace(asked, max_goals=GOALS)
