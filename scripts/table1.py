"""Table 1 in one go: MNIST addition for several n and seeds, as a table with its spread.

    python scripts/table1.py --n 4 15 100 --seeds 0 1 2 --out DIR

Each run is `dprl train mnist-addition --set n=… --set seed=…` into DIR/METHOD-AUGMENT-nN-sSEED; a
run that is there already is not repeated.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deepprooflog.device import DEVICES
from deepprooflog.errors import ProofLogError
from deepprooflog.learn.run.folder import RunFolder, is_run
from deepprooflog.learn.run.settings import assignments
from deepprooflog.recipes.addition.run import train

COLUMNS = (
    ("file order", "sum_accuracy"),
    ("regrouped", "sum_accuracy_regrouped"),
    ("digits", "digit_accuracy"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(
        prog="python scripts/table1.py",
        description="Table 1, n by n and seed by seed.",
    )
    parser.add_argument("--n", type=int, nargs="+", default=[4, 15, 100, 200, 500])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--methods", nargs="+", choices=("dp", "pg"), default=["dp"])
    parser.add_argument(
        "--augment", nargs="+", choices=("elastic", "affine", "none"), default=["elastic"]
    )
    parser.add_argument("--device", choices=DEVICES, default="auto")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[])
    parser.add_argument("--recipe", default="mnist-addition")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args(argv)
    try:
        shared = {"device": arguments.device, **assignments(arguments.set)}
        print(heading(), flush=True)
        for method in arguments.methods:
            for augment in arguments.augment:
                for n in arguments.n:
                    cell = {**shared, "method": method, "augment": augment, "n": n}
                    results = [
                        one(arguments.recipe, {**cell, "seed": seed}, arguments.out)
                        for seed in arguments.seeds
                    ]
                    if len(results) > 1:
                        print(row(results, "mean ± sd"), flush=True)
    except ProofLogError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def one(recipe: str, given: dict[str, object], out: Path) -> dict[str, Any]:
    """One run's result, trained where it is not there yet, printed as a row."""
    name = "{method}-{augment}-n{n}-s{seed}".format(**given)
    folder = out / name
    result = train(recipe, given, folder, resume=is_run(folder), progress=False)
    print(row([result], f"seed {given['seed']}"), flush=True)
    return RunFolder(folder).read_result()


def heading() -> str:
    """The first two lines of the table."""
    names = ["method", "augment", "n", "runs", *(name for name, _ in COLUMNS), "seconds"]
    return f"| {' | '.join(names)} |\n|{'---|' * len(names)}"


def row(results: Sequence[dict[str, Any]], runs: str) -> str:
    """A row of the table, in percent; over several runs with their standard deviation.

    >>> runs = [{"method": "dp", "augment": "none", "n": 4, "sum_accuracy": a,
    ...          "sum_accuracy_regrouped": a, "digit_accuracy": 0.99, "seconds": {"total": 10.0}}
    ...         for a in (0.93, 0.95)]
    >>> row(runs, "mean ± sd")
    '| dp | none | 4 | mean ± sd | 94.00 ± 1.41 | 94.00 ± 1.41 | 99.00 ± 0.00 | 10.0 |'
    """
    first = results[0]
    cells = [first["method"], first["augment"], str(first["n"]), runs]
    for _, key in COLUMNS:
        values = [100 * r[key] for r in results]
        spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
        cells.append(f"{statistics.mean(values):.2f}{spread}")
    cells.append(f"{statistics.mean(r['seconds']['total'] for r in results):.1f}")
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
