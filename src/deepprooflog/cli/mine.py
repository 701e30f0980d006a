"""`dprl mine DATA -o rules.pl`: find rules in the triples of a graph."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from deepprooflog.cli import report
from deepprooflog.cli.arguments import Commands, command, positive_integer, positive_seconds
from deepprooflog.errors import DataError, Stopped

if TYPE_CHECKING:
    from deepprooflog.kg.data.rules import Rule, Rules

EXAMPLE = """\
  dprl mine village -o rules.pl
  dprl mine FOLDER -o rules.tsv --form anyburl --seconds 60 --min-confidence 0.3
  dprl train kg --set data=FOLDER --set rules=rules.pl --out runs/graph

Ctrl-C, like the end of --seconds, leaves what was found by then in the file
JSON: {data, rules, with_constants, out, cut, notices, seconds}
"""


def add_parser(commands: Commands) -> None:
    parser = command(commands, "mine", "find rules in the triples of a graph", EXAMPLE)
    parser.add_argument("data", metavar="DATA", help="a folder, or the name of a data set")
    parser.add_argument("-o", "--out", metavar="FILE", help="default: standard output")
    parser.add_argument(
        "--form", choices=("program", "anyburl", "pyclause", "amie", "arrow"), default="program",
        help="of the rules; default: program",
    )  # fmt: skip
    add = parser.add_argument
    add("--seconds", metavar="S", type=positive_seconds, help="stop after S; default: 300")
    add("--max-length", metavar="N", type=int, help="atoms in a body; default: 3")
    add("--min-support", metavar="N", type=positive_integer, help="default: 5")
    add("--min-confidence", metavar="X", type=float, help="default: 0.001")
    add("--most", metavar="N", type=positive_integer,
        help="rules of a relation without constants; default: 2000")  # fmt: skip
    add("--most-of-constant", metavar="N", type=positive_integer,
        help="rules of a constant in a head, r(X,c) or r(c,Y); default: 100")  # fmt: skip
    add("--most-with-constants", metavar="N", type=positive_integer,
        help="rules of a relation with constants; default: any number")  # fmt: skip
    add("--constant-length", metavar="N", type=int,
        help="atoms in the body of a path with a constant at its end; default: 2")  # fmt: skip
    add("--no-constants", action="store_true", help="only rules over variables")
    add("--no-identity", action="store_true", help="let two variables be one entity in the counts")
    add("--guards", action="store_true", help="write object identity into the rules, X \\= Y")
    add("--seed", metavar="N", type=int, help="of the facts whose paths are looked at; default: 0")
    parser.set_defaults(run=run, needs="deepprooflog.kg.mining.miner")


class StopRequest:
    """Whether a signal asked to stop; a second one stops at once."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def ask(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            raise Stopped(signal=number)
        self.signal = number

    def __call__(self) -> bool:
        return self.signal is not None


def run(arguments: argparse.Namespace) -> int:
    """Mine, and write what was found."""
    from deepprooflog.kg.data.folder import read_graph
    from deepprooflog.kg.data.rule_files.rule_writing import rules_text
    from deepprooflog.kg.mining.miner import mine
    from deepprooflog.learn.run.interrupt import handled

    out = None if arguments.out is None else Path(arguments.out)
    if out is not None and not out.parent.is_dir():
        raise DataError("the folder does not exist", file=str(out), hint="make it first")
    if out is None and arguments.json:
        raise DataError("there is no file for the rules", hint="-o rules.pl")
    began = time.perf_counter()
    graph = read_graph(arguments.data)
    asked = StopRequest()
    with handled(asked.ask):
        rules = mine(graph, **_given(arguments), progress=not arguments.json, stop=asked)
        text = rules_text(rules, arguments.form, _title(graph.name, rules))
        if out is not None:
            from deepprooflog.data.whole import write_whole

            write_whole(out, text.encode())
    seconds = time.perf_counter() - began
    _tell(arguments, rules, text, seconds)
    if asked.signal is not None:
        raise Stopped(f"interrupted; {len(rules):,} rules are written", signal=asked.signal)
    return 0


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options that were given; the others are the miner's own."""
    names = (
        "seconds", "max_length", "min_support", "min_confidence", "most", "most_of_constant",
        "most_with_constants", "constant_length", "seed",
    )  # fmt: skip
    given = {name: getattr(arguments, name) for name in names}
    given = {name: value for name, value in given.items() if value is not None}
    if arguments.no_constants:
        given["constants"] = False
    if arguments.no_identity:
        given["identity"] = False
    if arguments.guards:
        given["guards"] = True
    return given


def _title(name: str, rules: Rules) -> str:
    line = f"{len(rules):,} rules mined from {name}; a label is a rule's confidence"
    return "\n".join([line, *_cut(rules)])


def _cut(rules: Rules) -> list[str]:
    """How far the search came, where it was cut short."""
    messages = [notice.message for notice in rules.notices]
    return [message for message in messages if message.startswith("the search was cut short")]


def _tell(arguments: argparse.Namespace, rules: Rules, text: str, seconds: float) -> None:
    from deepprooflog.syntax.terms import Var

    constants = sum(any(type(a) is not Var for a in rule.clause.args) for rule in rules)
    if arguments.json:
        messages = [notice.message for notice in rules.notices]
        cut = bool(_cut(rules))
        report.emit_json(
            {
                "data": arguments.data, "rules": len(rules), "with_constants": constants,
                "out": arguments.out, "cut": cut, "notices": messages, "seconds": seconds,
            }
        )  # fmt: skip
        return
    for notice in rules.notices:
        print(notice, file=sys.stderr)
    if arguments.out is None:
        print(text, end="")
        return
    print(f"{len(rules):,} rules, {constants:,} of them with constants: {arguments.out}")
    for rule in sorted(rules, key=_sureness, reverse=True)[:5]:
        print(f"  {report.number(rule.weight):9} {rule}")


def _sureness(rule: Rule) -> float:
    counts = rule.counts
    return counts.support / (counts.predictions + 5) if counts else 0.0
