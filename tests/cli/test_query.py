"""`dprl query` on an addition run: pictures by name, answers in order, proofs, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from deepprooflog.cli import main


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run that has hardly learned: its sums are uncertain."""
    pytest.importorskip("sklearn", reason="scikit-learn brings the 8 × 8 digits")
    out = str(tmp_path_factory.mktemp("runs") / "run")
    small = ["--set", "sums=24", "--set", "training.epochs=3", "--set", "training.batch=4"]
    assert main(["train", "digits-addition", *small, "--out", out, "--json"]) == 0
    return out


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    capsys.readouterr()
    assert main(["query", *arguments, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert isinstance(result, dict)
    return result


def digit_probabilities(run: str, numbers: list[int]) -> np.ndarray:
    """The network's own distributions for some test pictures."""
    from deepprooflog.learn.run.folder import open_run
    from deepprooflog.recipes.addition.run import trained
    from deepprooflog.recipes.addition.task import pictures, tensor

    model, options = trained(open_run(Path(run)))
    model.eval()
    images = tensor(pictures(options.data)[1])[numbers]
    with torch.no_grad():
        logits = model.networks["lenet"].module(images)  # type: ignore[operator]
    result: np.ndarray = torch.softmax(logits.double(), 1).numpy()
    return result


def test_sums_by_their_probability(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One digit and one digit: the convolution of the two distributions."""
    p = digit_probabilities(run, [5, 9])
    total = np.convolve(p[0], p[1])
    best = np.argsort(-total)[:4]
    result = asked(capsys, run, "add([test(5)], [test(9)], Z, 0)", "--top", "4")
    answers = result["answers"]
    assert isinstance(answers, list)
    assert set(result) == {"query", "answers", "pictures"}
    for answer, number in zip(answers, best.tolist(), strict=True):
        digits = [number] if number < 10 else [number % 10, 1]
        assert json.loads(answer["bindings"]["Z"]) == digits
        assert answer["probability"] == pytest.approx(total[number], rel=1e-5)
        pairs = [p[0, a] * p[1, number - a] for a in range(10) if 0 <= number - a < 10]
        assert answer["proof"]["probability"] == pytest.approx(max(pairs), rel=1e-5)
        assert answer["certain"]
    assert "test(5)" in str(answers[0]["proof"])


def test_names_of_pictures(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A range is a list, and `--test K` is the run's own sum."""
    from deepprooflog.data.digits import small_digits

    written = asked(capsys, run, "add([test(9), test(8)], [test(11), test(10)], Z, 0)")
    ranged = asked(capsys, run, "add(test(9..8), test(11..10), Z, 0)")
    third = asked(capsys, run, "--test", "2")
    assert written["answers"] == ranged["answers"] == third["answers"]
    train, test = small_digits()
    assert third["pictures"] == {f"test({i})": int(test.labels[i]) for i in (8, 9, 10, 11)}
    result = asked(capsys, run, "digit(train(3), D)", "--top", "10")
    assert result["pictures"] == {"train(3)": int(train.labels[3])}
    answers = result["answers"]
    assert isinstance(answers, list)
    assert sum(a["probability"] for a in answers) == pytest.approx(1.0, rel=1e-5)


def test_for_people(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["query", run, "--test", "0", "--proof"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Z = [") and "lenet(test(1)) = " in out
    assert "by the data set's labels, test(1) = 3" in err
    assert main(["query", run, "add([test(0)], [], Z, 0)"]) == 0
    assert capsys.readouterr().out == "false\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "either a QUERY or --test K"),
        (["p(X)", "--test", "1"], "either a QUERY or --test K"),
        ([" . "], "the query is empty"),
        (["add([test(0)], [test(1)], Z, 0"], "<query>:1:4: error: this '(' is never closed"),
        (["add([test(360)], [test(1)], Z, 0)"], "there is no test(360): the pictures are 0 to 359"),
        (["add(test(-1..2), [test(1)], Z, 0)"], "there is no test(-1)"),
        (["add([test(X)], [test(1)], Z, 0)"], "names no picture\ntry: test(0), test(3..0)"),
        (["sub([test(0)], [test(1)], Z, 0)"], "no clause defines sub/4"),
        (["digit(7, D)"], "called with 7, which is not a tensor"),
        (["--test", "90"], "there is no test sum 90: they are 0 to 89"),
    ],
)
def test_refusals(
    run: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["query", run, *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and message in err


def test_runs_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", str(tmp_path), "p(X)"]) == 2
    assert "no config.json" in capsys.readouterr().err
    (tmp_path / "config.json").write_text('{"recipe": "r", "task": "knitting", "options": {}}')
    assert main(["query", str(tmp_path), "p(X)"]) == 2
    assert "a run of the task 'knitting', which is unknown" in capsys.readouterr().err
