"""`dprl demo`: the showcase that `make demo` runs."""

from __future__ import annotations

import argparse

from deepprooflog.cli import report
from deepprooflog.cli.arguments import Commands

EXAMPLE = """\
example:
  dprl demo

Programs, grammars, a Markov model, and a network that learns to read digits from sums alone; about
a minute. JSON: {digit_accuracy_before, digit_accuracy_after, sum_accuracy_before,
sum_accuracy_after, proof, seconds}, with the showcase itself on standard error
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "demo",
        help="the showcase, in about a minute",
        description="The showcase, in about a minute.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="one JSON object, for machines")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the showcase."""
    import contextlib
    import sys

    from deepprooflog import demo

    if not arguments.json:
        demo.main()
        return 0
    with contextlib.redirect_stdout(sys.stderr):
        result = demo.main()
    report.emit_json(result)
    return 0
