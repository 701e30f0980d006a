"""Runs repeat themselves, survive interruption, and leave whole folders behind."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

from deepprooflog.errors import DataError
from deepprooflog.learn.run import checkpoint, loop
from deepprooflog.learn.run.folder import open_run
from deepprooflog.learn.run.minibatch import Objective
from deepprooflog.recipes.addition import training
from deepprooflog.recipes.addition.run import evaluate
from recipes.small import train_small


def weights(run: Path) -> dict[str, torch.Tensor]:
    state = checkpoint.load(run / "checkpoint.pt", loop.SHAPE)
    found: dict[str, torch.Tensor] = state["trainer"]["model"]
    return found


def same(a: Path, b: Path) -> bool:
    one, two = weights(a), weights(b)
    assert one.keys() == two.keys()
    return all(torch.equal(one[key], two[key]) for key in one)


def without_times(run: Path) -> list[dict[str, float]]:
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "finished"
    train_small(run)
    return run


def test_the_folder_of_a_run(finished: Path) -> None:
    names = {path.name for path in finished.iterdir()}
    assert names == {
        "config.json", "metrics.jsonl", "checkpoint.pt", "curves.svg", "result.json",
        "model.safetensors", "README.md",
    }  # fmt: skip
    assert [row["epoch"] for row in without_times(finished)] == [1, 2, 3, 4]
    assert ElementTree.parse(finished / "curves.svg").getroot().tag.endswith("svg")
    result = json.loads((finished / "result.json").read_text())
    assert result["epochs"] == 4
    assert {"sum_accuracy", "sum_accuracy_regrouped", "digit_accuracy"} <= result.keys()
    assert result["test_sums"] == 90


def test_same_seed_same_weights(finished: Path, tmp_path: Path) -> None:
    train_small(tmp_path / "again")
    assert same(finished, tmp_path / "again")
    assert without_times(finished) == without_times(tmp_path / "again")
    train_small(tmp_path / "other", seed=1)
    assert not same(finished, tmp_path / "other")


def test_training_leaves_the_callers_random_numbers_alone(tmp_path: Path) -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    train_small(tmp_path / "run", epochs=1)
    assert torch.equal(torch.rand(3), expected)


@pytest.fixture
def interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that is stopped in its third epoch, with a checkpoint after each."""
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    whole = training.Training._objective

    def stop(self: training.Training, done: int) -> Objective:
        if done == 2 * self.size:
            raise KeyboardInterrupt
        return whole(self, done)

    run = tmp_path / "interrupted"
    with monkeypatch.context() as patch:
        patch.setattr(training.Training, "_objective", stop)
        with pytest.raises(KeyboardInterrupt):
            train_small(run)
    return run


def test_a_resumed_run_is_the_run(finished: Path, interrupted: Path) -> None:
    assert not (interrupted / "result.json").exists()
    train_small(interrupted, resume=True)
    assert same(finished, interrupted)
    assert without_times(finished) == without_times(interrupted)


def test_resuming_a_finished_run_reads_its_result(finished: Path) -> None:
    before = (finished / "checkpoint.pt").stat().st_mtime_ns
    assert train_small(finished, resume=True) == open_run(finished).read_result()
    assert (finished / "checkpoint.pt").stat().st_mtime_ns == before


def test_resume_with_other_options(interrupted: Path) -> None:
    with pytest.raises(DataError, match=r"the run has training\.lr=0\.005, not 0\.1"):
        train_small(interrupted, resume=True, lr=0.1)


def test_the_checkpoint_knows_its_options(interrupted: Path) -> None:
    """Edited around the run's own check, they are refused by the checkpoint."""
    config = open_run(interrupted).config()
    config["options"]["training.weight_decay"] = 0.5
    open_run(interrupted).write_json("config.json", config)
    with pytest.raises(DataError, match="trained with another weight_decay"):
        train_small(interrupted, resume=True)


@pytest.mark.parametrize("raw", [b"", b"not a checkpoint", b"PK\x03\x04 half a zip"])
def test_corrupt_checkpoint(interrupted: Path, raw: bytes) -> None:
    (interrupted / "checkpoint.pt").write_bytes(raw)
    with pytest.raises(DataError, match="checkpoint") as found:
        train_small(interrupted, resume=True)
    assert found.value.file == str(interrupted / "checkpoint.pt")
    with pytest.raises(DataError, match="checkpoint"):
        evaluate(open_run(interrupted))


def test_truncated_checkpoint(interrupted: Path) -> None:
    path = interrupted / "checkpoint.pt"
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(DataError, match="damaged"):
        train_small(interrupted, resume=True)


def test_checkpoint_of_another_model(interrupted: Path) -> None:
    path = interrupted / "checkpoint.pt"
    state = checkpoint.load(path, loop.SHAPE)
    model = state["trainer"]["model"]
    state["trainer"]["model"] = {key: value[:1] for key, value in model.items()}
    checkpoint.save(path, state)
    with pytest.raises(DataError, match="does not fit"):
        train_small(interrupted, resume=True)


def test_a_run_without_checksums_is_read_with_a_notice(finished: Path, tmp_path: Path) -> None:
    """As a version that had none wrote it."""
    old = tmp_path / "old"
    shutil.copytree(finished, old)
    config = open_run(finished).config()
    (old / "config.json").write_text(json.dumps(config))
    raw = (finished / "checkpoint.pt").read_bytes()
    (old / "checkpoint.pt").write_bytes(raw.split(b"\n", 1)[1])
    (old / "model.safetensors").unlink()
    with pytest.warns(UserWarning, match="no checksum") as told:
        assert evaluate(open_run(old)) == evaluate(open_run(finished))
    assert {str(w.message).split()[0] for w in told} == {
        str(old / "config.json"), str(old / "checkpoint.pt"),
    }  # fmt: skip


def test_an_edited_configuration_is_refused(finished: Path, tmp_path: Path) -> None:
    edited = tmp_path / "edited"
    shutil.copytree(finished, edited)
    text = (edited / "config.json").read_text()
    (edited / "config.json").write_text(text.replace('"n": 2', '"n": 3'))
    with pytest.raises(DataError, match="checksum") as found:
        open_run(edited)
    assert found.value.file == str(edited / "config.json")
    (edited / "config.json").write_text(json.dumps(json.loads(text)))
    assert open_run(edited).config() == open_run(finished).config(), "blanks are no edit"


def test_evaluate_repeats_the_result(finished: Path) -> None:
    found = evaluate(open_run(finished))
    result = open_run(finished).read_result()
    assert found.digit_accuracy == result["digit_accuracy"]
    assert found.sum_accuracy_regrouped == result["sum_accuracy_regrouped"]


def test_patience(tmp_path: Path) -> None:
    """At a learning rate that teaches nothing the validation loss stands still."""
    result = train_small(tmp_path / "run", lr=1e-30, epochs=30, patience=3, augment="none")
    assert result["best_epoch"] == 0, "the untrained weights, of which all others are equals"
    assert result["epochs"] == 3
