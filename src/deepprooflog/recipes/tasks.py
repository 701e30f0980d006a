"""What a recipe's task is made of: its options, how it is trained and how it is tested."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from deepprooflog.errors import DataError
from deepprooflog.kg.options import GraphOptions
from deepprooflog.kg.ranking import Protocol
from deepprooflog.recipes import (
    addition,
    addition_options,
    addition_run,
    kg,
    kg_evaluate,
    kg_query,
    kg_run,
)
from deepprooflog.recipes.folder import RunFolder


@dataclass(frozen=True)
class Asked:
    """How a run is to be tested; None leaves it as the run has it."""

    device: str | None = None
    data: str | None = None
    protocol: str | None = None
    negatives: int | None = None
    seed: int | None = None
    candidates: str | None = None
    domains: str | None = None
    sides: str | None = None
    proofs: int = 0
    progress: bool = True


@dataclass(frozen=True)
class TaskKind:
    """One kind of experiment."""

    options: type
    train: Callable[..., dict[str, Any]]
    evaluate: Callable[[RunFolder, Asked], dict[str, Any]]
    summary: Callable[[Mapping[str, Any]], str]


def task_kind(name: object, file: str) -> TaskKind:
    """The kind of a recipe or a run, by its task's name."""
    found = TASKS.get(str(name))
    if found is None:
        known = " or ".join(f'task = "{task}"' for task in TASKS)
        raise DataError(f"there is no task {name!r}", file=file, hint=known)
    return found


def evaluate_addition(run: RunFolder, asked: Asked) -> dict[str, Any]:
    """Sums and digits of the test pictures."""
    of_ranks = (asked.protocol, asked.negatives, asked.candidates, asked.domains, asked.sides)
    if asked.proofs or any(value is not None for value in of_ranks):
        raise DataError(
            "sums are not ranked: there are no protocol, no negatives, no candidates, no sides and "
            "no proofs of ranks",
            hint="dprl evaluate RUN",
        )
    began = time.perf_counter()
    config = run.config()
    found = addition_run.evaluate(run, asked.device, asked.data)
    return {
        "recipe": config["recipe"], "n": config["options"]["n"], **asdict(found),
        "seconds": round(time.perf_counter() - began, 3),
    }  # fmt: skip


def evaluate_graph(run: RunFolder, asked: Asked) -> dict[str, Any]:
    """Ranks of the test triples."""
    began = time.perf_counter()
    given = {"candidates": asked.candidates, "domains": asked.domains, "sides": asked.sides}
    ranked = {key: value for key, value in given.items() if value is not None}
    options, task, prover = kg_run.trained_prover(run, asked.device, asked.data, ranked)
    protocol = cast("Protocol", asked.protocol) or kg_evaluate.default_protocol(task)
    if protocol == "full" and asked.negatives is not None:
        whose = options.candidates or "entities"
        raise DataError(f"under the protocol full all {whose} are negatives", hint="leave one out")
    found = kg_evaluate.evaluate(
        options, task, prover, asked.progress, protocol=protocol,
        negatives=100 if asked.negatives is None else asked.negatives, seed=asked.seed or 0,
    )  # fmt: skip
    if asked.proofs:
        found["proofs"] = kg_query.proofs_of(
            prover, task, kg_evaluate.queries_of(options, task), asked.proofs
        )
    return {**found, "seconds": round(time.perf_counter() - began, 3)}


TASKS: Mapping[str, TaskKind] = {
    addition.TASK: TaskKind(
        addition_options.AdditionOptions, addition_run.train, evaluate_addition,
        addition_run.summary,
    ),
    kg.TASK: TaskKind(GraphOptions, kg_run.train, evaluate_graph, kg_evaluate.summary),
}  # fmt: skip
