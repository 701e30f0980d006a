"""`python -m deepprooflog.data mnist`: `dprl data get mnist` by another name."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout

from deepprooflog.data.fetch import fetch
from deepprooflog.data.sources import SOURCES
from deepprooflog.errors import ProofLogError
from deepprooflog.terminal import Screen


def main(argv: Sequence[str] | None = None) -> int:
    """Fetch one data set, saying from where and to where."""
    parser = argparse.ArgumentParser(
        prog="python -m deepprooflog.data", description="Fetch a public data set into the cache."
    )
    parser.add_argument("name", choices=sorted(SOURCES), help="the data set")
    arguments = parser.parse_args(argv)
    with redirect_stdout(Screen(sys.stdout)), redirect_stderr(Screen(sys.stderr)):
        print(f"note: the command is dprl data get {arguments.name}", file=sys.stderr)
        try:
            print(fetch(SOURCES[arguments.name]))
        except ProofLogError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
