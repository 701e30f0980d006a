"""`dprl explain RUN TRIPLE`: why a trained model holds a triple true, step by step."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from deepprooflog.cli import report
from deepprooflog.cli.arguments import Commands, add_goals, add_run, command, positive_integer

if TYPE_CHECKING:
    from deepprooflog.kg.prove.answers import Answer

FORMATS = ("text", "json", "jsonld")

EXAMPLE = """\
  dprl explain runs/family 'uncle(2266, 2252)' --proofs 3
  dprl explain runs/towns 'lies_in(q3, belgium)' --format jsonld
  dprl explain runs/family 'uncle(2266, 2252)' --max-goals 1000

Proofs by clauses come first, then those that believe the prior, each most probable first. Every
step of a proof shows its probability. JSON: {query, probability, upper, by_proof, prior,
evidence, known, proofs: [...]}; by_proof is the part of the probability that rests on clauses
alone, evidence the facts that the prior weighs beside the embedding's score. With --max-goals,
probability is a lower bound, upper the bound from above, and proofs are those that were found
"""


def add_parser(commands: Commands) -> None:
    parser = command(commands, "explain", "why a trained run holds a triple true", EXAMPLE)
    add_run(parser)
    parser.add_argument("query", metavar="TRIPLE", help="a ground triple, quoted for the shell")
    parser.add_argument(
        "--proofs", metavar="N", type=positive_integer, default=1, help="default: the best one"
    )
    parser.add_argument(
        "--format", choices=FORMATS, default="text",
        help="jsonld: linked data in the terms of PROV-O (default: text)",
    )  # fmt: skip
    add_goals(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the probability and the proofs."""
    from deepprooflog.learn.run.folder import open_run
    from deepprooflog.recipes.tasks import QueryOptions, run_kind

    folder = open_run(Path(arguments.run_folder))
    asked = QueryOptions(
        arguments.query, proofs=arguments.proofs, device=arguments.device, data=arguments.data,
        max_goals=arguments.max_goals,
    )  # fmt: skip
    found = run_kind(folder).explain(folder, asked)
    (one,) = found.answers
    if arguments.format == "jsonld" and not arguments.json:
        report.emit_document(one.to_jsonld(), "json")
    elif arguments.json or arguments.format == "json":
        report.emit_json({"query": found.query, **one.to_dict(), "seconds": found.seconds})
    else:
        show(one)
    return 0


def show(one: Answer) -> None:
    """The probability, what it rests on, and the proofs."""
    print(one)
    if not one.proofs:
        report.note("there is no proof within the limits")
    if one.upper > one.probability:
        found = report.interval(one.probability, one.upper)
        report.note(f"goals were left open: the probability is {found}")
