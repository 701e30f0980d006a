"""`dprl prob FILE QUERY`: the success probability of a query, or bounds on it."""

from __future__ import annotations

import argparse
import time

from deepprooflog.cli import report
from deepprooflog.cli.arguments import Commands, add_budget, budget, command, program_and_query
from deepprooflog.errors import Inexact

EXAMPLE = """\
  dprl prob two_ways.pl 's(a)'
  dprl prob branching.pl p --max-goals 1000 --json

JSON: {query, probability, lower, upper, exact, seconds}; when the budget ends first, exact is
false, probability is null, and upper is null where only the lower bound is known
"""


def add_parser(commands: Commands) -> None:
    parser = command(commands, "prob", "the success probability of a query", EXAMPLE)
    add_budget(parser, "goals")
    parser.set_defaults(run=run, needs="deepprooflog.api")


def run(arguments: argparse.Namespace) -> int:
    """Print the probability; where the budget ends first, its bounds."""
    program, query = program_and_query(arguments)
    import deepprooflog as dpl

    start = time.perf_counter()
    probability: float | None
    lower: float
    upper: float | None
    try:
        probability = lower = upper = dpl.prob(program, query, budget=budget(arguments))
    except Inexact as error:
        probability, lower, upper = None, error.lower, error.upper
        report.budget_note(error, arguments)
    seconds = time.perf_counter() - start

    if arguments.json:
        report.emit_json(
            {
                "query": query,
                "probability": probability,
                "lower": lower,
                "upper": upper,
                "exact": probability is not None,
                "seconds": seconds,
            }
        )
    elif probability is None:
        print(report.interval(lower, upper))
    else:
        print(report.number(probability))
    return 0
