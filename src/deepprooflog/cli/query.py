"""`dprl query RUN QUERY`: the most probable answers of a trained model, with their proofs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from deepprooflog.cli import report
from deepprooflog.cli.arguments import (
    Commands,
    add_goals,
    add_run,
    add_save,
    command,
    positive_integer,
)
from deepprooflog.errors import DataError

if TYPE_CHECKING:
    from deepprooflog.recipes.tasks import QueryResult, ShownAnswer

EXAMPLE = """\
  dprl query runs/addition 'add([test(0)], [test(1)], Z, 0)' --top 3
  dprl query runs/addition 'add(test(3..0), test(7..4), Z, 0)' --proof
  dprl query runs/addition --test 12
  dprl query runs/family 'uncle(X, 2252)' --top 10 --new --proof
  dprl query runs/family 'uncle(X, 2252)' --save uncles.csv
  dprl query runs/family 'uncle(X, Y), mother(Y, 2252), X \\= 7' --top 10
  dprl query runs/family 'uncle(X, 2252)' --max-goals 1000

In addition runs test(I) and train(I) are pictures, numbered from 0 in file order, test(I..J) is a
list of them, and `--test K` is the run's test sum number K with the sum left open. In graph runs
a query may be a conjunction with guards, and `--new` leaves out the triples of train and valid.
JSON: {query, answers: [{bindings, probability, proof, …}], …}, most probable answer first;
certain: no answer listed later or not at all is more probable. With --max-goals, probability is
a lower bound and upper the bound from above
"""


def add_parser(commands: Commands) -> None:
    parser = command(commands, "query", "the most probable answers of a trained run", EXAMPLE)
    add_run(parser)
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
    add_goals(parser)
    add_save(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the answers."""
    from deepprooflog.learn.run.folder import open_run
    from deepprooflog.recipes.answer_table import result_table
    from deepprooflog.recipes.tasks import QueryOptions, run_kind

    if (arguments.query is None) == (arguments.test is None):
        raise DataError("either a QUERY or --test K", hint="dprl query --help shows both")
    if arguments.query is not None and not arguments.query.strip().rstrip("."):
        raise DataError("the query is empty", hint="add([test(0)], [test(1)], Z, 0)")
    folder = open_run(Path(arguments.run_folder))
    asked = QueryOptions(
        arguments.query, arguments.test, arguments.top, arguments.by, arguments.new,
        int(bool(arguments.proof or arguments.json or arguments.save)), arguments.device,
        arguments.data, arguments.max_goals,
    )  # fmt: skip
    result = run_kind(folder).query(folder, asked)
    if arguments.save is not None:
        result_table(result.answers).save(arguments.save)
    if arguments.json:
        report.emit_json(result.to_dict())
    else:
        show(result, proofs=arguments.proof)
    return 0


def show(result: QueryResult, *, proofs: bool) -> None:
    """Answers for people: bindings and probability, then the proof where it is asked for."""
    rows = {report.bindings(one.bindings): one for one in result.answers}
    if not proofs:
        width = max(map(len, rows), default=0)
        lines = [f"{text:<{width}}  {likely(one)}" for text, one in rows.items()]
        print("\n".join(lines) or "false")
    else:
        for text, one in rows.items():
            print(f"{text}  {likely(one)}")
            print(one.proof)
    for note in result.notes:
        report.note(note)


def likely(one: ShownAnswer) -> str:
    """The probability, or bounds where goals were left open."""
    upper: float = getattr(one, "upper", one.probability)
    if upper > one.probability:
        return report.interval(one.probability, upper)
    return report.number(one.probability)
