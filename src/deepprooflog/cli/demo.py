"""`dprl demo`: the showcase that `make demo` runs."""

from __future__ import annotations

import argparse
import contextlib
import sys
from importlib.util import find_spec

from deepprooflog.cli import report
from deepprooflog.cli.arguments import Commands, command

# Those of `demo.PARTS`, which would load torch.
PARTS = ("program", "grammar", "markov", "addition", "village")

EXAMPLE = """\
  dprl demo
  dprl demo --part program

Programs, grammars, a Markov model, and a network that learns to read digits from sums alone; about
a minute. JSON: {digit_accuracy_before, digit_accuracy_after, sum_accuracy_before,
sum_accuracy_after, proof, seconds}, with the showcase itself on standard error
"""


def add_parser(commands: Commands) -> None:
    parser = command(commands, "demo", "the showcase, in about a minute", EXAMPLE)
    parser.add_argument(
        "--part", action="append", choices=PARTS, help="only this part; may be given several times"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the showcase."""
    from deepprooflog import demo

    parts = arguments.part or PARTS
    if arguments.part is None and find_spec("sklearn") is None:
        parts = [part for part in PARTS if part != "addition"]
        print(
            "note: without scikit-learn there are no pictures: the part addition is left out\n"
            "try: pip install 'deepprooflog[demo]'",
            file=sys.stderr,
        )
    if not arguments.json:
        demo.main(parts)
        return 0
    with contextlib.redirect_stdout(sys.stderr):
        result = demo.main(parts)
    report.emit_json(result)
    return 0
