"""Two processes by torchrun: the figures and weights of one; ranks that die, or do not agree."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from deepprooflog.cli import main
from deepprooflog.kg.data.folder import find_graph
from deepprooflog.learn.run import checkpoint
from made_once import made_once
from recipes.process_worker import EPISODES, UPDATES, gradients, questions, updated

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
WALKS = {
    "walk.hops": 2, "walk.states": 2, "walk.width": 8, "walk.hidden": 8, "walk.epochs": 0.09,
    "walk.batch": 65, "walk.validations": 2, "evaluation.validation_size": 9,
    "evaluation.test_size": 20, "threads": 1, "device": "cpu",
}  # fmt: skip
GROUNDED = {
    "data": "village", "rules": "village", "system": "r2n", "prior": "rotate",
    "prior.dimension": 4, "prior.steps": 8, "prior.batch": 50, "prior.negatives": 8,
    "system.steps": 4, "system.validate_every": 2, "system.batch": 9, "system.negatives": 2,
    "system.dimension": 4, "ground.width": 1, "ground.depth": 1,
    "evaluation.validation_size": 6, "evaluation.test_size": 20, "threads": 1, "device": "cpu",
}  # fmt: skip
CLOCKS = {"seconds", "steps_per_second", "rollout_steps_per_second"}
FROM_ALL = {"belief.shift": False}  # the policy is learned alike; what is chosen after it is not
ALL_TAILS = {
    "data": "village", "learner": "none", "prior": "complex", "prior.dimension": 4,
    "prior.steps": 8, "prior.batch": 51, "evaluation.validation_size": 6,
    "evaluation.test_size": 9, "threads": 1, "device": "cpu",
}  # fmt: skip
# What is played is drawn in each process, so that two learn something else than one.
ROLLOUTS = {
    "learner": "ppo", "ppo.iterations": 4, "ppo.episodes": 7, "ppo.steps": 5, "ppo.positives": 20,
    "ppo.minibatch": 16, "ppo.validate_every": 1,
}  # fmt: skip


def words(recipe: str, given: Mapping[str, object], out: Path, *more: str) -> list[str]:
    options = [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
    return ["train", recipe, *options, "--out", str(out), *more]


def torchrun(
    folder: Path, plan: Mapping[str, Any], size: int = 2
) -> subprocess.CompletedProcess[str]:
    """The commands of a plan by several processes."""
    file = folder / "plan.json"
    file.write_text(json.dumps(plan))
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [*start, str(size), str(WORKER), str(file)], capture_output=True, text=True, timeout=120,
        env=environment,
    )  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same runs by one process and, with `two_` before their names, by two."""
    pytest.importorskip("sklearn", reason="scikit-learn brings the 8 × 8 digits")
    return made_once(tmp_path_factory, "processes", trained)


def trained(folder: Path) -> None:
    (folder / "grounded.toml").write_text('task = "groundings"\n')
    given = {
        "exact": ("kg", KG), "sums": ("digits-addition", SUMS), "walks": ("walks", WALKS),
        "grounded": (str(folder / "grounded.toml"), GROUNDED), "all_tails": ("kg", ALL_TAILS),
    }  # fmt: skip
    for name, (recipe, options) in given.items():
        assert main(words(recipe, options, folder / name)) == 0
    shutil.copytree(folder / "walks", folder / "ranked")
    (folder / "ranked" / "result.json").unlink()
    rollouts = {**KG, **ROLLOUTS, **FROM_ALL, "prior.from_run": folder / "exact"}
    done = torchrun(folder, {
        "commands": [
            *(words(recipe, options, folder / f"two_{name}")
              for name, (recipe, options) in given.items()),
            words("kg", rollouts, folder / "two_rollouts"),
            words("walks", {}, folder / "ranked", "--resume"),
            ["evaluate", str(folder / "exact"), "--protocol", "full", "--proofs", "1", "--json"],
        ],
        "results": str(folder / "status.json"), "prover": str(folder / "exact"),
        "gradients": str(folder / "gradients.json"), "update": str(folder / "update"),
    })  # fmt: skip
    assert done.returncode == 0, done.stderr
    (folder / "printed").write_text(done.stdout)
    (folder / "told").write_text(done.stderr)


def same_figures(left: Any, right: Any, most: float = 1e-6) -> bool:
    """Whether two records have the same numbers; how long something took is none of them."""
    if isinstance(left, dict):
        keys = left.keys() - CLOCKS
        assert keys == right.keys() - CLOCKS
        return all(same_figures(left[key], right[key], most) for key in keys)
    if isinstance(left, list):
        pairs = zip(left, right, strict=True)
        return all(same_figures(x, y, most) for x, y in pairs)
    if isinstance(left, float):
        return bool(np.isclose(left, right, rtol=0, atol=most, equal_nan=True))
    return bool(left == right)


def furthest(left: Mapping[str, Tensor], right: Mapping[str, Tensor]) -> float:
    """The largest difference of weights; of those beyond 1, as a part of them."""
    assert left.keys() == right.keys()
    pairs = [(left[k].double(), right[k].double()) for k in left if left[k].numel()]
    gaps = [((one - two).abs() / one.abs().clamp_min(1)).max() for one, two in pairs]
    return float(torch.stack(gaps).max())


def kept(run: Path, name: str) -> dict[str, Tensor]:
    """The weights that a run keeps in a file."""
    safetensors = pytest.importorskip("safetensors.torch")
    found: dict[str, Tensor] = safetensors.load_file(run / f"{name}.safetensors")
    return {key: value for key, value in found.items() if not key.endswith("_extra_state")}


def last(run: Path) -> dict[str, Tensor]:
    """The weights after the last step, which may not be the best: from the checkpoint."""
    state = checkpoint.load(run / "checkpoint.pt", {"trainer": dict})["trainer"]
    found = state["learner"]["policy"] if "learner" in state else state["model"]
    return {key: value for key, value in found.items() if isinstance(value, Tensor)}


def result(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return {key: value for key, value in found.items() if "sha256" not in key}


def history(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(row) for row in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("exact", ["prior", "model"]), ("sums", ["model"]), ("walks", ["model"]),
        ("grounded", ["prior", "model"]),
    ],
)  # fmt: skip
def test_two_halves_of_a_minibatch_train_as_the_whole(
    runs: Path, name: str, files: list[str]
) -> None:
    """Weights and losses of every kind of run, and figures; batches of odd sizes, too."""
    one, two = runs / name, runs / f"two_{name}"
    for file in files:
        assert furthest(kept(one, file), kept(two, file)) < 1e-5
    assert furthest(last(one), last(two)) < 1e-5
    assert same_figures(history(one), history(two), 1e-5)
    assert len({row["loss"] for row in history(one)}) > 1
    assert same_figures(result(one), result(two), 1e-5)


def test_an_embedding_trained_one_against_all(runs: Path) -> None:
    """Entities and relations.

    Scores are so small after a few steps that the calibration multiplies them by 10⁵, and their
    rounding with them: it is not compared.
    """
    one, two = (kept(runs / name, "prior") for name in ("all_tails", "two_all_tails"))
    trained = [key for key in one if key.startswith("prior.")]
    assert len(trained) == 2
    assert furthest({k: one[k] for k in trained}, {k: two[k] for k in trained}) < 1e-5
    assert same_figures(result(runs / "all_tails"), result(runs / "two_all_tails"), 1e-5)


def test_the_steps_that_are_compared_move_the_weights(runs: Path) -> None:
    """Where the untrained policy validates best it is the one that is kept."""
    first = checkpoint.load(runs / "exact" / "checkpoint.pt", {"best": dict})["best"]
    assert first["step"] == 0
    began = {key: value for key, value in first["weights"].items() if isinstance(value, Tensor)}
    assert furthest(began, last(runs / "exact")) > 1e-3


@pytest.mark.parametrize("name", UPDATES)
def test_parts_of_a_rollout_update_as_the_whole(runs: Path, name: str) -> None:
    """Advantages, divergence, gradients: four and five of nine episodes as nine."""
    whole = updated(slice(0, EPISODES), UPDATES[name])
    parts = [json.loads((runs / f"update.{rank}").read_text())[name] for rank in range(2)]
    assert parts[0] == parts[1]
    assert same_figures(whole["losses"], parts[0]["losses"], 1e-5)
    assert whole["losses"]["stopped"] == (name == "ends") and whole["losses"]["updates"] > 1
    for left, right in zip(whole["weights"], parts[0]["weights"], strict=True):
        assert np.allclose(left, right, rtol=0, atol=1e-5)


def test_rollouts_are_shared_out(runs: Path) -> None:
    """Three of seven episodes in one process and four in the other: the checkpoint has all."""
    rows = history(runs / "two_rollouts")
    assert [row["step"] for row in rows] == [1, 2, 3, 4]
    state = checkpoint.load(runs / "two_rollouts" / "checkpoint.pt", {"trainer": dict})["trainer"]
    assert [len(part) for part in state["learner"]["episodes"]["rest"]] == [7] * 4
    assert result(runs / "two_rollouts")["learner"] == "ppo"


def test_the_first_process_alone_writes_and_prints(runs: Path) -> None:
    one, two = runs / "exact", runs / "two_exact"
    assert {p.name for p in one.iterdir()} == {p.name for p in two.iterdir()}
    assert [row["step"] for row in history(two)] == [2, 4, 6]
    printed = (runs / "printed").read_text()
    assert [printed.count(name) for name in ("p_success", "walks alone", "r2n ")] == [3, 2, 1]


def test_walks_that_were_weighed_are_ranked_by_both(runs: Path) -> None:
    """A run of one process that has no figures yet is gone on with by two: nothing is weighed."""
    assert (runs / "told").read_text().count("; scores were weighed before") == 1
    assert same_figures(result(runs / "walks"), result(runs / "ranked"))
    one, two = (runs / name / "model.safetensors" for name in ("walks", "ranked"))
    assert one.read_bytes() == two.read_bytes()


def test_two_evaluate_as_one(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every figure, counts of goals, depths and proofs included."""
    capsys.readouterr()
    asked = ["evaluate", str(runs / "exact"), "--protocol", "full", "--proofs", "1", "--json"]
    assert main(asked) == 0
    one = json.loads(capsys.readouterr().out)
    (two,) = [line for line in (runs / "printed").read_text().splitlines() if line[:1] == "{"]
    assert same_figures(one, json.loads(two), 1e-6)
    assert one["queries"] == 20


def test_model_and_prover_inside_distributed_data_parallel(runs: Path) -> None:
    """The mean of the gradients of two halves is the gradient of the whole."""
    whole = gradients(*questions(str(runs / "exact")))
    halves = json.loads((runs / "gradients.json").read_text())
    for one, two in zip(whole, halves, strict=True):
        assert len(one) == len(two)
        assert any(np.abs(gradient).max() > 1e-4 for gradient in one if gradient is not None)
        for left, right in zip(one, two, strict=True):
            assert (left is None) == (right is None)
            assert left is None or np.allclose(left, right, atol=1e-6)


def killed(runs: Path, folder: Path, options: Mapping[str, object], step: int) -> Path:
    """A run of two processes, the second of which is killed at a step, with its message."""
    out = folder / "run"
    given = {**KG, **options, **FROM_ALL, "prior.from_run": runs / "exact"}
    done = torchrun(folder, {"commands": [words("kg", given, out)], "kill": step})
    assert done.returncode != 0
    assert "another process of this run has ended" in done.stderr or "terminated" in done.stderr
    assert f"train kg --out {out} --resume" in done.stderr
    assert not (out / "result.json").exists()
    return out


def test_a_killed_process_ends_the_run_which_goes_on(runs: Path, tmp_path: Path) -> None:
    """kill -9 of one of two: one message; fewer processes go on, or more."""
    out = killed(runs, tmp_path, {}, 4)
    other = shutil.copytree(out, tmp_path / "other")
    assert main(words("kg", {}, other, "--resume")) == 0
    done = torchrun(tmp_path, {"commands": [words("kg", {}, out, "--resume")]}, size=3)
    assert done.returncode == 0, done.stderr
    for run in (out, other):
        assert furthest(last(runs / "exact"), last(run)) < 1e-5
        assert same_figures(history(runs / "exact"), history(run), 1e-5)


def test_rollouts_of_a_killed_run_go_on(runs: Path, tmp_path: Path) -> None:
    """By as many processes the episodes under way end as they would have; one takes all of them."""
    out = killed(runs, tmp_path, ROLLOUTS, 2)
    other = shutil.copytree(out, tmp_path / "other")
    assert main(words("kg", {}, other, "--resume")) == 0
    assert [row["step"] for row in history(other)] == [1, 2, 3, 4]
    done = torchrun(tmp_path, {"commands": [words("kg", {}, out, "--resume")]})
    assert done.returncode == 0, done.stderr
    whole = runs / "two_rollouts"
    assert furthest(last(whole), last(out)) == 0.0
    assert same_figures(history(whole), history(out), 0.0)


def test_no_space_left_ends_all_processes(runs: Path, tmp_path: Path) -> None:
    """One says what is full and where, the other that it is not heard of; the run goes on."""
    out = tmp_path / "run"
    given = {**KG, **FROM_ALL, "prior.from_run": runs / "exact"}
    done = torchrun(tmp_path, {"commands": [words("kg", given, out)], "full": 4})
    assert done.returncode != 0
    assert done.stderr.count("error: cannot write: No space left on device") == 1
    assert f"{out / 'checkpoint.pt'}" in done.stderr
    assert "try: another folder, or room on the disk" in done.stderr
    assert not (out / "result.json").exists() and not list(out.glob(".*.part"))
    assert main(words("kg", {}, out, "--resume")) == 0
    assert furthest(last(runs / "exact"), last(out)) < 1e-5


def other_graphs(folder: Path) -> list[str]:
    """A folder for each of two processes, in which `graph` is not the same."""
    for rank in range(2):
        shutil.copytree(find_graph("village"), folder / str(rank) / "graph")
    (train,) = (folder / "1" / "graph").glob("train*")
    train.write_text("\n".join(train.read_text().splitlines()[1:]) + "\n")
    return [str(folder / str(rank)) for rank in range(2)]


@pytest.fixture(scope="module")
def refused(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes refuse, one after another, with what they said of it all."""
    return made_once(tmp_path_factory, "refused", partial(refusals, runs))


def refusals(runs: Path, folder: Path) -> None:
    done = torchrun(folder, {
        "commands": [
            words("kg", {**KG, "data": "graph"}, folder / "other_graphs"),
            ["evaluate", str(runs / "exact"), "--data", "graph", "--json"],
            ["evaluate", str(runs / "exact"), "--reading", "max"],
            words("kg", {**KG, **ROLLOUTS, "ppo.episodes": 1}, folder / "few"),
        ],
        "folders": other_graphs(folder), "results": str(folder / "status.json"),
    })  # fmt: skip
    assert "exitcode  : 2" in done.stderr and done.stdout == ""
    (folder / "told").write_text(done.stderr)


@pytest.mark.parametrize(
    ("number", "count", "message", "remedy"),
    [
        (0, 2, "error: process 1 has another graph or rules than process 0", "the same files on"),
        (1, 2, "error: process 1 has another graph or rules than process 0", "the same folder on"),
        (2, 1, "error: the reading of rules runs in one process, not in 2", "no"),
        (3, 1, "error: episodes=1 cannot be shared out among 2 processes", "episodes=2"),
    ],
    ids=["training on other graphs", "ranking other graphs", "readings", "few episodes"],
)
def test_what_two_processes_refuse(
    refused: Path, number: int, count: int, message: str, remedy: str
) -> None:
    """Status 2, and one message of the first process; another's begins with its number."""
    assert json.loads((refused / "status.json").read_text())[number] == 2
    told = "\n" + (refused / "told").read_text()
    assert told.count(f"\n{message}") == count
    assert told.count(f"\n{message}\ntry: {remedy}") == 1


def test_what_is_refused_leaves_no_folder(refused: Path) -> None:
    assert not (refused / "other_graphs").exists() and not (refused / "few").exists()
