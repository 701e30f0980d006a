"""`dprl query RUN QUERY`: the most probable answers of a trained model, with their proofs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepprooflog.cli import report
from deepprooflog.cli.arguments import Commands, add_limits, positive_integer
from deepprooflog.device import DEVICES
from deepprooflog.errors import DataError

if TYPE_CHECKING:
    from deepprooflog.recipes.folder import RunFolder

EXAMPLE = """\
example:
  dprl query runs/addition 'add([test(0)], [test(1)], Z, 0)' --top 3
  dprl query runs/addition 'add(test(3..0), test(7..4), Z, 0)' --proof
  dprl query runs/addition --test 12
  dprl query runs/family 'uncle(X, 2252)' --top 10 --new --proof

In addition runs test(I) and train(I) are pictures, numbered from 0 in file order, test(I..J) is a
list of them, and `--test K` is the run's test sum number K with the sum left open. In graph runs
`--new` leaves out the triples of train and valid.
JSON: {query, answers: [{bindings, probability, proof, …}], …}, most probable answer first;
certain: no answer listed later or not at all is more probable
"""

# Labels of named pictures that fit in one note.
MOST_LABELS = 16


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "query",
        help="the most probable answers of a trained run",
        description="The most probable answers of a trained run.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("run_folder", metavar="RUN", help="a folder that dprl train wrote")
    parser.add_argument("query", metavar="QUERY", nargs="?", help="a goal, quoted for the shell")
    parser.add_argument("--test", metavar="K", type=int, help="a test example in place of QUERY")
    parser.add_argument(
        "--top", metavar="K", type=positive_integer, help="default: 1, of a graph run 10"
    )
    parser.add_argument("--new", action="store_true", help="only answers that no one told")
    parser.add_argument(
        "--by", choices=("answer", "derivation"), default="answer",
        help="the most probable answer, or that of the best derivation",
    )  # fmt: skip
    parser.add_argument("--proof", action="store_true", help="show the proof of each answer")
    parser.add_argument("--device", choices=DEVICES, help="default: the run's own")
    parser.add_argument("--data", metavar="DATA", help="default: the run's own")
    parser.add_argument("--json", action="store_true", help="one JSON object, for machines")
    add_limits(parser)
    parser.set_defaults(run=run, needs="deepprooflog.recipes.tasks")


def addition(folder: RunFolder, arguments: argparse.Namespace) -> dict[str, Any]:
    """Ask an addition run."""
    from deepprooflog.recipes.addition_query import ask, test_sum

    text = test_sum(folder, arguments.test) if arguments.query is None else arguments.query
    return ask(
        folder, text, top=arguments.top or 1, by=arguments.by, device=arguments.device,
        data=arguments.data,
    )  # fmt: skip


def graph(folder: RunFolder, arguments: argparse.Namespace) -> dict[str, Any]:
    """Ask a knowledge-graph run."""
    from deepprooflog.recipes.kg_query import ask

    if arguments.query is None or arguments.by != "answer":
        raise DataError(
            "a graph is asked by a query, and answers by their probability",
            hint="dprl query RUN 'uncle(X, 2252)' --top 10",
        )
    return ask(
        folder, arguments.query, top=arguments.top or 10, new=arguments.new,
        proofs=int(arguments.proof or arguments.json), device=arguments.device, data=arguments.data,
    )  # fmt: skip


Ask = Callable[["RunFolder", argparse.Namespace], dict[str, Any]]
"""A run and the command's arguments to the object that `--json` prints."""

TASKS: Mapping[str, Ask] = {"mnist-addition": addition, "kg": graph}


def run(arguments: argparse.Namespace) -> int:
    """Print the answers."""
    from deepprooflog.recipes.folder import open_run

    if (arguments.query is None) == (arguments.test is None):
        raise DataError("either a QUERY or --test K", hint="dprl query --help shows both")
    if arguments.query is not None and not arguments.query.strip().rstrip("."):
        raise DataError("the query is empty", hint="add([test(0)], [test(1)], Z, 0)")
    folder = open_run(Path(arguments.run_folder))
    task = folder.config()["task"]
    if task not in TASKS:
        raise DataError(
            f"a run of the task {task!r}, which is unknown", file=str(folder.path),
            hint=f"known are {', '.join(TASKS)}",
        )  # fmt: skip
    result = TASKS[task](folder, arguments)
    if arguments.json:
        report.emit_json(result)
    else:
        show(result, proofs=arguments.proof)
    return 0


def show(result: Mapping[str, Any], *, proofs: bool) -> None:
    """Answers for people: bindings and probability, then the proof where it is asked for."""
    rows = {report.bindings(one["bindings"]): one["probability"] for one in result["answers"]}
    if not proofs:
        print(report.columns(rows) if rows else "false")
    else:
        from deepprooflog.proof.tree import Proof

        for (text, p), one in zip(rows.items(), result["answers"], strict=True):
            print(report.columns({text: p}))
            print(Proof.from_json(json.dumps(one["proof"])))
    for one in result["answers"]:
        if not one.get("certain", True):
            report.note(
                "another answer may be more probable than "
                f"{report.bindings(one['bindings'])} (up to {report.number(one['others'])})"
            )
    labels = result.get("pictures", {})
    if len(labels) > MOST_LABELS:
        report.note(f"--json has the data set's labels of the {len(labels)} pictures")
    elif labels:
        shown = ", ".join(f"{name} = {label}" for name, label in labels.items())
        report.note(f"by the data set's labels, {shown}")
