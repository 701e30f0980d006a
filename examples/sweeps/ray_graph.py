"""A sweep by Ray Tune: options of graph training, each tried with several seeds, over all cores.

    pip install 'ray[tune]'
    python ray_graph.py --out sweep --trials 20 --set data=village

The same command once more goes on with the sweep. A trial's value is the mean over seeds of the
validation MRR of the best weights; no test triple is ranked.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import ray
from ray import tune

import deepprooflog as dpl

# What all trials have, as `dprl train kg --set` has it, unless --set says otherwise.
FIXED = {"data": "village", "prior": "distmult", "prior.steps": "200", "learner": "exact",
         "exact.steps": "50", "threads": "1"}  # fmt: skip
TRIED = {
    "prior.dimension": tune.choice([16, 32, 64]),
    "prior.lr": tune.loguniform(1e-3, 1e-1),
    "exact.lr": tune.loguniform(1e-4, 1e-2),
    "exact.entropy": tune.uniform(0.0, 0.1),
    "search.nesting": tune.choice([1, 2]),
}


def trial(tried: dict[str, Any], fixed: dict[str, Any], seeds: list[int]) -> None:
    """Train with each seed, and tell Ray the mean so far."""
    options, found = {**fixed, **tried}, list[float]()
    data = options.pop("data")
    for seed in seeds:
        model = dpl.kg.train(data, seed=seed, **options)
        assert model.learned is not None
        found.append(model.learned.best)
        tune.report({"validation": mean(found), "seeds": len(found)})


def best_of(results: Iterable[tune.Result]) -> tune.Result:
    """The trial of the best validation; of equals the first, also when Ray has them otherwise."""
    ended = [one for one in results if "validation" in (one.metrics or {})]
    if not ended:
        raise SystemExit("no trial ended: what Ray printed says why")
    return min(ended, key=lambda one: (-one.metrics["validation"], one.metrics["trial_id"]))


def command(options: dict[str, Any], seed: int) -> str:
    """The command that trains the same."""
    pairs = {**options, "seed": seed}.items()
    words = [word for key, value in pairs for word in ("--set", f"{key}={value}")]
    return shlex.join(["dprl", "train", "kg", *words, "--out", f"runs/best-{seed}"])


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--out", type=Path, default=Path("sweep"), help="a folder")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    given = parser.parse_args(words)
    fixed = {**FIXED, **dict(text.split("=", 1) for text in given.set)}
    run = partial(trial, fixed=fixed, seeds=given.seeds)
    folder = given.out.absolute()
    ray.init(include_dashboard=False)
    if tune.Tuner.can_restore(str(folder)):
        tuner = tune.Tuner.restore(str(folder), trainable=run, resume_errored=True)
    else:
        tuner = tune.Tuner(
            run, param_space=TRIED,
            tune_config=tune.TuneConfig(
                metric="validation", mode="max", num_samples=given.trials
            ),
            run_config=tune.RunConfig(name=folder.name, storage_path=str(folder.parent)),
        )  # fmt: skip
    results = tuner.fit()
    best = best_of(results)
    print(f"best of {len(results)}: validation MRR {best.metrics['validation']:.4f}")
    for seed in given.seeds:
        print(command({**fixed, **best.config}, seed))
    ray.shutdown()


if __name__ == "__main__":
    main()
