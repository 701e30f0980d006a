"""Knowledge-graph runs as `dprl` trains, tests and asks them."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from deepprooflog.errors import DataError
from deepprooflog.kg.data.rules import read_rules
from deepprooflog.kg.data.snapshot import Snapshot
from deepprooflog.kg.evaluation.ranking import Protocol
from deepprooflog.kg.evaluation.report import table
from deepprooflog.kg.learn.setup import read_sources, with_mined
from deepprooflog.kg.model import TASK
from deepprooflog.kg.opening import open_graph_model
from deepprooflog.kg.prove.answers import Answer, Answers
from deepprooflog.kg.readings.evaluate import POLICY
from deepprooflog.kg.training import check_options, train_model
from deepprooflog.learn.run.folder import RunFolder
from deepprooflog.learn.run.processes import processes, refuse_several
from deepprooflog.recipes.begin import begin

if TYPE_CHECKING:
    from deepprooflog.recipes.tasks import EvaluateOptions, QueryOptions


from deepprooflog.kg.learn.options import GraphOptions
from deepprooflog.recipes.recipe import Recipe, resolve_options


def resolve(
    recipe: Recipe, given: Mapping[str, object], kept: Mapping[str, object] | None = None
) -> GraphOptions:
    """A recipe's options, then those that a run kept, then those given.

    >>> from deepprooflog.recipes.recipe import read_recipe
    >>> resolve(read_recipe("family-rotate"), {"prior.lr": "0.1"}).prior.kind
    'rotate'
    """
    return resolve_options(GraphOptions, recipe, given, kept)


# What a resumed run may be given anew: where it runs, not what it computes.
PLACES = ("device", "threads", "track", "evaluation.test_size")


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

    def check(options: GraphOptions) -> None:
        read.append(read_sources(options))
        check_options(options, read[0])

    def sources() -> Snapshot:
        return with_mined(read[0] if read else read_sources(options), options, progress)

    with begin(
        recipe, given, out, resume, task=TASK, resolve=resolve, check=check, places=PLACES
    ) as (options, run):
        if resume and run.result.exists():
            return run.read_result()
        model = train_model(options, sources, run, recipe=recipe, progress=progress)
        return dict(model.result)


def evaluate(run: RunFolder, asked: EvaluateOptions) -> tuple[dict[str, Any], Sequence[Answer]]:
    """Processes of the test triples, and where proofs are asked for, the answer of each."""
    began = time.perf_counter()
    given = {"candidates": asked.candidates, "domains": asked.domains, "sides": asked.sides}
    ranked = {key: value for key, value in given.items() if value is not None}
    model = open_graph_model(run, device=asked.device, data=asked.data, ranked=ranked)
    here, hint = processes(), "the same folder on every machine"
    if here.several:
        if asked.reading not in (None, POLICY):
            refuse_several("the reading of rules", "no torchrun")
        here.agree("graph or rules", replace(model.kept, graph=model.graph).digest(), hint)
        here.agree_on_weights(model.prover, hint)
        if model.walks is not None:
            here.agree_on_weights(model.walks.model, hint)
    protocol = cast("Protocol | None", asked.protocol)
    figures = model.evaluate(
        protocol, asked.negatives, reading=asked.reading or POLICY,
        rules=None if asked.rules is None else read_rules(asked.rules),
        seed=asked.seed or 0, progress=asked.progress,
    )  # fmt: skip
    answers = model.explain_tests(asked.proofs) if asked.proofs else []
    result = figures.to_dict()
    if asked.proofs:
        result["proofs"] = [one.to_dict() for one in answers]
    return {**result, "seconds": round(time.perf_counter() - began, 3)}, answers


def query(run: RunFolder, asked: QueryOptions) -> Answers:
    """The most probable answers of a triple with variables."""
    if asked.query is None or asked.by != "answer":
        raise DataError(
            "a graph is asked by a query, and answers by their probability",
            hint="dprl query RUN 'uncle(X, 2252)' --top 10",
        )
    began = time.perf_counter()
    model = open_graph_model(run, device=asked.device, data=asked.data)
    answers = model.query(
        asked.query, asked.top or 10, proofs=asked.proofs, new=asked.new,
        max_goals=asked.max_goals,
    )  # fmt: skip
    return replace(answers, seconds=round(time.perf_counter() - began, 3))


def explain(run: RunFolder, asked: QueryOptions) -> Answers:
    """Why a ground triple is held true."""
    assert asked.query is not None
    began = time.perf_counter()
    model = open_graph_model(run, device=asked.device, data=asked.data)
    if model.is_open(asked.query):
        raise DataError(
            f"{asked.query} is open", hint=shlex.join(["dprl", "query", str(run.path), asked.query])
        )
    answers = model.query(asked.query, 1, proofs=asked.proofs, max_goals=asked.max_goals)
    return replace(answers, seconds=round(time.perf_counter() - began, 3))


def summary(result: Mapping[str, Any]) -> str:
    """The figures for people, and what they took."""
    test = result.get("test", result)
    seconds = result["seconds"]
    total = seconds["total"] if isinstance(seconds, dict) else seconds
    if "reading" in test:
        goals = f"rules {test['rules']:,}; "
    else:
        goals = f"goals evaluated {test['goals']:,}; " if "goals" in test else ""
    lines = [table(test), f"{goals}seconds {total}"]
    if test.get("cut"):
        lines.append(
            f"{test['cut']:,} goals were left open by the limits: p_success is a lower bound"
        )
    return "\n".join(lines)
