"""`dprl add RUN FACT…`: tell a trained run further facts, or take some back; nothing is trained."""

from __future__ import annotations

import argparse
from pathlib import Path

from deepprooflog.cli import report
from deepprooflog.cli.arguments import Commands, command

EXAMPLE = """\
  dprl add runs/family 'father(max, newborn)' 'brother(tom, newborn)'
  dprl add runs/family --remove 'father(max, newborn)'

Proofs use the facts from then on, also those about entities that training never saw; of these
belief says nothing. All facts are added, or none where one of them cannot be.
JSON: {run, added, removed, known, new_entities, changes: {added, removed}}; known: facts that the
graph had already, changes: all that the run's graph has more and fewer than when it was trained
"""


def add_parser(commands: Commands) -> None:
    parser = command(commands, "add", "add facts to the graph of a trained run", EXAMPLE)
    parser.add_argument("run_folder", metavar="RUN", help="a folder that dprl train wrote")
    parser.add_argument("facts", metavar="FACT", nargs="+", help="relation(head, tail), quoted")
    parser.add_argument("--remove", action="store_true", help="remove the facts instead")
    parser.set_defaults(run=run, needs="deepprooflog.recipes.tasks")


def run(arguments: argparse.Namespace) -> int:
    """Change the facts, and say what has changed."""
    from deepprooflog.kg.told import tell_run

    given = arguments.facts
    told = tell_run(
        Path(arguments.run_folder),
        added=() if arguments.remove else given,
        removed=given if arguments.remove else (),
    )
    if arguments.json:
        report.emit_json({"run": arguments.run_folder, **told.to_dict()})
    else:
        print(told)
    return 0
