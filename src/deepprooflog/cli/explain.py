"""`dprl explain RUN TRIPLE`: why a trained model holds a triple true, step by step."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deepprooflog.cli import report
from deepprooflog.cli.arguments import Commands, add_limits, positive_integer
from deepprooflog.device import DEVICES
from deepprooflog.errors import DataError

EXAMPLE = """\
example:
  dprl explain runs/family 'uncle(2266, 2252)' --proofs 3

Proofs by clauses come first, then those that believe the prior, each most probable first. Every
step of a proof shows its probability. JSON: {query, probability, upper, by_proof, prior,
evidence, known, proofs: [...]}; by_proof is the part of the probability that rests on clauses
alone, evidence the facts that the prior weighs beside the embedding's score
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "explain",
        help="why a trained run holds a triple true",
        description="Why a trained run holds a triple true.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("run_folder", metavar="RUN", help="a folder that dprl train wrote")
    parser.add_argument("query", metavar="TRIPLE", help="a ground triple, quoted for the shell")
    parser.add_argument(
        "--proofs", metavar="N", type=positive_integer, default=1, help="default: the best one"
    )
    parser.add_argument("--device", choices=DEVICES, help="default: the run's own")
    parser.add_argument("--data", metavar="DATA", help="default: the run's own")
    parser.add_argument("--json", action="store_true", help="one JSON object, for machines")
    add_limits(parser)
    parser.set_defaults(run=run, needs="deepprooflog.recipes.tasks")


def run(arguments: argparse.Namespace) -> int:
    """Print the probability and the proofs."""
    from deepprooflog.recipes.folder import open_run
    from deepprooflog.recipes.kg_query import ask, variable_names

    folder = open_run(Path(arguments.run_folder))
    task = folder.config()["task"]
    if task != "kg":
        raise DataError(
            f"a run of {task}: only triples of a graph are explained so", file=str(folder.path),
            hint="dprl query RUN QUERY --proof",
        )  # fmt: skip
    if any(variable_names(arguments.query)):
        raise DataError(
            f"{arguments.query} is open", hint=f"dprl query {folder.path} '{arguments.query}'"
        )
    found = ask(
        folder, arguments.query, top=1, proofs=arguments.proofs, device=arguments.device,
        data=arguments.data,
    )  # fmt: skip
    (one,) = found["answers"]
    result = {"query": found["query"], **one, "seconds": found["seconds"]}
    if arguments.json:
        report.emit_json(result)
    else:
        show(result)
    return 0


def show(result: Mapping[str, Any]) -> None:
    """The probability, what it rests on, and the proofs."""
    from deepprooflog.proof.tree import Proof

    told = " (a triple of train or valid)" if result["known"] else ""
    print(f"{result['triple']}  {report.number(result['probability'])}{told}")
    print(f"  by clauses alone {report.number(result['by_proof'])}")
    if result["prior"] is not None:
        name, weighed = "the prior alone ", ""
        if result["evidence"]:
            name, weighed = "belief alone    ", ", to whose log odds the facts add"
        print(f"  {name} {report.number(result['prior'])}{weighed}")
    for row in result["evidence"] or ():
        what = "fact" if row["count"] == 1 else "facts"
        print(f"    {row['log_odds']:+.2f}  {row['count']} other {what} {row['facts']}")
    for number, proof in enumerate(result["proofs"], 1):
        print(f"proof {number}")
        print(Proof.from_json(json.dumps(proof)))
    if not result["proofs"]:
        report.note("there is no proof within the run's limits")
    if result["upper"] > result["probability"]:
        report.note(f"goals were left open: up to {report.number(result['upper'])}")
