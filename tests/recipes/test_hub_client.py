"""A run goes to a hub and comes back, by the hub's own client and over HTTP.

The hub is a small one of this machine (`small_hub.py`); the client is huggingface_hub where it is
installed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import deepprooflog as dpl
from deepprooflog.recipes.tasks import TASKS
from recipes.small_hub import small_hub

HUB = "huggingface_hub is not installed: pip install huggingface_hub"
QUERY = "mother(X, max_ashgrove)"
SMALL = {
    "data": "village", "prior.dimension": 4, "prior.steps": 10, "exact.steps": 2,
    "exact.batch": 8, "search.nesting": 1, "evaluation.validation_size": 10,
    "evaluation.test_size": 10, "policy.dimension": 4, "threads": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def api() -> Iterator[Any]:
    """A client of a hub that is empty."""
    client = pytest.importorskip("huggingface_hub", reason=HUB)
    with small_hub() as hub:
        yield client.HfApi(endpoint=hub.address, token="hf_of_nobody")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with figures, so that its card has them."""
    pytest.importorskip("huggingface_hub", reason=HUB)
    folder = tmp_path_factory.mktemp("run") / "village"
    TASKS["kg"].train("kg", SMALL, folder, progress=False)
    return folder


@pytest.fixture(scope="module")
def model(run: Path) -> Any:
    return dpl.load(run)


def test_a_graph_goes_up_and_comes_down(api: Any, model: Any, tmp_path: Path) -> None:
    """What is fetched are links into a cache; it answers as what was pushed."""
    model.save(tmp_path / "family")
    missing = pytest.importorskip("huggingface_hub.errors").RepositoryNotFoundError
    with pytest.raises(missing):  # what the page says: created first
        api.upload_folder(repo_id="me/family-kg", folder_path=tmp_path / "family")
    api.create_repo("me/family-kg")
    api.upload_folder(repo_id="me/family-kg", folder_path=tmp_path / "family")
    fetched = api.snapshot_download("me/family-kg", cache_dir=tmp_path / "cache")
    names = sorted(os.listdir(tmp_path / "family"))
    assert sorted(os.listdir(fetched)) == names
    for name in names:
        assert Path(fetched, name).read_bytes() == (tmp_path / "family" / name).read_bytes()
    assert dpl.load(fetched).query(QUERY).answers == model.query(QUERY).answers


def test_a_runs_own_folder_without_its_checkpoint(
    api: Any, run: Path, model: Any, tmp_path: Path
) -> None:
    assert (run / "checkpoint.pt").exists()
    api.create_repo("me/run")
    api.upload_folder(repo_id="me/run", folder_path=run, ignore_patterns="*.pt")
    fetched = api.snapshot_download("me/run", cache_dir=tmp_path)
    assert not list(Path(fetched).glob("*.pt"))
    assert dpl.load(fetched).query(QUERY).answers == model.query(QUERY).answers


def test_a_program_goes_up_and_comes_down(api: Any, tmp_path: Path) -> None:
    program = dpl.Program("nn(net, [X], Y, [no, yes]) :: seen(X, Y). t(0.3) :: p. t(0.7) :: q.")
    asked = dpl.goal("seen(X, yes), p", X=torch.tensor([1.0, 2.0]))
    own = dpl.Model(program, networks={"net": torch.nn.Linear(2, 2)})
    own.save(tmp_path / "both")
    api.create_repo("me/both")
    api.upload_folder(repo_id="me/both", folder_path=tmp_path / "both")
    fetched = api.snapshot_download("me/both", cache_dir=tmp_path / "cache")
    again = dpl.load(fetched, networks={"net": torch.nn.Linear(2, 2)})
    assert again.prob(asked) == own.prob(asked)


def test_the_card_is_read_by_the_hubs_own_reader(model: Any, tmp_path: Path) -> None:
    """Its figures are the results that a hub lists."""
    model.save(tmp_path / "family")
    client = pytest.importorskip("huggingface_hub", reason=HUB)
    card = client.ModelCard.load(tmp_path / "family" / "README.md")
    assert card.data.library_name == "deepprooflog"
    assert card.data.pipeline_tag == "graph-ml"
    figures = {result.metric_type: result.metric_value for result in card.data.eval_results}
    told = model.result["test"]
    assert {"mrr", "hits@1"} <= figures.keys()
    assert figures == {key: told[key] for key in figures}
    assert {result.dataset_name for result in card.data.eval_results} == {"village"}
    assert {result.task_type for result in card.data.eval_results} == {"graph-ml"}
