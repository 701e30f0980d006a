"""Runs by their kind: what is opened of one, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from deepprooflog.errors import DataError
from deepprooflog.kg.model import GraphModel
from deepprooflog.learn.run.folder import open_run
from deepprooflog.recipes.addition.task import TASK as ADDITION
from deepprooflog.recipes.tasks import load
from deepprooflog.serve.graph_asks import GRAPH_ASKS, GraphSubject
from deepprooflog.serve.source import Source
from deepprooflog.serve.sum_asks import SUM_ASKS, SumsSubject


def open_run_model(source: Source) -> GraphModel | None:
    """The model of a graph run; None of an addition run, which is asked by its folder.

    Other runs are refused.
    """
    assert source.path is not None
    if open_run(Path(source.path)).config()["task"] == ADDITION:
        return None
    model = load(source.path)
    if not isinstance(model, GraphModel):
        raise DataError(
            f"a {type(model).__name__}: the explorer shows runs of graphs and of addition",
            file=source.path, hint="dprl query RUN QUERY and dprl rules RUN ask it",
        )  # fmt: skip
    return model


def subject_of(source: Source, model: GraphModel | None) -> GraphSubject | SumsSubject:
    """What is asked about: the run with the facts that the session has changed."""
    return SumsSubject.of(source) if model is None else GraphSubject(source, model)


def asks_of(subject: GraphSubject | SumsSubject) -> Mapping[str, Callable[..., dict[str, Any]]]:
    """The asks that a subject answers, by name."""
    return SUM_ASKS if isinstance(subject, SumsSubject) else GRAPH_ASKS
