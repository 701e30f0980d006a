"""Trackers are told what metrics.jsonl and result.json say.

TensorBoard's files are read by TensorBoard. Neither Weights & Biases nor MLflow is among the tests'
tools: modules with the calls of theirs that are used stand in for them, and refuse what they do.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import deepprooflog as dpl
from deepprooflog.cli import main
from deepprooflog.errors import DataError, ModelError
from deepprooflog.learn.run.track import TrackedRun, tracked
from deepprooflog.recipes.addition import run as addition
from deepprooflog.recipes.graph import train

SMALL = {
    "data": "village", "prior": "none", "exact.steps": 4, "exact.validate_every": 2,
    "exact.batch": 8, "exact.negatives": 2, "search.nesting": 1, "policy.dimension": 4,
    "evaluation.validation_size": 6, "evaluation.test_size": 6, "threads": 1,
}  # fmt: skip


class FakeWandb:
    """wandb.init(project, name, id, resume, config).log(values, step), .summary, .finish."""

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}
        self.rows: list[tuple[int, dict[str, float]]] = []
        self.summary: dict[str, float] = {}
        self.ended: list[int] = []

    def init(
        self, *, project: str, name: str, id: str | None, resume: str, config: dict[str, Any]
    ) -> FakeWandb:
        self.given = {"project": project, "name": name, "id": id, "resume": resume, **config}
        return self

    def log(self, values: dict[str, float], *, step: int) -> None:
        assert not self.rows or step > self.rows[-1][0]  # W&B drops what is not
        self.rows.append((step, values))

    def finish(self, *, exit_code: int) -> None:
        self.ended.append(exit_code)


class FakeMlflow:
    """mlflow.set_experiment, start_run, log_params, log_metrics, end_run."""

    NAME = re.compile(r"[\w\-. /:]+")  # what MLflow takes for a name

    def __init__(self) -> None:
        self.experiment, self.status = "", ""
        self.active: str | None = None
        self.params: dict[str, str] = {}
        self.metrics: list[tuple[int | None, dict[str, float]]] = []

    def set_experiment(self, name: str) -> None:
        self.experiment = name

    def start_run(self, *, run_name: str) -> None:
        assert self.active is None
        self.active = run_name

    def log_params(self, params: dict[str, str]) -> None:
        assert len(params) <= 100
        assert all(len(v) <= 500 for v in params.values())
        assert not params.keys() & self.params.keys()
        self.params |= params

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        assert self.active is not None
        assert all(self.NAME.fullmatch(name) for name in metrics)
        self.metrics.append((step, metrics))

    def end_run(self, *, status: str) -> None:
        self.active, self.status = None, status


def rows_of(run: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def without_step(row: dict[str, float]) -> dict[str, float]:
    return {key: value for key, value in row.items() if key != "step"}


def test_weights_and_biases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeWandb()
    monkeypatch.setitem(sys.modules, "wandb", fake)
    monkeypatch.setenv("WANDB_PROJECT", "mine")
    result = train("kg", {**SMALL, "track": "wandb"}, tmp_path / "run", progress=False)
    rows = rows_of(tmp_path / "run")
    assert [step for step, _ in fake.rows] == [2, 4] == [row["step"] for row in rows]
    assert [values for _, values in fake.rows] == [without_step(row) for row in rows]
    assert fake.given["project"] == "mine"
    assert (fake.given["name"], fake.given["exact.steps"]) == ("run", 4)
    assert fake.summary["test/mrr"] == result["test"]["mrr"]
    assert fake.summary["test/hits@1"] == result["test"]["hits@1"]
    assert fake.ended == [0]


def test_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeMlflow()
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    out = tmp_path / "run"
    assert main(["train", "kg", "--out", str(out), "--json", "--set", "track=mlflow",
                 *(f"--set={k}={v}" for k, v in SMALL.items())]) == 0  # fmt: skip
    result = json.loads((out / "result.json").read_text())
    *steps, last = fake.metrics
    assert steps == [(row["step"], without_step(row)) for row in rows_of(out)]
    assert last[1]["test/hits_at_10"] == result["test"]["hits@10"]
    assert (fake.experiment, fake.status) == ("deepprooflog", "FINISHED")
    assert fake.params["prior.kind"] == "none"


def test_tensorboard(tmp_path: Path) -> None:
    events = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="tensorboard is not installed",
    )
    out = tmp_path / "run"
    given = {"n": 1, "sums": 12, "training.epochs": 2, "training.batch": 4, "augment": "none"}
    result = addition.train(
        "digits-addition", {**given, "track": "tensorboard"}, out, progress=False
    )
    found = events.EventAccumulator(str(out / "tensorboard")).Reload()
    rows = rows_of(out)
    told = [(e.step, e.value) for e in found.Scalars("loss")]
    assert told == [(row["step"], pytest.approx(row["loss"], rel=1e-6)) for row in rows]
    (last,) = found.Scalars("test/digit_accuracy")
    assert last.value == pytest.approx(result["digit_accuracy"])


def test_a_callback_gets_each_row() -> None:
    rows: list[dict[str, float]] = []
    triples = [(f"p{i}", "parent", f"p{i + 1}") for i in range(6)]
    grans = [(f"p{i}", "gran", f"p{i + 2}") for i in range(5)]
    dpl.kg.train(
        dpl.kg.load([*triples, *grans[:3]], valid=grans[3:]),
        "gran(X, Z) :- parent(X, Y), parent(Y, Z).", prior="none", callback=rows.append,
        exact={"steps": 3, "validate_every": 1}, threads=1,
    )  # fmt: skip
    assert [row["step"] for row in rows] == [1, 2, 3]
    assert all("validation" in row for row in rows)


def test_a_run_that_fails_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeMlflow()
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    with pytest.raises(KeyboardInterrupt), tracked("mlflow", TrackedRun("x", {"a": "y" * 900})):
        raise KeyboardInterrupt
    assert fake.status == "FAILED"


def test_what_is_not_installed_is_said_before_anything_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    arguments = ["train", "kg", "--out", str(tmp_path / "run"), "--set", "track=wandb"]
    assert main(arguments) == 2
    assert "wandb is not installed" in (told := capsys.readouterr().err)
    assert "pip install wandb" in told
    assert not (tmp_path / "run").exists()
    with (
        pytest.raises(ModelError, match="wandb is not installed"),
        tracked("wandb", TrackedRun("x", {})),
    ):
        pass
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace())
    with (
        pytest.raises(DataError, match="writes into a run's folder"),
        tracked("tensorboard", TrackedRun("x", {})),
    ):
        pass


def test_a_tracker_that_cannot_begin_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where MLflow finds no store: its own error is the message."""

    def refuse(_: object) -> None:
        raise RuntimeError("no store")

    monkeypatch.setitem(sys.modules, "mlflow", SimpleNamespace(set_experiment=refuse))
    with (
        pytest.raises(ModelError, match="mlflow cannot begin: no store"),
        tracked("mlflow", TrackedRun("mine", {})),
    ):
        pass
