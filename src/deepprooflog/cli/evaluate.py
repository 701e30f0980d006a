"""`dprl evaluate RUN`: test what was trained, again."""

from __future__ import annotations

import argparse
from pathlib import Path

from deepprooflog.cli import report
from deepprooflog.cli.arguments import Commands, add_run, add_save, command, positive_integer
from deepprooflog.cli.explain import show

EXAMPLE = """\
  dprl evaluate runs/addition --json
  dprl evaluate runs/family --protocol sampled --negatives 100
  dprl evaluate runs/family --protocol full
  dprl evaluate runs/family --protocol full --reading max --rules rules.pl
  dprl evaluate runs/countries --candidates regions --sides tail
  dprl evaluate runs/family --save figures.parquet
  dprl evaluate runs/family --proofs 1 --json > scores.json
  torchrun --nproc-per-node 2 -m deepprooflog evaluate runs/family

JSON for graphs: {protocol, negatives, ties, queries, mrr, "hits@1", "hits@3", "hits@10", auc_pr,
seconds, …, strata, prior: the same for the prior alone}; negatives are drawn for each side; strata
are both, head, tail, none: whether train has facts r(h, ·) and r(·, t) like the triple's halves
JSON for addition: {recipe, n, sum_accuracy, sum_accuracy_regrouped, regrouped_spread,
digit_accuracy, test_sums, regroupings, seconds}; accuracies are shares between 0 and 1
"""


def add_parser(commands: Commands) -> None:
    parser = command(commands, "evaluate", "test a trained run", EXAMPLE)
    add_run(parser)
    parser.add_argument(
        "--protocol",
        choices=("sampled", "full"),
        help="of ranking; default: the run's, else sampled, full where the candidates are a domain",
    )
    parser.add_argument(
        "--negatives", metavar="N", type=positive_integer, help="for each side; default: 100"
    )
    parser.add_argument("--candidates", metavar="DOMAIN", help="rank among the members of a domain")
    parser.add_argument("--domains", metavar="FILE", help="default: the run's own or its folder's")
    parser.add_argument(
        "--sides", choices=("both", "head", "tail"), help="entities asked for; default: the run's"
    )
    parser.add_argument(
        "--reading", choices=("policy", "max", "noisy-or", "clusters", "all"),
        help="how the rules behind a triple are put together; default: policy, p_success",
    )  # fmt: skip
    parser.add_argument("--rules", metavar="FILE", help="rules to read; default: the run's own")
    parser.add_argument(
        "--proofs", metavar="N", type=positive_integer, default=0,
        help="also give the N best proofs of every test triple",
    )  # fmt: skip
    parser.add_argument("--seed", metavar="N", type=int, help="of the negatives; default: 0")
    add_save(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the test figures."""
    from deepprooflog.learn.run.folder import open_run
    from deepprooflog.learn.run.processes import joined
    from deepprooflog.recipes.answer_table import figures_table
    from deepprooflog.recipes.tasks import EvaluateOptions, run_kind

    folder = open_run(Path(arguments.run_folder))
    kind = run_kind(folder)
    asked = EvaluateOptions(
        arguments.device, arguments.data, arguments.protocol, arguments.negatives, arguments.seed,
        arguments.candidates, arguments.domains, arguments.sides, arguments.proofs,
        arguments.reading, arguments.rules, progress=not arguments.json,
    )  # fmt: skip
    with joined() as here:
        result, answers = kind.evaluate(folder, asked)
    if arguments.save is not None and here.first:
        figures_table(result).save(arguments.save)
    if arguments.json:
        report.emit_json(result)
    else:
        print(kind.summary(result))
        for one in answers:
            show(one)
    return 0
