"""`dprl solve FILE QUERY`: the plain answers, in the order Prolog finds them."""

from __future__ import annotations

import argparse
import warnings

from deepprooflog.cli import report
from deepprooflog.cli.arguments import (
    Commands,
    add_budget,
    add_program,
    budget,
    command,
    positive_integer,
    program_and_query,
)
from deepprooflog.logic.limits.budget import BudgetExceeded

EXAMPLE = """\
  dprl solve two_ways.pl 's(X)' --limit 5

Answers appear as they are found. JSON: {query, answers: [{Var: text}], complete}; complete is true
when the search has ended, so that there are no further answers
"""


def add_parser(commands: Commands) -> None:
    parser = command(commands, "solve", "the answers in plain Prolog order", EXAMPLE)
    add_program(parser)
    parser.add_argument("--limit", metavar="N", type=positive_integer, help="stop after N answers")
    add_budget(parser, "resolution steps")
    parser.set_defaults(run=run, needs="deepprooflog.api")


def run(arguments: argparse.Namespace) -> int:
    """Print each answer as it is found, or all of them at the end as JSON."""
    program, query = program_and_query(arguments)
    import deepprooflog as dpl

    found: list[dict[str, str]] = []
    complete = False
    untabled = program.table_below(program.query(query).atoms)
    if untabled is not None:
        place = program.tabled[untabled]
        report.note(
            f"{place.file}:{place.line}: solve has no tables: it takes {untabled} as it is written"
        )
        warnings.filterwarnings("ignore", message=".*solve has no tables")
    try:
        for answer in dpl.solve(program, query, budget=budget(arguments, "max_steps")):
            found.append(answer)
            if not arguments.json:
                print(report.bindings(answer), flush=True)
            if len(found) == arguments.limit:
                break
        else:
            complete = True
    except BudgetExceeded as error:
        report.budget_note(error, arguments)

    if arguments.json:
        report.emit_json({"query": query, "answers": found, "complete": complete})
    elif complete and not found:
        print("false")
    return 0
