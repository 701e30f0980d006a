"""Runs of before there were sections: their flat options open, evaluate and resume as ever."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest

from deepprooflog.errors import DataError
from deepprooflog.learn.run.folder import open_run
from deepprooflog.recipes import graph as kg_run
from deepprooflog.recipes.addition import run as addition_run
from deepprooflog.recipes.tasks import EvaluateOptions
from fuzz.small_runs import small_runs

FLAT: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "values_before.json").read_text(encoding="utf-8")
)["defaults"]
VILLAGE = {
    "prior_dimension": 2, "prior_steps": 4, "prior_batch": 64, "steps": 2, "look": 1, "batch": 4,
    "negatives": 1, "nesting": 1, "looked_at": 4, "test": 2, "dimension": 2, "threads": 1,
}  # fmt: skip
DIGITS = {
    "n": 1, "data": "digits", "sums": 12, "epochs": 2, "batch": 4, "average": 0.9, "lr": 0.005,
    "augment": "none", "threads": 1,
}  # fmt: skip


@pytest.fixture
def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A run whose config.json is as an earlier version wrote it."""
    pytest.importorskip("sklearn", reason="scikit-learn brings the 8 × 8 digits")
    task, own = request.param
    run = {"kg": "village", "mnist-addition": "digits"}[task]
    (folder,) = [r.folder for r in small_runs() if r.name == run]
    shutil.copytree(folder, tmp_path / "run")
    config = open_run(tmp_path / "run").config()
    config["options"] = {**FLAT[task], **own}
    open_run(tmp_path / "run").write_json("config.json", config)
    return tmp_path / "run"


@pytest.mark.parametrize("earlier", [("kg", VILLAGE)], indirect=True, ids=["kg"])
def test_a_graph_run(earlier: Path) -> None:
    run = open_run(earlier)
    kept = run.read_result()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, _ = kg_run.evaluate(run, EvaluateOptions(progress=False))
        again = kg_run.train("kg", {}, earlier, resume=True, progress=False)
    assert found["mrr"] == kept["test"]["mrr"]
    assert again == kept
    with pytest.raises(DataError, match=r"the run has search\.nesting=1, not 2"):
        kg_run.train("kg", {"search.nesting": 2}, earlier, resume=True, progress=False)


@pytest.mark.parametrize("earlier", [("mnist-addition", DIGITS)], indirect=True, ids=["digits"])
def test_an_addition_run(earlier: Path) -> None:
    run = open_run(earlier)
    kept = run.read_result()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = addition_run.evaluate(run)
        again = addition_run.train("digits-addition", {}, earlier, resume=True, progress=False)
    assert found.sum_accuracy == kept["sum_accuracy"]
    assert again == kept
    with pytest.raises(DataError, match=r"the run has training\.batch=4, not 5"):
        addition_run.train("digits-addition", {"batch": 5}, earlier, resume=True, progress=False)
