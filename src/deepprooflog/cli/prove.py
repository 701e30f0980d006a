"""`dprl prove FILE QUERY`: the most probable proof, as text or as a document."""

from __future__ import annotations

import argparse
from pathlib import Path

from deepprooflog.cli import report
from deepprooflog.cli.arguments import (
    Commands,
    add_budget,
    add_program,
    budget,
    command,
    program_and_query,
)
from deepprooflog.data.whole import write_whole
from deepprooflog.errors import Inexact
from deepprooflog.proof.tree import FORMATS

EXAMPLE = """\
  dprl prove two_ways.pl 's(a)'
  dprl prove two_ways.pl 's(a)' --format html -o proof.html

text is the tree; html and svg stand alone; latex is a document with a forest tree;
--json is --format json
"""


def add_parser(commands: Commands) -> None:
    parser = command(commands, "prove", "the most probable proof of a query", EXAMPLE)
    add_program(parser)
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there, not to the terminal")
    add_budget(parser, "goals")
    parser.set_defaults(run=run, needs="deepprooflog.model")


def run(arguments: argparse.Namespace) -> int:
    """Print the best proof, or write it to a file."""
    program, query = program_and_query(arguments)
    import deepprooflog as dpl

    try:
        proof = dpl.Model(program).best_proof(query, budget=budget(arguments))
    except Inexact as error:
        report.budget_note(error, arguments)
        return 3
    form = "json" if arguments.json else arguments.format
    document = (str(proof) if form == "text" else getattr(proof, f"to_{form}")()).rstrip("\n")
    if arguments.output is None:
        report.emit_document(document, form)
    else:
        write(arguments.output, document + "\n")
    return 0


def write(path: str, document: str) -> None:
    """Write a document whole, or leave what was there."""
    write_whole(Path(path), document.encode())
