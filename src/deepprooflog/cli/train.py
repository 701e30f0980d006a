"""`dprl train RECIPE --set key=value --out RUN`: run an experiment from its recipe."""

from __future__ import annotations

import argparse
from pathlib import Path

from deepprooflog.cli import report
from deepprooflog.cli.arguments import Commands, command
from deepprooflog.errors import DataError

EXAMPLE = """\
  dprl train mnist-addition --set n=4 --set seed=0 --out runs/addition
  dprl train digits-addition --out runs/digits
  dprl train kg --set data=FOLDER --set rules=FILE --out runs/graph
  dprl train walks --set data=FOLDER --out runs/walks
  dprl train mnist-addition --out runs/addition --resume
  torchrun --nproc-per-node 2 -m deepprooflog train kg --set data=FOLDER --out runs/graph

RECIPE is the name of a shipped recipe or a TOML file. RUN gets config.json, metrics.jsonl,
checkpoint.pt, curves.svg and result.json. `--set help` lists the recipe's options
"""


def add_parser(commands: Commands) -> None:
    parser = command(commands, "train", "run an experiment from its recipe", EXAMPLE)
    parser.add_argument("recipe", metavar="RECIPE", help="family-dprl, mnist-addition, …, a file")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="an option")
    parser.add_argument("--out", metavar="RUN", help="the folder to train into")
    parser.add_argument("--resume", action="store_true", help="go on with the run in that folder")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train, then print the test figures."""
    from deepprooflog.learn.run.processes import joined
    from deepprooflog.learn.run.settings import assignments, described
    from deepprooflog.recipes.recipe import read_recipe
    from deepprooflog.recipes.tasks import task_kind

    recipe = read_recipe(arguments.recipe)
    kind = task_kind(recipe.task, recipe.file)
    if arguments.set == ["help"]:
        print(described(kind.options))
        return 0
    given = assignments(arguments.set)
    if arguments.out is None:
        raise DataError("there is no folder to train into", hint="--out RUN")
    with joined():
        result = kind.train(
            arguments.recipe, given, Path(arguments.out), resume=arguments.resume,
            progress=not arguments.json,
        )  # fmt: skip
    if arguments.json:
        report.emit_json(result)
    else:
        print(kind.summary(result))
    return 0
