"""The sweeps of examples/sweeps: run on a small graph, interrupted, gone on with, repeated."""

from __future__ import annotations

import importlib.util
import json
import shlex
from itertools import pairwise
from pathlib import Path
from statistics import mean
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import deepprooflog as dpl
from deepprooflog.cli import main

FOLDER = Path(__file__).parents[1] / "examples" / "sweeps"
SMALL = ["prior.steps=4", "prior.batch=16", "exact.steps=2", "exact.validate_every=1",
         "exact.batch=4", "exact.negatives=2", "policy.dimension=4",
         "belief.shift=false"]  # fmt: skip


def example(name: str, needs: str) -> ModuleType:
    """An example as a module; skipped by name where its tool is absent."""
    pytest.importorskip(needs, reason=f"{needs} is not installed")
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six lines of five women each, some of whose grandmothers are held out."""
    folder = tmp_path_factory.mktemp("lines")
    splits: dict[str, list[str]] = {"train": [], "valid": [], "test": []}
    for line in range(6):
        names = [f"w{line}_{n}" for n in range(5)]
        splits["train"] += [f"{a}\tmother\t{b}" for a, b in pairwise(names)]
        splits["train"].append(f"{names[0]}\tgran\t{names[2]}")
        splits["valid"].append(f"{names[1]}\tgran\t{names[3]}")
        splits["test"].append(f"{names[2]}\tgran\t{names[4]}")
    for name, rows in splits.items():
        (folder / f"{name}.txt").write_text("\n".join(rows) + "\n")
    (folder / "rules.pl").write_text("gran(X, Y) :- mother(X, Z), mother(Z, Y).\n")
    return folder


def words(data: Path, *more: str) -> list[str]:
    settings = [f"data={data}", f"rules={data / 'rules.pl'}", *SMALL]
    return [*more, *(word for text in settings for word in ("--set", text))]


def test_a_study_is_interrupted_and_gone_on_with(
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Ctrl-C in the third training; then the same command ends the study's trials, all kept."""
    sweep, train = example("optuna_graph", "optuna"), dpl.kg.train
    trained: list[dict[str, Any]] = []

    def interrupted(*args: Any, **options: Any) -> Any:
        if len(trained) == 2:
            raise KeyboardInterrupt
        trained.append(options)
        return train(*args, **options)

    file = tmp_path / "sweep.db"
    asked = words(data, "--study", str(file), "--trials", "3", "--seeds", "0", "3")
    monkeypatch.setattr(dpl.kg, "train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sweep.main(asked)
    monkeypatch.setattr(dpl.kg, "train", train)
    assert [options["seed"] for options in trained] == [0, 3]
    before = sweep.optuna.load_study(study_name="graph", storage=f"sqlite:///{file}")
    done = before.get_trials(states=sweep.ENDED)
    assert len(done) == 1

    capsys.readouterr()
    sweep.main(asked)
    study = sweep.optuna.load_study(study_name="graph", storage=f"sqlite:///{file}")
    ended = study.get_trials(states=sweep.ENDED)
    assert len(ended) == 3 and ended[0].value == done[0].value
    assert {"prior.dimension", "prior.lr", "exact.lr"} <= set(ended[0].params)
    seeds = study.best_trial.user_attrs
    assert study.best_value == pytest.approx(mean(seeds.values()))

    # The printed command, in a folder of its own, gets the validation that the trial had.
    printed = capsys.readouterr().out.splitlines()
    command = shlex.split(next(line for line in printed if "seed=3" in line))
    assert command[:3] == ["dprl", "train", "kg"]
    out = tmp_path / "best"
    assert main([*command[1:-1], str(out)]) == 0
    result = json.loads((out / "result.json").read_text())
    assert result["validation"] == pytest.approx(seeds["seed 3"], abs=1e-6)


def test_no_test_triple_is_ranked(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a trial's value is made of: the best look at the validation triples."""
    rows: list[dict[str, float]] = []

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the test triples are ranked")

    monkeypatch.setattr("deepprooflog.kg.evaluation.evaluate.evaluate_prover", refuse)
    monkeypatch.setattr("deepprooflog.kg.model.evaluate_prover", refuse)
    given: dict[str, Any] = dict(text.split("=") for text in SMALL)
    model = dpl.kg.train(str(data), prior="distmult", callback=rows.append, threads=1, **given)
    learned = model.learned
    assert learned is not None and learned.steps == 2 and learned.history == rows
    assert learned.best >= max(row["validation"] for row in rows)
    assert model.with_facts(added=["mother(w0_0, w1_1)"]).learned is None


def test_a_sweep_by_ray(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two trials of two seeds each; asked once more, the sweep is there and nothing is trained."""
    sweep = example("ray_graph", "ray.tune")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    asked = words(data, "--out", str(tmp_path / "sweep"), "--trials", "2")
    sweep.main(asked)
    first = capsys.readouterr().out.splitlines()
    assert any(line.startswith("best of 2: validation MRR ") for line in first)
    assert sum(line.startswith("dprl train kg --set ") for line in first) == 2
    sweep.main(asked)
    again = capsys.readouterr().out.splitlines()
    assert [line for line in first if line[:4] in ("best", "dprl")] == [
        line for line in again if line[:4] in ("best", "dprl")
    ]


def test_the_best_by_ray_is_the_same_however_trials_are_ordered() -> None:
    """Ray has them otherwise when it goes on with a sweep; one that failed has no validation."""
    sweep = example("ray_graph", "ray.tune")
    rows = [{"trial_id": "b_2", "validation": 0.5}, {"trial_id": "b_0", "validation": 0.4},
            {"trial_id": "b_1", "validation": 0.5}, {"trial_id": "b_3"}, None]  # fmt: skip
    for order in (rows, rows[::-1]):
        results = [SimpleNamespace(metrics=row) for row in order]
        assert sweep.best_of(results).metrics["trial_id"] == "b_1"
    with pytest.raises(SystemExit, match="no trial ended"):
        sweep.best_of([SimpleNamespace(metrics=None)])
