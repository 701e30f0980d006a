"""`dprl evaluate RUN`: test what was trained, again."""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict
from pathlib import Path

from deepprooflog.cli import report
from deepprooflog.cli.arguments import Commands
from deepprooflog.errors import DataError

EXAMPLE = """\
example:
  dprl evaluate runs/addition --json

JSON for addition: {recipe, n, sum_accuracy, sum_accuracy_regrouped, regrouped_spread,
digit_accuracy, test_sums, regroupings, seconds}; accuracies are shares between 0 and 1
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "evaluate",
        help="test a trained run",
        description="Test a trained run.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("run_folder", metavar="RUN", help="a folder that dprl train wrote")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), help="default: the run's own")
    parser.add_argument("--data", metavar="DATA", help="default: the run's own")
    parser.add_argument("--json", action="store_true", help="one JSON object, for machines")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the test figures."""
    from deepprooflog.recipes import addition, addition_run
    from deepprooflog.recipes.folder import open_run

    began = time.perf_counter()
    folder = open_run(Path(arguments.run_folder))
    config = folder.config()
    if config["task"] != addition.TASK:
        raise DataError(f"a run of the task {config['task']!r}, which is unknown", file=str(folder))
    found = addition_run.evaluate(folder, arguments.device, arguments.data)
    result: dict[str, object] = {
        "recipe": config["recipe"],
        "n": config["options"]["n"],
        **asdict(found),
        "seconds": round(time.perf_counter() - began, 3),
    }
    if arguments.json:
        report.emit_json(result)
    else:
        print(addition_run.summary(result))
    return 0
