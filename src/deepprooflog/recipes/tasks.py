"""The kinds of tasks: each with its options, and how its runs are trained, tested and asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from torch import nn

from deepprooflog.errors import DataError
from deepprooflog.infer.answers.predict import By
from deepprooflog.kg.ground import model as grounded
from deepprooflog.kg.ground.options import GroundedOptions
from deepprooflog.kg.learn.options import GraphOptions
from deepprooflog.kg.model import TASK
from deepprooflog.kg.opening import open_graph_model
from deepprooflog.kg.prove.answers import Answer, Answers
from deepprooflog.kg.readings.rule_table import RuleTable
from deepprooflog.learn.run.folder import RunFolder, open_run
from deepprooflog.logic.program import Program
from deepprooflog.proof.tree import Proof
from deepprooflog.recipes import graph
from deepprooflog.recipes.addition import options as addition_options
from deepprooflog.recipes.addition import query as addition_query
from deepprooflog.recipes.addition import run as addition_run
from deepprooflog.recipes.addition import task as addition
from deepprooflog.recipes.grounded import run as grounded_run
from deepprooflog.recipes.saved_program import GivenScorer, open_program
from deepprooflog.score.model_folder import TASK as PROGRAM


@dataclass(frozen=True)
class EvaluateOptions:
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
    reading: str | None = None
    rules: str | None = None
    progress: bool = True


@dataclass(frozen=True)
class QueryOptions:
    """How a run is asked: by a query, or by the number of a test example."""

    query: str | None = None
    test: int | None = None
    top: int | None = None
    by: str = "answer"
    new: bool = False
    proofs: int = 0
    device: str | None = None
    data: str | None = None
    max_goals: int | None = None  # of graphs: explore so many goals, best first


@runtime_checkable
class ShownAnswer(Protocol):
    """What every kind of answer has."""

    @property
    def bindings(self) -> Mapping[str, str]: ...
    @property
    def probability(self) -> float: ...
    @property
    def proof(self) -> Proof | None: ...


@runtime_checkable
class QueryResult(Protocol):
    """The answers of a query, most probable first."""

    @property
    def answers(self) -> Sequence[ShownAnswer]: ...
    @property
    def notes(self) -> list[str]: ...
    def to_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class TaskKind:
    """One kind of experiment."""

    options: type
    train: Callable[..., dict[str, Any]]
    evaluate: Callable[[RunFolder, EvaluateOptions], tuple[dict[str, Any], Sequence[Answer]]]
    summary: Callable[[Mapping[str, Any]], str]
    query: Callable[[RunFolder, QueryOptions], QueryResult]
    explain: Callable[[RunFolder, QueryOptions], Answers]
    open: Callable[[RunFolder], Any]
    rules: Callable[..., RuleTable] | None = (
        None  # of a run, on a device and data; None: it has none
    )


def task_kind(name: object, file: str) -> TaskKind:
    """The kind of a recipe, by its task's name."""
    found = TASKS.get(str(name))
    if found is None:
        known = " or ".join(f'task = "{task}"' for task in TASKS)
        raise DataError(f"there is no task {name!r}", file=file, hint=known)
    return found


def run_kind(run: RunFolder) -> TaskKind:
    """The kind of a run."""
    task = run.config()["task"]
    if task == PROGRAM:
        raise DataError(
            "the saved model of a program, which is asked in Python", file=str(run.path),
            hint="dpl.load(folder, networks={...}); its program is in config.json",
        )  # fmt: skip
    if task not in TASKS:
        raise DataError(
            f"a run of the task {task!r}, which is unknown", file=str(run.path),
            hint=f"known are {', '.join(TASKS)}",
        )  # fmt: skip
    return TASKS[task]


def load(
    folder: str | Path,
    *,
    prior: object = None,
    networks: Mapping[str, nn.Module] | None = None,
    scorer: GivenScorer | None = None,
    program: Program | None = None,
) -> Any:
    """What was trained into a folder or saved: a `GraphModel` of a graph, a `Model` of a program.

    Numbers and text are read, and no code: a `prior` that is a module of one's own, or a PyKEEN
    model without a counterpart here, is given again, and gets the weights that the folder keeps.
    So are the `networks` of a program's model, and its `scorer`, which may be a function of the
    program. `program` takes the place of the text that was saved.
    """
    run = open_run(Path(folder))
    if run.config()["task"] == PROGRAM:
        if prior is not None:
            raise DataError("a program's model has no prior", file=str(folder), hint="networks={}")
        return open_program(run, networks, scorer, program)
    if not (networks is None and scorer is None and program is None):
        raise DataError(
            "networks, scorer and program are given to models that Model.save wrote",
            file=str(folder), hint="dpl.load(folder)",
        )  # fmt: skip
    if prior is None:
        return run_kind(run).open(run)
    return open_graph_model(run, prior=prior)


def _evaluate_addition(
    run: RunFolder, asked: EvaluateOptions
) -> tuple[dict[str, Any], Sequence[Answer]]:
    """Sums and digits of the test pictures."""
    of_ranks = (
        asked.protocol, asked.negatives, asked.candidates, asked.domains, asked.sides,
        asked.reading, asked.rules,
    )  # fmt: skip
    if asked.proofs or any(value is not None for value in of_ranks):
        raise DataError(
            "sums are not ranked: there are no protocol, no negatives, no candidates, no sides and "
            "no proofs of ranks",
            hint="dprl evaluate RUN",
        )
    began = time.perf_counter()
    config = run.config()
    found = addition_run.evaluate(run, asked.device, asked.data)
    result = {
        "recipe": config["recipe"], "n": config["options"]["n"], **asdict(found),
        "seconds": round(time.perf_counter() - began, 3),
    }  # fmt: skip
    return result, ()


def _query_addition(run: RunFolder, asked: QueryOptions) -> addition_query.SumAnswers:
    """A goal over named pictures, or a test sum."""
    if asked.max_goals is not None:
        raise DataError(
            "sums are answered exactly: there are no goals to count", file=str(run.path),
            hint="leave --max-goals out",
        )  # fmt: skip
    text = asked.query
    if text is None:
        assert asked.test is not None
        text = addition_query.test_sum(run, asked.test)
    return addition_query.ask(
        run, text, top=asked.top or 1, by=cast("By", asked.by), device=asked.device,
        data=asked.data,
    )  # fmt: skip


def _explain_addition(run: RunFolder, asked: QueryOptions) -> Answers:
    raise DataError(
        f"a run of {addition.TASK}: only triples of a graph are explained so", file=str(run.path),
        hint="dprl query RUN QUERY --proof",
    )  # fmt: skip


TASKS: Mapping[str, TaskKind] = {
    addition.TASK: TaskKind(
        addition_options.AdditionOptions, addition_run.train, _evaluate_addition,
        addition_run.summary, _query_addition, _explain_addition,
        lambda run: addition_run.trained(run)[0].eval(),
    ),
    TASK: TaskKind(
        GraphOptions, graph.train, graph.evaluate, graph.summary, graph.query, graph.explain,
        open_graph_model, lambda run, **where: open_graph_model(run, **where).rule_table(),
    ),
    grounded.TASK: TaskKind(
        GroundedOptions, grounded_run.train, grounded_run.evaluate, grounded_run.summary,
        grounded_run.query, grounded_run.explain, grounded.open_grounded,
        lambda run, **where: grounded.open_grounded(run, **where).rule_table(),
    ),
}  # fmt: skip
