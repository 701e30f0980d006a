"""Runs over ground rules as `dprl` trains, tests and asks them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from deepprooflog.device import find_device
from deepprooflog.errors import DataError
from deepprooflog.kg.data.snapshot import Snapshot, snapshot_of
from deepprooflog.kg.evaluation.ranking import Protocol
from deepprooflog.kg.evaluation.report import table
from deepprooflog.kg.ground.ground_rule import ground_rules
from deepprooflog.kg.ground.model import TASK, open_grounded, train_grounded
from deepprooflog.kg.ground.options import GroundedOptions
from deepprooflog.kg.learn.prior import other_prior
from deepprooflog.kg.learn.setup import candidates_of, read_sources, with_mined
from deepprooflog.kg.prove.answers import Answer, Answers
from deepprooflog.learn.run.folder import RunFolder
from deepprooflog.learn.run.processes import processes
from deepprooflog.recipes.begin import begin
from deepprooflog.recipes.graph import PLACES
from deepprooflog.recipes.recipe import resolve_options

if TYPE_CHECKING:
    from deepprooflog.recipes.tasks import EvaluateOptions, QueryOptions


def train(
    recipe: str,
    given: Mapping[str, object],
    out: Path,
    *,
    resume: bool = False,
    progress: bool = True,
) -> dict[str, Any]:
    """Train a recipe into a folder; what stands in its result.json."""
    read: list[Snapshot] = []  # what is checked is what the run begins with

    def check(options: GroundedOptions) -> None:
        find_device(options.device)
        read.append(sources(options))
        _check(options, read[0])

    def sources(options: GroundedOptions) -> Snapshot:
        return with_mined(read_sources(options), options, progress)

    with begin(
        recipe, given, out, resume, task=TASK, resolve=partial(resolve_options, GroundedOptions),
        check=check, places=PLACES,
    ) as (options, run):  # fmt: skip
        if resume and run.result.exists():
            return run.read_result()
        model = train_grounded(
            options,
            lambda: read[0] if read else sources(options),
            run,
            recipe=recipe,
            progress=progress,
        )
        return dict(model.result)


def _check(options: GroundedOptions, kept: Snapshot) -> None:
    """Refuse what cannot run before a folder is made for it."""
    ground_rules(kept.graph, kept.rules)
    candidates_of(options, kept.graph, kept.domains)
    if options.prior.from_run:
        other_prior(options, kept.graph)


def evaluate(run: RunFolder, asked: EvaluateOptions) -> tuple[dict[str, Any], Sequence[Answer]]:
    """Processes of the test triples."""
    began = time.perf_counter()
    if asked.proofs or any(v is not None for v in (asked.candidates, asked.domains, asked.sides)):
        raise DataError(
            "a system over groundings has no proofs, and ranks among the run's own candidates",
            file=str(run.path), hint="dprl evaluate RUN --negatives 100",
        )  # fmt: skip
    model = open_grounded(run, device=asked.device, data=asked.data)
    here, hint = processes(), "the same folder on every machine"
    if here.several:
        here.agree("graph or rules", snapshot_of(model.graph, model.rules, None).digest(), hint)
        here.agree_on_weights(model.reasoner, hint)
    protocol = cast("Protocol | None", asked.protocol)
    found = model.evaluate(protocol, asked.negatives, seed=asked.seed or 0, progress=asked.progress)
    return {**found.to_dict(), "seconds": round(time.perf_counter() - began, 3)}, ()


def query(run: RunFolder, asked: QueryOptions) -> Answers:
    """The most probable answers of a triple with a variable."""
    _refuse_budget(run, asked)
    if asked.query is None or asked.by != "answer" or asked.new:
        raise DataError(
            "a system over groundings is asked by a query, and answers by probability",
            file=str(run.path), hint="dprl query RUN 'uncle(X, 2252)' --top 10",
        )  # fmt: skip
    began = time.perf_counter()
    model = open_grounded(run, device=asked.device, data=asked.data)
    answers = model.query(asked.query, asked.top or 10)
    return replace(answers, seconds=round(time.perf_counter() - began, 3))


def _refuse_budget(run: RunFolder, asked: QueryOptions) -> None:
    if asked.max_goals is not None:
        raise DataError(
            "a system over groundings has no goals to count", file=str(run.path),
            hint="leave --max-goals out",
        )  # fmt: skip


def explain(run: RunFolder, asked: QueryOptions) -> Answers:
    """How much of a triple's score the groundings give, and proofs by the same rules."""
    assert asked.query is not None
    _refuse_budget(run, asked)
    model = open_grounded(run, device=asked.device, data=asked.data)
    return model.explain(asked.query, asked.proofs)


def summary(result: Mapping[str, Any]) -> str:
    """The figures for people, and what they took."""
    test, seconds = result.get("test", result), result["seconds"]
    total = seconds["total"] if isinstance(seconds, dict) else seconds
    return f"{table(test)}\ngroundings {test['groundings']:,}; seconds {total}"
