"""Run folders without pickle: what asks and tests a run reads JSON and safetensors alone."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch

import deepprooflog as dpl
from deepprooflog.errors import DataError
from deepprooflog.kg.belief.prior import read_prior
from deepprooflog.kg.data.snapshot import read_snapshot
from deepprooflog.learn.run import checkpoint
from deepprooflog.learn.run.card import ModelCard
from deepprooflog.learn.run.folder import open_run
from deepprooflog.learn.run.weights import load_state, save_state
from deepprooflog.recipes.tasks import TASKS, EvaluateOptions, QueryOptions

SMALL = {
    "data": "village", "prior.dimension": 4, "prior.steps": 10, "exact.steps": 2,
    "exact.validate_every": 1, "exact.batch": 8, "exact.negatives": 2, "search.nesting": 1,
    "evaluation.validation_size": 10, "evaluation.test_size": 10, "policy.dimension": 4,
    "threads": 1, "belief.shift": False, "walk.epochs": 1, "walk.seconds": 2, "walk.hops": 2,
    "walk.states": 2,
}  # fmt: skip
QUERY = "mother(X, max_ashgrove)"
DIGITS = {"n": 1, "sums": 12, "epochs": 1, "batch": 4, "augment": "none"}
RUNS: dict[str, tuple[str, str, dict[str, object]]] = {
    "exact": ("kg", "kg", SMALL),
    "untrained": ("kg", "kg", {**SMALL, "learner": "none"}),
    "walks": ("kg", "kg", {**SMALL, "learner": "walks"}),
    "system": ("groundings", "family-sbr", {
        k: v for k, v in SMALL.items() if k.split(".")[0] in ("data", "prior", "evaluation")
    } | {"system.steps": 1, "threads": 1}),
    "digits": ("mnist-addition", "digits-addition", DIGITS),
}  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("runs")
    for name, (task, recipe, given) in RUNS.items():
        TASKS[task].train(recipe, given, base / name, progress=False)
    return {name: base / name for name in RUNS}


def figures(run: Path, task: str) -> dict[str, Any]:
    found, _ = TASKS[task].evaluate(open_run(run), EvaluateOptions(progress=False))
    return {k: v for k, v in found.items() if isinstance(v, float) and k != "seconds"}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_asked_and_tested_without_pickle(
    name: str, trained: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that unpickles is called, and nothing that only it can read is there."""
    run = Path(shutil.copytree(trained[name], tmp_path / name))
    for path in run.glob("*.pt"):
        path.unlink()
    assert {path.suffix for path in run.iterdir()} <= {
        ".json", ".safetensors", ".md", ".jsonl", ".svg",
    }  # fmt: skip

    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("a pickle is read")

    for module, function in ((torch, "load"), (pickle, "load"), (pickle, "loads")):
        monkeypatch.setattr(module, function, refuse)
    monkeypatch.setattr(pickle, "Unpickler", refuse)
    found = figures(run, RUNS[name][0])
    assert found
    result = json.loads((run / "result.json").read_text())
    told = result.get("test", result)
    assert {k: told[k] for k in found} == found
    if name != "digits":
        assert len(TASKS[RUNS[name][0]].query(open_run(run), QueryOptions(QUERY))) > 1  # type: ignore[arg-type]


def old_run(run: Path, folder: Path) -> Path:
    """The folder as the versions before safetensors wrote it: `graph.pt`, `prior.pt`, …"""
    shutil.copytree(run, folder)
    about = json.loads((run / "graph.json").read_text())
    state = load_state(run / "graph.safetensors", "graph", {})
    for key in ("triples", "format", "sha256"):
        about.pop(key)
    checkpoint.save(folder / "graph.pt", {"about": json.dumps(about), **state})
    if (run / "prior.safetensors").exists():
        checkpoint.save(folder / "prior.pt", read_prior(run / "prior.safetensors"))
    config = json.loads((run / "config.json").read_text())
    if config["options"]["learner"] == "walks":
        shape = {"weights": dict, "weighed": dict, "without_prior": dict}
        walks = load_state(run / "model.safetensors", "walks", shape)
        checkpoint.save(folder / "walks.pt", walks)
    for pattern in ("*.safetensors", "graph.json", "README.md"):
        for path in folder.glob(pattern):
            path.unlink()
    return folder


@pytest.mark.parametrize("name", ["exact", "untrained", "walks"])
def test_runs_of_older_versions_are_read(
    name: str, trained: dict[str, Path], tmp_path: Path
) -> None:
    old = old_run(trained[name], tmp_path / "old")
    assert figures(old, "kg") == figures(trained[name], "kg")
    assert dpl.load(old).query(QUERY).answers == dpl.load(trained[name]).query(QUERY).answers
    with pytest.raises(DataError, match="holds a run already"):
        dpl.load(trained[name]).save(old)
    dpl.load(old).save(tmp_path / "new")
    assert not list((tmp_path / "new").glob("*.pt"))
    assert figures(tmp_path / "new", "kg") == figures(trained[name], "kg")
    told = dpl.kg.tell(old, added=["brother(newcomer, max_ashgrove)"])
    assert (told.added, told.new_entities) == (1, ("newcomer",))
    with pytest.warns(dpl.Notice, match="1 fact added since training"):
        assert len(dpl.load(old).graph.train) == len(dpl.load(trained[name]).graph.train) + 1


def test_what_is_saved_has_a_hubs_layout(trained: dict[str, Path], tmp_path: Path) -> None:
    """config.json, model.safetensors and a card whose block at the top is YAML."""
    model = dpl.load(trained["exact"])
    model.save(tmp_path / "run")
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "README.md", "config.json", "graph.json", "graph.safetensors", "model.safetensors",
        "prior.safetensors", "result.json",
    ]  # fmt: skip
    card = (tmp_path / "run" / "README.md").read_text()
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    front = yaml.safe_load(card.split("---\n")[1])
    assert front["library_name"] == "deepprooflog"
    metrics = front["model-index"][0]["results"][0]["metrics"]
    assert {m["type"]: m["value"] for m in metrics}["mrr"] == model.result["test"]["mrr"]
    assert f"{model.result['test']['mrr']:.4f}" in card
    command = next(line for line in card.splitlines() if "dprl train" in line).split()
    given = dict(word.split("=") for word in command if "=" in word)
    assert {k: json.loads(v) for k, v in given.items()} == {
        k: v for k, v in SMALL.items() if k != "data"
    }
    from safetensors.torch import load_file

    theirs = load_file(tmp_path / "run" / "model.safetensors")
    own = model.prover.policy.state_dict()
    assert theirs.keys() == {f"weights.{key}" for key in own}
    assert all(torch.equal(theirs[f"weights.{key}"], value) for key, value in own.items())


def test_files_of_two_runs_are_not_mixed_up(trained: dict[str, Path], tmp_path: Path) -> None:
    run = Path(shutil.copytree(trained["exact"], tmp_path / "run"))
    graph = read_snapshot(run / "graph.json")
    state = load_state(run / "graph.safetensors", "graph", {})
    turned = {**state, "train": state["train"].flip(0)}
    save_state(run / "graph.safetensors", "graph", turned)
    with pytest.raises(DataError, match="not the one that was written with the files beside it"):
        read_snapshot(run / "graph.json")
    assert len(graph.graph.train) == len(state["train"])
    (run / "model.safetensors").write_bytes((run / "prior.safetensors").read_bytes())
    with pytest.raises(DataError, match="it holds no policy of format 1"):
        load_state(run / "model.safetensors", "policy", {})


def test_a_state_is_what_was_saved(tmp_path: Path) -> None:
    state = {
        "kind of": "complex", "n": 3, "share": 0.1, "nothing": None, "names": ["a", "b"],
        "slope": torch.tensor([1.0]), "empty": {}, "weights": {"a.b": torch.ones(2), "c": None},
    }  # fmt: skip
    save_state(tmp_path / "x.safetensors", "policy", state)
    found = load_state(tmp_path / "x.safetensors", "policy", {"n": int, "weights": dict})
    tensors = found.pop("slope"), found["weights"].pop("a.b")
    assert [t.tolist() for t in tensors] == [[1.0], [1.0, 1.0]]
    plain = {k: v for k, v in state.items() if k != "slope"}
    assert found == {**plain, "weights": {"c": None}}
    with pytest.raises(DataError, match="a 'n' that is not what it must be"):
        load_state(tmp_path / "x.safetensors", "policy", {"n": str})


def test_a_card_shows_names_as_they_are() -> None:
    card = ModelCard("<script>|x", ["about"], "graph-ml", 'a"b: [', None, {"p": {"mrr": 1.0}})
    text = card.text()
    assert "\n# \\<script\\>\\|x\n" in text
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    front = yaml.safe_load(text.split("---\n")[1])
    assert front["model-index"][0]["results"][0]["dataset"]["name"] == 'a"b: ['
