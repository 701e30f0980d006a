"""`dprl train`, `evaluate` and `demo` from the outside: what they print and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deepprooflog import demo
from deepprooflog.cli import demo as demo_command
from deepprooflog.cli import main

SMALL = ["--set", "sums=12", "--set", "training.epochs=2", "--set", "training.batch=4"]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def digits() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn brings the 8 × 8 digits")


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    status = main(arguments)
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    return err


@pytest.mark.usefixtures("digits")
def test_train_then_evaluate(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "digits-addition", *SMALL, "--out", "run", "--json"]) == 0
    trained = json.loads(capsys.readouterr().out)
    assert trained["epochs"] == 2
    assert main(["evaluate", "run", "--json"]) == 0
    out, err = capsys.readouterr()
    tested = json.loads(out)
    assert err == "", "no progress line where nobody watches"
    assert set(tested) == {
        "recipe", "n", "sum_accuracy", "sum_accuracy_regrouped", "regrouped_spread",
        "digit_accuracy", "test_sums", "regroupings", "seconds",
    }  # fmt: skip
    assert tested["digit_accuracy"] == trained["digit_accuracy"]
    assert main(["evaluate", "run"]) == 0
    assert "mean of 200 regroupings" in capsys.readouterr().out
    assert "--resume" in refused(capsys, "train", "digits-addition", "--out", "run")
    assert "a run of digits-addition" in refused(
        capsys, "train", "mnist-addition", "--out", "run", "--resume"
    )


@pytest.mark.usefixtures("digits")
def test_corrupt_checkpoint(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "digits-addition", *SMALL, "--out", "run", "--json"]) == 0
    capsys.readouterr()
    Path("run/model.safetensors").write_bytes(b"PK\x03\x04")
    message = refused(capsys, "evaluate", "run")
    start = f"{Path('run/model.safetensors')}: error: the networks are damaged"
    assert message.startswith(start)
    Path("run/model.safetensors").unlink()
    Path("run/checkpoint.pt").write_bytes(b"PK\x03\x04")
    message = refused(capsys, "evaluate", "run")
    assert message.startswith(str(Path("run/checkpoint.pt")) + ": error: the checkpoint is damaged")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "n=x"], "n is an integer, not 'x'"),
        (["--set", "seeds=1"], "there is no option seeds\ntry: seed\n"),
        (["--set", "n"], "not key=value"),
        (["--set", "data=nowhere"], "data=nowhere: neither mnist, digits nor a folder"),
        (["--set", "n=5000"], "n=5000: one sum takes 10000 pictures"),
    ],
)
@pytest.mark.usefixtures("digits")
def test_bad_settings(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refused(capsys, "train", "digits-addition", *arguments, "--out", "run")
    assert not Path("run").exists(), "nothing is left behind"


def test_no_such_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no recipe nothing" in refused(capsys, "train", "nothing", "--out", "run")


def test_no_folder_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--out RUN" in refused(capsys, "train", "digits-addition")


@pytest.mark.usefixtures("digits")
def test_folders_that_are_not_for_training(capsys: pytest.CaptureFixture[str]) -> None:
    Path("letters").mkdir()
    Path("letters/dear.txt").write_text("…", encoding="utf-8")
    message = refused(capsys, "train", "digits-addition", "--out", "letters")
    assert "not empty and holds no run" in message
    assert [p.name for p in Path("letters").iterdir()] == ["dear.txt"]
    message = refused(capsys, "train", "digits-addition", "--out", "letters/dear.txt")
    assert "not a folder" in message
    assert "no config.json" in refused(capsys, "evaluate", "letters")
    assert "no config.json" in refused(
        capsys, "train", "digits-addition", "--out", "none", "--resume"
    )


def test_missing_data(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deepprooflog.recipes.addition.task import pictures

    pictures.cache_clear()
    monkeypatch.setenv("DEEPPROOFLOG_DATA", str(tmp_path / "empty"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    message = refused(capsys, "train", "mnist-addition", "--out", "run")
    assert "the data set mnist was not found" in message
    assert not Path("run").exists()


def test_options_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "mnist-addition", "--set", "help"]) == 0
    assert "method=dp|pg" in capsys.readouterr().out


def test_a_part_of_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    """One part alone, of those that the showcase has."""
    assert demo_command.PARTS == demo.PARTS
    assert main(["demo", "--part", "program"]) == 0
    shown = capsys.readouterr().out
    assert "p(s(X)) = 0.832, exactly 104/125" in shown
    assert "Markov" not in shown


@pytest.mark.slow
@pytest.mark.usefixtures("digits")
def test_the_demo_without_pictures(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What needs no scikit-learn is shown; what is left out is said first."""
    asked: list[object] = []
    monkeypatch.setattr(demo_command, "find_spec", lambda name: None)
    monkeypatch.setattr(demo, "main", asked.append)
    assert main(["demo"]) == 0
    assert asked == [["program", "grammar", "markov", "village"]]
    told = capsys.readouterr().err
    assert "the part addition is left out" in told and "deepprooflog[demo]" in told


def test_demo(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--json"]) == 0
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert result["digit_accuracy_before"] < 0.3
    assert result["digit_accuracy_after"] > 0.9
    assert result["seconds"] > 0
    assert "the proof replays: True" in err
