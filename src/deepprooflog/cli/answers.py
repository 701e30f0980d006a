"""`dprl answers FILE QUERY`: every answer to a query with its probability."""

from __future__ import annotations

import argparse
import math

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
  dprl answers two_ways.pl 's(X)'

The most probable answer comes first. JSON: {query, answers: {text: probability}}; when the budget
ends first, answers is empty, {exact: false, lower, upper} bound their sum, and the status is 3;
log_probabilities {text: log} are there for answers too improbable for a float
"""


def add_parser(commands: Commands) -> None:
    parser = command(commands, "answers", "every answer with its probability", EXAMPLE)
    add_program(parser)
    add_budget(parser, "goals")
    parser.set_defaults(run=run, needs="deepprooflog.api")


def run(arguments: argparse.Namespace) -> int:
    """Print the answers, most probable first."""
    program, query = program_and_query(arguments)
    import deepprooflog as dpl

    try:
        logs = dpl.log_answers(program, query, budget=budget(arguments))
    except Inexact as error:
        return inexact(error, query, arguments)
    found = {text: probability(log) for text, log in logs.items()}
    if arguments.json:
        # Only what is too small for a float: the rest is there already.
        tiny = {text: log for text, log in logs.items() if not found[text] and log > -math.inf}
        more = {"log_probabilities": tiny} if tiny else {}
        report.emit_json({"query": query, "answers": found, **more})
    elif found:
        print(report.columns(found, logs))
    else:
        print("false")
    return 0


def inexact(error: Inexact, query: str, arguments: argparse.Namespace) -> int:
    """Bounds on the sum of the answers' probabilities, in place of the answers."""
    report.budget_note(error, arguments)
    if arguments.json:
        bounds = {"lower": error.lower, "upper": error.upper}
        report.emit_json({"query": query, "answers": {}, "exact": False, **bounds})
    else:
        print(f"all answers together: {report.interval(error.lower, error.upper)}")
    return 3
