"""Two processes by torchrun: the figures and weights of one; ranks that die, or do not agree."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from deepprooflog.cli import main
from deepprooflog.kg.data.folder import find_graph
from recipes.process_worker import gradients, questions

WORKER = Path(__file__).with_name("process_worker.py")
SOURCE = Path(__file__).parents[2] / "src"
KG = {
    "data": "village", "learner": "exact", "prior": "rotate", "prior.dimension": 4,
    "prior.steps": 8, "prior.batch": 50, "prior.negatives": 8, "exact.steps": 6,
    "exact.validate_every": 2, "exact.batch": 9, "policy.dimension": 4, "search.nesting": 1,
    "evaluation.validation_size": 6, "evaluation.test_size": 20, "threads": 1, "device": "cpu",
}  # fmt: skip
SUMS = {
    "n": 1, "sums": 30, "training.epochs": 2, "training.batch": 7, "augment": "none",
    "threads": 1, "device": "cpu",
}  # fmt: skip


def words(recipe: str, given: Mapping[str, object], out: Path, *more: str) -> list[str]:
    options = [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
    return ["train", recipe, *options, "--out", str(out), *more]


def torchrun(folder: Path, plan: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
    """The commands of a plan by two processes."""
    file = folder / "plan.json"
    file.write_text(json.dumps(plan))
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [*start, str(WORKER), str(file)], capture_output=True, text=True, timeout=120,
        env=environment,
    )  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs by one process, `one` and `sum`, and by two, `two` and `sums`; an evaluation by each."""
    pytest.importorskip("sklearn", reason="scikit-learn brings the 8 × 8 digits")
    folder = tmp_path_factory.mktemp("processes")
    assert main(words("kg", KG, folder / "one")) == 0
    assert main(words("digits-addition", SUMS, folder / "sum")) == 0
    done = torchrun(folder, {
        "commands": [
            words("kg", KG, folder / "two"),
            words("digits-addition", SUMS, folder / "sums"),
            ["evaluate", str(folder / "one"), "--protocol", "full", "--proofs", "1", "--json"],
        ],
        "results": str(folder / "status.json"), "prover": str(folder / "one"),
        "gradients": str(folder / "gradients.json"),
    })  # fmt: skip
    assert done.returncode == 0, done.stderr
    (folder / "printed").write_text(done.stdout)
    return folder


def same_figures(left: Any, right: Any, most: float = 1e-6) -> bool:
    """Whether two records have the same numbers; how long something took is none of them."""
    if isinstance(left, dict):
        keys = {key for key in left if key != "seconds"}
        assert keys == {key for key in right if key != "seconds"}
        return all(same_figures(left[key], right[key], most) for key in keys)
    if isinstance(left, list):
        pairs = zip(left, right, strict=True)
        return all(same_figures(x, y, most) for x, y in pairs)
    if isinstance(left, float):
        return bool(np.isclose(left, right, rtol=0, atol=most, equal_nan=True))
    return bool(left == right)


def furthest(left: Path, right: Path) -> float:
    """The largest difference of the weights in two files."""
    safetensors = pytest.importorskip("safetensors.torch")
    one, two = (safetensors.load_file(path) for path in (left, right))
    assert one.keys() == two.keys()
    gaps = [(one[k].double() - two[k].double()).abs().max() for k in one if one[k].numel()]
    return float(torch.stack(gaps).max())


def result(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return {key: value for key, value in found.items() if "sha256" not in key}


def test_two_halves_of_a_minibatch_train_as_the_whole(runs: Path) -> None:
    """Prior and policy of a graph: negatives are drawn for the whole batch, odd sizes too."""
    assert furthest(runs / "one" / "prior.safetensors", runs / "two" / "prior.safetensors") < 1e-5
    assert furthest(runs / "one" / "model.safetensors", runs / "two" / "model.safetensors") < 1e-5
    assert same_figures(result(runs / "one")["test"], result(runs / "two")["test"], 1e-5)


def test_sums_train_as_the_whole(runs: Path) -> None:
    assert furthest(runs / "sum" / "model.safetensors", runs / "sums" / "model.safetensors") < 1e-5


def test_the_first_process_alone_writes_and_prints(runs: Path) -> None:
    assert {p.name for p in (runs / "one").iterdir()} == {p.name for p in (runs / "two").iterdir()}
    rows = (runs / "two" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(row)["step"] for row in rows] == [2, 4, 6]
    assert (runs / "printed").read_text().count("p_success") == 1


def test_two_evaluate_as_one(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every figure, counts of goals, depths and proofs included."""
    capsys.readouterr()
    assert (
        main(["evaluate", str(runs / "one"), "--protocol", "full", "--proofs", "1", "--json"]) == 0
    )
    one = json.loads(capsys.readouterr().out)
    (two,) = [line for line in (runs / "printed").read_text().splitlines() if line[:1] == "{"]
    assert same_figures(one, json.loads(two), 1e-6)
    assert one["queries"] == 20


def test_model_and_prover_inside_distributed_data_parallel(runs: Path) -> None:
    """The mean of the gradients of two halves is the gradient of the whole."""
    whole = gradients(*questions(str(runs / "one")))
    halves = json.loads((runs / "gradients.json").read_text())
    for one, two in zip(whole, halves, strict=True):
        assert len(one) == len(two)
        assert any(np.abs(gradient).max() > 1e-4 for gradient in one if gradient is not None)
        for left, right in zip(one, two, strict=True):
            assert (left is None) == (right is None)
            assert left is None or np.allclose(left, right, atol=1e-6)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_killed_process_ends_the_run_which_goes_on(
    runs: Path, tmp_path: Path, processes: int
) -> None:
    """kill -9 of one of two: one message, and any number of processes goes on."""
    out = tmp_path / "run"
    given = {**KG, "prior.from_run": runs / "one"}
    done = torchrun(tmp_path, {"commands": [words("kg", given, out)], "kill": 4})
    assert done.returncode != 0
    assert "another process of this run has ended" in done.stderr or "terminated" in done.stderr
    assert f"train kg --out {out} --resume" in done.stderr
    assert not (out / "result.json").exists()
    again = words("kg", {}, out, "--resume")
    if processes == 1:
        assert main(again) == 0
    else:
        done = torchrun(tmp_path, {"commands": [again]})
        assert done.returncode == 0, done.stderr
    assert furthest(runs / "one" / "model.safetensors", out / "model.safetensors") < 1e-5
    rows = (out / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(row)["step"] for row in rows] == [2, 4, 6]


def test_processes_with_other_graphs_are_refused(tmp_path: Path) -> None:
    """Status 2, one message, and no folder."""
    for rank in range(2):
        shutil.copytree(find_graph("village"), tmp_path / str(rank) / "graph")
    (train,) = (tmp_path / "1" / "graph").glob("train*")
    train.write_text("\n".join(train.read_text().splitlines()[1:]) + "\n")
    out = tmp_path / "out"
    done = torchrun(tmp_path, {
        "commands": [words("kg", {**KG, "data": "graph"}, out)],
        "folders": [str(tmp_path / str(rank)) for rank in range(2)],
    })  # fmt: skip
    assert done.stderr.count("process 1 has another graph or rules than process 0") == 1
    assert "try: the same files on every machine" in done.stderr
    assert "exitcode  : 2" in done.stderr
    assert not out.exists()


def test_what_would_be_done_twice_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = torchrun(tmp_path, {"commands": [words("kg", {**KG, "learner": "ppo"}, out)]})
    assert "error: learner=ppo runs in one process, not in 2\ntry: learner=exact" in done.stderr
    assert "exitcode  : 2" in done.stderr
    assert not out.exists()
