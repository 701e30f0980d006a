"""Models of programs in folders: what comes back, and what is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
from torch import nn

import deepprooflog as dpl
from deepprooflog.cli import main
from deepprooflog.errors import DataError, ModelError, Notice
from deepprooflog.learn.run.folder import RunFolder
from deepprooflog.recipes.saved_program import open_program
from deepprooflog.score.model_folder import read_weights

NEURAL = "nn(net, [X], Y, [no, yes]) :: seen(X, Y).\nt(0.3) :: p(a). t(0.7) :: p(b).\n"
ASKED = dpl.goal("seen(X, yes), p(a)", X=torch.tensor([1.0, 2.0]))


def linear(first: float, width: int = 2) -> nn.Linear:
    """yes has the logit `first` · x₁, no has 0."""
    net = nn.Linear(width, 2)
    with torch.no_grad():
        net.weight.zero_()
        net.bias.zero_()
        net.weight[1, 0] = first
    return net


def test_a_model_comes_back(tmp_path: Path) -> None:
    """By hand: σ(1.5 · 1) · e²/(e² + e⁰), with labels set to the logits 2 and 0."""
    model = dpl.Model(dpl.Program(NEURAL), {"net": linear(1.5)})
    with torch.no_grad():
        model.labels.logits.copy_(torch.tensor([2.0, 0.0]))
    model.save(tmp_path / "kept")
    assert {path.name for path in tmp_path.iterdir()} == {"kept"}
    assert {p.name for p in (tmp_path / "kept").iterdir()} == {"config.json", "model.safetensors"}
    again = dpl.load(tmp_path / "kept", networks={"net": linear(0.0)})
    expected = 1 / (1 + math.exp(-1.5)) / (1 + math.exp(-2.0))
    assert again.prob(ASKED) == pytest.approx(expected, rel=1e-6)
    same = open_program(RunFolder(tmp_path / "kept"), {"net": linear(0.0)})
    assert same.prob(ASKED) == pytest.approx(expected, rel=1e-6)
    config = json.loads((tmp_path / "kept" / "config.json").read_text())
    assert config["options"]["lines"] == NEURAL.split("\n")
    assert read_weights(tmp_path / "kept")["labels.logits"].tolist() == [2.0, 0.0]


def test_networks_are_given_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "kept"
    dpl.Model(dpl.Program(NEURAL), {"net": linear(1.0)}).save(folder)
    with pytest.raises(DataError, match=r"missing are net \(Linear\)") as found:
        dpl.load(folder)
    assert found.value.hint == 'dpl.load(folder, networks={"net": module})'
    with pytest.raises(DataError, match=r"weight is float32 \[2, 2\] in the folder, .* \[2, 3\]"):
        dpl.load(folder, networks={"net": linear(1.0, 3)})
    with pytest.raises(DataError, match="saved with the scorer Unit, and ClauseWeights is given"):
        dpl.load(folder, networks={"net": linear(1.0)}, scorer=dpl.ClauseWeights)
    with pytest.raises(DataError, match="holds something already"):
        dpl.Model(dpl.Program("p.")).save(folder)
    assert main(["query", str(folder), "p(X)"]) == 2
    assert "asked in Python" in capsys.readouterr().err


def test_outputs_are_kept(tmp_path: Path) -> None:
    net = nn.Sequential(linear(1.0), nn.Softmax(dim=1))
    dpl.Model(dpl.Program(NEURAL), {"net": dpl.Network(net, outputs="probabilities")}).save(
        tmp_path / "kept"
    )
    other = nn.Sequential(linear(0.0), nn.Softmax(dim=1))
    again = dpl.load(tmp_path / "kept", networks={"net": other})
    assert again.prob(ASKED) == pytest.approx(0.3 / (1 + math.exp(-1.0)), rel=1e-6)


def test_a_scorer_is_given_again(tmp_path: Path) -> None:
    program = dpl.Program("s :- a. s :- b. a. b :- fail.")
    scorer = dpl.ClauseWeights(program)
    with torch.no_grad():
        scorer.logits[:2] = torch.tensor([1.0, 0.0])
    dpl.Model(program, scorer=scorer).save(tmp_path / "kept")
    again = dpl.load(tmp_path / "kept", scorer=dpl.ClauseWeights)
    assert again.prob("s") == pytest.approx(1 / (1 + math.exp(-1.0)))
    with pytest.raises(DataError, match="saved with the scorer ClauseWeights, and Unit is given"):
        dpl.load(tmp_path / "kept")


def test_a_changed_program_says_what_changed(tmp_path: Path) -> None:
    file = tmp_path / "coin.pl"
    file.write_text("t(0.25) :: p(a).\nt(0.75) :: p(b).\n")
    dpl.Model(dpl.Program.read(file)).save(tmp_path / "kept")
    assert dpl.load(tmp_path / "kept").prob("p(a)") == pytest.approx(0.25)
    file.write_text("t(0.25) :: p(a).\nt(0.75) :: p(c).\n")
    with pytest.warns(Notice, match=r"the first is 2: `t\(0.75\) :: p\(b\).` was saved"):
        assert dpl.load(tmp_path / "kept").prob("p(b)") == pytest.approx(0.75)
    with pytest.raises(ModelError, match=r"label 2 is that of `p\(b\)\.?` there, of `p\(c\)"):
        dpl.load(tmp_path / "kept", program=dpl.Program.read(file))
    kept = tmp_path / "kept" / "config.json"
    kept.write_text(kept.read_text().replace("p(a)", "p(x)"))
    with pytest.raises(DataError, match="damaged or was edited"):
        dpl.load(tmp_path / "kept")


def test_what_has_no_text_is_refused(tmp_path: Path) -> None:
    program = dpl.Program("p(a). p(b).")
    view = program.without(program.query("p(a)").atoms[0])  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="no text to save"):
        dpl.Model(view).save(tmp_path / "kept")
    assert not (tmp_path / "kept").exists()
