"""Runs of walks that were interrupted while they ranked: what was weighed is not weighed again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deepprooflog.cli import main
from deepprooflog.kg.learn import walks as learning
from deepprooflog.kg.model import GraphModel
from deepprooflog.kg.walk.prover import WalkProver
from kg.walk.test_prover import family, write
from kg.walk.test_rules_beside import GRAN, SHORT

PRIOR = ["prior.kind=complex", "prior.dimension=4", "prior.steps=5", "prior.batch=16"]


def interrupted(*_: object, **__: object) -> Any:
    raise KeyboardInterrupt


def refused(*_: object, **__: object) -> Any:
    raise AssertionError("made again")


def train(out: Path, given: list[str], *more: str) -> int:
    """The exit status of training a run by these options."""
    asked = [word for one in given for word in ("--set", one)]
    return main(["train", "walks", *asked, "--out", str(out), *more])


def stopped(out: Path, given: list[str]) -> None:
    """Train a run, and end it when it ranks the test triples."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GraphModel, "evaluate", interrupted)
        assert train(out, given) == 130
    assert (out / "model.safetensors").exists() and not (out / "result.json").exists()


def outcome(out: Path) -> tuple[Any, ...]:
    """A run's record, history and weights, without what the clock tells."""
    rows = [json.loads(row) for row in (out / "metrics.jsonl").read_text().splitlines()]
    record = json.loads((out / "result.json").read_text())
    return timeless(record), timeless(rows), (out / "model.safetensors").read_bytes()


def timeless(value: Any) -> Any:
    if isinstance(value, list):
        return [timeless(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {k: timeless(v) for k, v in value.items() if "second" not in k and k != "sha256"}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The options of a run with rules beside walks, and an embedding."""
    folder = tmp_path_factory.mktemp("asked")
    (folder / "rules.pl").write_text(GRAN)
    walk = [f"walk.{key}={value}" for key, value in SHORT["walk"].items()]
    data = write(family(), folder / "data")
    return [f"data={data}", f"rules={folder / 'rules.pl'}", "threads=1", *walk, *PRIOR]


@pytest.fixture(scope="module")
def whole(asked: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nothing interrupted."""
    out = tmp_path_factory.mktemp("whole") / "run"
    assert train(out, asked) == 0
    return out


@pytest.fixture(scope="module")
def half(asked: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run, interrupted while it ranked."""
    out = tmp_path_factory.mktemp("half") / "run"
    stopped(out, asked)
    return out


def test_scores_are_weighed_once(
    whole: Path, half: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """No weights are fitted, no rules read; the record is that of the run left alone."""
    out = shutil.copytree(half, tmp_path / "run")
    monkeypatch.setattr(WalkProver, "weigh", refused)
    monkeypatch.setattr(learning, "rule_lists", refused)
    capsys.readouterr()
    assert train(out, [], "--resume") == 0
    told = capsys.readouterr().err
    assert "2.0 of 2 epochs; scores were weighed before\nscore: " in told
    assert outcome(out) == outcome(whole)
    record = json.loads((out / "result.json").read_text())
    assert record["test"]["walks"]["mrr"] < record["test"]["rules"]["mrr"] == 1.0
    assert record["test"]["score"]["lists"] == 4 and record["best_step"] is not None


def cut(out: Path) -> None:
    path = out / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])


def one_bit(out: Path) -> None:
    path = out / "model.safetensors"
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


@pytest.mark.parametrize("damage", [cut, one_bit])
def test_a_damaged_file_is_one_message(
    damage: Callable[[Path], None], whole: Path, half: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """With the remedy that it names, the run ends as it would have."""
    out = shutil.copytree(half, tmp_path / "run")
    damage(out)
    capsys.readouterr()
    assert train(out, [], "--resume") == 2
    told = capsys.readouterr().err
    assert told.count("error:") == 1
    assert f"{out / 'model.safetensors'}: error: the walks are damaged" in told
    assert "try: delete it and --resume: scores are weighed again" in told
    (out / "model.safetensors").unlink()
    assert train(out, [], "--resume") == 0
    assert outcome(out) == outcome(whole)


def test_other_walks_are_weighed_anew(
    asked: list[str], whole: Path, half: Path, tmp_path: Path
) -> None:
    """What was weighed belongs to the walks that it was weighed with."""
    stopped(tmp_path / "other", [*asked, "seed=3"])
    out = shutil.copytree(half, tmp_path / "run")
    others = (tmp_path / "other" / "model.safetensors").read_bytes()
    assert others != (out / "model.safetensors").read_bytes()
    (out / "model.safetensors").write_bytes(others)
    assert train(out, [], "--resume") == 0
    assert outcome(out) == outcome(whole)


def test_walks_of_another_run_are_kept(
    asked: list[str], whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once they are weighed, the other run is not needed to go on."""
    first = shutil.copytree(whole, tmp_path / "first")
    given = [*asked, f"walk.from_run={first}"]
    assert train(tmp_path / "second", given) == 0
    stopped(tmp_path / "third", given)
    shutil.rmtree(first)
    monkeypatch.setattr(WalkProver, "weigh", refused)
    assert train(tmp_path / "third", [], "--resume") == 0
    results = [(tmp_path / name / "result.json").read_text() for name in ("second", "third")]
    second, third = (timeless(json.loads(text)) for text in results)
    assert second == third and third["best_step"] is None
