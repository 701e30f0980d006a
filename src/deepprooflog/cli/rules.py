"""`dprl rules RUN`: the rules of a trained run, what was learned of each and what is counted."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deepprooflog.cli import report
from deepprooflog.cli.arguments import Commands, add_run, add_save, command, positive_integer
from deepprooflog.errors import DataError

if TYPE_CHECKING:
    from deepprooflog.kg.readings.rule_table import RuleTable
    from deepprooflog.kg.readings.table import RuleRow

SORTS = ("weight", "confidence", "support", "right", "wrong", "relation")
EXAMPLE = """\
  dprl rules runs/village --sort right --top 20
  dprl rules runs/village --format csv > rules.csv
  dprl rules runs/village --save rules.parquet

weight: the policy's mean probability of the rule as first step, where it applies on validation; of
DCR and R2N the mean truth value of its bodies there, of SBR nothing;
support of predictions: over the training triples; right: validation triples that it backs; wrong:
candidates beside these that it backs and that no split has; redundant: another rule, at least as
sure, says all that it says. What cannot be read of a rule is left empty.
JSON: {rules: [{id, relation, rule, place, weight, support, predictions, confidence, right, wrong,
example, redundant}]}
"""


def add_parser(commands: Commands) -> None:
    parser = command(commands, "rules", "the rules of a trained run, weighed and counted", EXAMPLE)
    add_run(parser)
    parser.add_argument("--sort", choices=SORTS, help="the largest first; default: as they stand")
    parser.add_argument("--top", metavar="N", type=positive_integer, help="default: all")
    parser.add_argument("--format", choices=("text", "csv", "json"), help="default: text")
    add_save(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the table."""
    from deepprooflog.kg.readings.rule_table import RuleTable

    table = RuleTable(tuple(_sorted(_table(arguments), arguments.sort)[: arguments.top]))
    if arguments.save is not None:
        table.table().save(arguments.save)
    form = "json" if arguments.json else arguments.format or "text"
    if form == "json":
        report.emit_json(table.to_dict())
    elif form == "csv":
        print(_csv(table), end="")
    else:
        print(_text(table))
    return 0


def _table(arguments: argparse.Namespace) -> RuleTable:
    """The table of a run, refused where rules are not used."""
    from deepprooflog.learn.run.folder import open_run
    from deepprooflog.recipes.tasks import run_kind

    run = open_run(Path(arguments.run_folder))
    rules = run_kind(run).rules
    if rules is None:
        raise DataError(
            f"a run of the task {run.config()['task']} has no rules over a graph",
            file=str(run.path),
            hint="dprl rules shows those of a run of kg, family-sbr or another recipe of a graph",
        )
    return rules(run, device=arguments.device, data=arguments.data)


def _sorted(rows: Sequence[RuleRow], by: str | None) -> Sequence[RuleRow]:
    if by is None:
        return rows
    if by == "relation":
        return sorted(rows, key=lambda row: row.relation)
    return sorted(rows, key=lambda row: -(getattr(row, by) or 0))


def _csv(rows: Sequence[RuleRow]) -> str:
    out = io.StringIO()
    names = [*rows[0].to_dict()] if rows else ["rule"]
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(row.to_dict() for row in rows)
    return out.getvalue()


def _text(rows: Sequence[RuleRow]) -> str:
    if not rows:
        return "the run has no rules"
    lines = [f"{'weight':>6} {'conf.':>6} {'support':>13} {'right':>6} {'wrong':>6}  rule"]
    for row in rows:
        share = "" if row.support is None else f"{row.support:,} of {row.predictions:,}"
        lines.append(
            f"{_short(row.weight):>6} {_short(row.confidence):>6} {share:>13} "
            f"{_count(row.right):>6} {_count(row.wrong):>6}  {row.rule}"
        )
        notes = [f"e.g. {row.example}"] if row.example else []
        notes += [f"redundant: {row.redundant} says as much"] if row.redundant else []
        if notes:
            lines.append(f"{'':43}{'; '.join(notes)}")
    return "\n".join(lines)


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
