"""A knowledge-graph run from beginning to end: prior, calibration, policy, test."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from deepprooflog.errors import DataError
from deepprooflog.kg.exact_learner import train_exact
from deepprooflog.kg.options import NO_PRIOR, GraphOptions
from deepprooflog.kg.prover import Prover
from deepprooflog.learn import checkpoint
from deepprooflog.learn.curves import curves
from deepprooflog.learn.progress import Progress
from deepprooflog.learn.run.loop import Learned
from deepprooflog.recipes.addition import threads
from deepprooflog.recipes.begin import begin
from deepprooflog.recipes.folder import RunFolder
from deepprooflog.recipes.kg import (
    TASK,
    Task,
    device_of,
    make_prover,
    read_task,
    splits,
)
from deepprooflog.recipes.kg_evaluate import evaluate, validation
from deepprooflog.recipes.kg_options import resolve
from deepprooflog.recipes.kg_prior import find_prior, load_prior, other_prior
from deepprooflog.recipes.recipe import read_recipe

# What a resumed run may be given anew: where it runs, not what it computes.
PLACES = ("device", "threads", "evaluation.test_size")
# Queries explored to see how large the goal space is.
GLIMPSE = 64
# Where those have more goals than this, no batch of queries ends.
MOST_GOALS = 2_000_000
# Rules that stand deeper inside one another than this are looked at before anything is trained.
USUAL_NESTING = 3
WATCHED = {"mrr": "mean reciprocal rank", "auc_pr": "AUC-PR"}


def train(
    recipe: str,
    given: Mapping[str, object],
    out: Path,
    *,
    resume: bool = False,
    progress: bool = True,
) -> dict[str, Any]:
    """Train a recipe into a folder; what stands in its result.json."""
    with begin(
        recipe, given, out, resume, task=TASK, resolve=resolve, check=_check, places=PLACES
    ) as (options, run):
        if resume and run.result.exists():
            return run.read_result()
        return _train(recipe, options, run, progress)


def _train(recipe: str, options: GraphOptions, run: RunFolder, progress: bool) -> dict[str, Any]:
    began = time.perf_counter()
    with torch.random.fork_rng(), threads(options.threads):
        torch.manual_seed(options.seed)
        task = read_task(options)
        if progress:
            for notice in task.notices:
                print(notice, file=sys.stderr)
        belief, prior_seconds = find_prior(options, task, run, progress)
        prover = make_prover(options, task, belief, device_of(options))
        learner, size = choose(options, prover, task)
        if progress and learner != "none":
            print(f"learner: {learner} ({size:.0f} goals a query)", file=sys.stderr)
        learned = _learn(options, task, prover, learner, run, progress)
        if learned is not None:
            _record(run, learned, options.watch)
        trained = time.perf_counter() - began
        result = {
            "recipe": recipe, "task": TASK, "data": task.graph.name, "seed": options.seed,
            "learner": learner, "goals_a_query": round(size, 1), "nesting": options.search.nesting,
            "prior": options.prior.kind, "rules": len(task.rules),
            "best_step": None if learned is None else learned.best_step,
            "validation": None if learned is None else round(learned.best, 6),
            "test": evaluate(options, task, prover, progress),
            "seconds": {
                "prior": round(prior_seconds, 3), "train": round(trained, 3),
                "total": round(time.perf_counter() - began, 3),
            },
            "device": str(device_of(options)), "torch": torch.__version__,
        }  # fmt: skip
    run.write_json("result.json", result)
    return result


def _check(options: GraphOptions) -> None:
    """Refuse what cannot run before a folder is made for it."""
    device_of(options)
    task = read_task(options)
    if options.prior.from_run and options.prior.kind != NO_PRIOR:
        other_prior(options, task)
    if options.search.nesting > USUAL_NESTING:
        with torch.random.fork_rng(), threads(options.threads):
            glimpse(options, make_prover(options, task, None, device_of(options)), task)


def glimpse(options: GraphOptions, prover: Prover, task: Task) -> float:
    """How many goals a query has, over a few; more than any batch can hold are refused."""
    _, look = splits(options, task.graph)
    some = torch.from_numpy(look[:GLIMPSE]).to(prover.device)
    layers = prover.explore(prover.goals(some, leave_out=True), most=MOST_GOALS)
    if layers.cut.goals and not options.search.goals:
        raise DataError(
            f"search.nesting={options.search.nesting}: {len(some)} queries have more than "
            f"{MOST_GOALS:,} goals",
            hint="a smaller nesting or depth, or search.goals=N to leave open what is beyond them",
        )
    return layers.size / max(len(some), 1)


def choose(options: GraphOptions, prover: Prover, task: Task) -> tuple[str, float]:
    """The learner, and how many goals a query has: auto learns exactly where they are few."""
    if options.learner == "none":
        return "none", 0.0
    size = glimpse(options, prover, task)
    if options.learner != "auto":
        return options.learner, size
    return ("exact" if size <= options.exact_up_to else "ppo"), size


def _learn(
    options: GraphOptions, task: Task, prover: Prover, learner: str, run: RunFolder, progress: bool
) -> Learned | None:
    if learner == "none":
        return None
    positives, look = splits(options, task.graph, task.candidates)
    validate = validation(options, task, look)
    if learner == "ppo":
        from deepprooflog.recipes.kg_ppo import learn

        return learn(options, task, prover, positives, validate, run, progress)
    asked = options.exact
    bar = Progress(asked.steps)
    bar.live = bar.live and progress
    return train_exact(
        prover, task.graph, positives, asked, validate=validate, path=run.checkpoint, progress=bar,
        on_row=run.append, candidates=task.candidates,
        prover_for=None if task.hiding is None else task.hiding.prover,
    )  # fmt: skip


def _record(run: RunFolder, learned: Learned, watch: str) -> None:
    """The whole history, also of a run that was interrupted, and its curves."""
    run.write_metrics(learned.history)
    lines = {
        key: [(row["step"], row[key]) for row in learned.history if key in row]
        for key in ("loss", "validation")
    }
    panels = {
        "loss": {"training": lines["loss"]},
        WATCHED[watch]: {"validation": lines["validation"]},
    }
    run.write("curves.svg", curves(panels, x_name="step"))


def trained_prover(
    run: RunFolder,
    device: str | None = None,
    data: str | None = None,
    ranked: Mapping[str, str] | None = None,
) -> tuple[GraphOptions, Task, Prover]:
    """The prover of a run with its best policy; `ranked`: other candidates than the run's own."""
    kept = run.config()
    places = {k: v for k, v in (("device", device), ("data", data)) if v is not None}
    places |= ranked or {}
    options = resolve(read_recipe(kept["recipe"]), places, kept["options"])
    task = read_task(options)
    where = device_of(options)
    belief = (
        None
        if options.prior.kind == NO_PRIOR
        else load_prior(run.path / "prior.pt", task.graph, options)
    )
    prover = make_prover(options, task, belief, where)
    if options.learner != "none":
        state = checkpoint.load(run.checkpoint, {"best": dict}, where)
        with checkpoint.fitting(run.checkpoint):
            checkpoint.restore_module(prover.policy, state["best"]["weights"])
    return options, task, prover.eval()
