"""A sweep by Optuna: options of graph training, each tried with several seeds, in one SQLite file.

    pip install 'deepprooflog[sweep]'
    python optuna_graph.py --study sweep.db --trials 20 --set data=village

The same command once more goes on with the study, or helps a worker that has begun it. A trial's
value is the mean over seeds of the validation MRR of the best weights; no test triple is ranked.
"""

from __future__ import annotations

import argparse
import shlex
from statistics import mean
from typing import Any

import optuna
from optuna.study import MaxTrialsCallback
from optuna.trial import TrialState

import deepprooflog as dpl

# What all trials have, as `dprl train kg --set` has it, unless --set says otherwise.
FIXED = {"data": "village", "prior": "distmult", "prior.steps": "200", "learner": "exact",
         "exact.steps": "50", "threads": "1"}  # fmt: skip
ENDED = (TrialState.COMPLETE, TrialState.PRUNED)


def suggested(trial: optuna.Trial) -> dict[str, Any]:
    """What is tried: any options by their names."""
    return {
        "prior.dimension": trial.suggest_categorical("prior.dimension", [16, 32, 64]),
        "prior.lr": trial.suggest_float("prior.lr", 1e-3, 1e-1, log=True),
        "exact.lr": trial.suggest_float("exact.lr", 1e-4, 1e-2, log=True),
        "exact.entropy": trial.suggest_float("exact.entropy", 0.0, 0.1),
        "search.nesting": trial.suggest_int("search.nesting", 1, 2),
    }


def validation(trial: optuna.Trial, fixed: dict[str, Any], seeds: list[int]) -> float:
    """Train with each seed; a trial whose first seeds are below the median ends there."""
    options, found = {**fixed, **suggested(trial)}, list[float]()
    data = options.pop("data")
    for number, seed in enumerate(seeds):
        model = dpl.kg.train(data, seed=seed, **options)
        assert model.learned is not None
        found.append(model.learned.best)
        trial.set_user_attr(f"seed {seed}", found[-1])
        trial.report(mean(found), number)
        if trial.should_prune():
            raise optuna.TrialPruned
    return mean(found)


def command(options: dict[str, Any], seed: int) -> str:
    """The command that trains the same."""
    pairs = {**options, "seed": seed}.items()
    words = [word for key, value in pairs for word in ("--set", f"{key}={value}")]
    return shlex.join(["dprl", "train", "kg", *words, "--out", f"runs/best-{seed}"])


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--study", default="sweep.db", help="a file; begun where there is none")
    parser.add_argument("--trials", type=int, default=20, help="trials of all workers together")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    given = parser.parse_args(words)
    fixed = {**FIXED, **dict(text.split("=", 1) for text in given.set)}
    study = optuna.create_study(
        study_name="graph", storage=f"sqlite:///{given.study}", direction="maximize",
        load_if_exists=True,
    )  # fmt: skip
    # A trial whose worker was stopped or killed never ends: another takes its place.
    if len(study.get_trials(states=ENDED)) < given.trials:
        study.optimize(
            lambda trial: validation(trial, fixed, given.seeds),
            callbacks=[MaxTrialsCallback(given.trials, states=ENDED)],
        )
    best = study.best_trial
    print(f"best of {len(study.get_trials(states=ENDED))}: trial {best.number}, "
          f"validation MRR {best.value:.4f} {best.user_attrs}")  # fmt: skip
    for seed in given.seeds:
        print(command({**fixed, **best.params}, seed))


if __name__ == "__main__":
    main()
