"""`dprl demo`: the showcase that `make demo` runs."""

from __future__ import annotations

import argparse

from deepprooflog.cli import report
from deepprooflog.cli.arguments import Commands, command

EXAMPLE = """\
  dprl demo

Programs, grammars, a Markov model, and a network that learns to read digits from sums alone; about
a minute. JSON: {digit_accuracy_before, digit_accuracy_after, sum_accuracy_before,
sum_accuracy_after, proof, seconds}, with the showcase itself on standard error
"""


def add_parser(commands: Commands) -> None:
    parser = command(commands, "demo", "the showcase, in about a minute", EXAMPLE)
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
