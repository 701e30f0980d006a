"""`dprl prob FILE QUERY`: the success probability of a query, or bounds on it."""

from __future__ import annotations

import argparse
import math
import time

from deepprooflog.cli import report
from deepprooflog.cli.arguments import (
    Commands,
    add_budget,
    add_program,
    budget,
    command,
    program_and_query,
)
from deepprooflog.errors import Inexact
from deepprooflog.logic.answers import probability

EXAMPLE = """\
  dprl prob two_ways.pl 's(a)'
  dprl prob branching.pl p --max-goals 1000 --json

JSON: {query, probability, lower, upper, exact, seconds}; when the budget ends first, exact is
false, probability is null, and upper is null where only the lower bound is known; log_probability
is there where the probability is too small for a float
"""


def add_parser(commands: Commands) -> None:
    parser = command(commands, "prob", "the success probability of a query", EXAMPLE)
    add_program(parser)
    add_budget(parser, "goals")
    parser.set_defaults(run=run, needs="deepprooflog.api")


def run(arguments: argparse.Namespace) -> int:
    """Print the probability; where the budget ends first, its bounds."""
    program, query = program_and_query(arguments)
    import deepprooflog as dpl

    start = time.perf_counter()
    log: float | None
    value: float | None
    lower: float
    upper: float | None
    try:
        log = dpl.log_prob(program, query, budget=budget(arguments))
        value = lower = upper = probability(log)
    except Inexact as error:
        log, value, lower, upper = None, None, error.lower, error.upper
        report.budget_note(error, arguments)
    seconds = time.perf_counter() - start

    # A provable query too improbable for a float is told from one that cannot be proved.
    tiny = value == 0 and log is not None and log > -math.inf
    if arguments.json:
        report.emit_json(
            {
                "query": query,
                "probability": value,
                "lower": lower,
                "upper": upper,
                "exact": value is not None,
                "seconds": seconds,
                **({"log_probability": log} if tiny else {}),
            }
        )
    elif log is None:
        print(report.interval(lower, upper))
    else:
        print(report.number(lower, log))
    return 0
