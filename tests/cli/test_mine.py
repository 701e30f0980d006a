"""`dprl mine`: a file of rules, in every form, also when it is stopped."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from deepprooflog.cli import main, parser
from deepprooflog.kg.data.rule_files.rule_writing import FORMS
from deepprooflog.kg.data.rules import read_rules
from deepprooflog.kg.mining import miner
from deepprooflog.kg.mining.options import MineOptions

FAST = ["--max-length", "2", "--no-constants"]


@pytest.fixture
def family(tmp_path: Path) -> Path:
    """Twenty fathers with two children each, brothers of whom the facts know half."""
    rows = [f"f{n}\tfather\tc{n}_{k}" for n in range(20) for k in range(2)]
    rows += [f"c{n}_0\tbrother\tc{n}_1" for n in range(20)]
    rows += [f"c{n}_1\tbrother\tc{n}_0" for n in range(10)]
    folder = tmp_path / "family"
    folder.mkdir()
    (folder / "train.tsv").write_text("".join(row + "\n" for row in rows))
    for split in ("valid", "test"):
        (folder / f"{split}.tsv").write_text("c15_1\tbrother\tc15_0\n")
    return folder


def test_a_program_of_rules(
    family: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rules.pl"
    assert main(["mine", str(family), "-o", str(out), *FAST]) == 0
    rules = {str(rule): rule.weight for rule in read_rules(out)}
    assert rules["brother(A,B) :- father(C,A), father(C,B)."] == 0.75
    assert "% support 30 of 40, head coverage 1, PCA confidence 1, e.g. brother(" in out.read_text()
    assert f"{len(rules)} rules, 0 of them with constants" in capsys.readouterr().out


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read_again(family: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / ("rules.pl" if form == "program" else "rules.txt")
    assert main(["mine", str(family), "-o", str(out), "--form", form, *FAST]) == 0
    texts = {str(rule): rule.weight for rule in read_rules(out)}
    assert texts["brother(A,B) :- father(C,A), father(C,B)."] == 0.75


def test_json(family: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "rules.pl"
    assert main(["mine", str(family), "-o", str(out), "--json", "--min-support", "25"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rules"] == len(read_rules(out)) and not told["cut"]
    assert set(told) == {"data", "rules", "with_constants", "out", "cut", "notices", "seconds"}


def test_without_a_file_the_rules_are_printed(
    family: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mine", str(family), *FAST]) == 0
    assert "0.75 :: brother(A,B) :- father(C,A), father(C,B).\n" in capsys.readouterr().out


def test_a_signal_leaves_a_file_of_what_was_found(
    family: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    real, asked = miner.mine, iter(range(10**6))

    def mine(graph: Any, **options: Any) -> Any:
        stop = options.pop("stop")

        def later() -> bool:
            if next(asked) == 6:
                signal.raise_signal(signal.SIGINT)
            return bool(stop())

        return real(graph, stop=later, **options)

    monkeypatch.setattr(miner, "mine", mine)
    out = tmp_path / "rules.pl"
    # Whoever starts the tests in the background of a shell has SIGINT ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main(["mine", str(family), "-o", str(out)]) == 130
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    rules = read_rules(out)
    shown = capsys.readouterr()
    assert len(rules) > 0 and "cut short" in shown.err
    assert f"{len(rules)} rules are written" in shown.err
    assert "cut short" in out.read_text().split("\n")[1]


def test_a_budget_leaves_a_file_of_what_was_found(
    family: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rules.pl"
    assert main(["mine", str(family), "-o", str(out), "--seconds", "0.000001", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cut"]
    assert out.exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["-o", "nowhere/rules.pl"], "folder does not exist"),
        (["-o", "rules.pl", "--max-length", "7"], "max_length=7"),
        (["-o", "rules.pl", "--min-confidence", "2"], "min_confidence=2.0"),
        (["-o", "rules.pl", "--no-identity", "--guards"], "guards without identity"),
        (["--json"], "no file for the rules"),
    ],
)
def test_bad_input(
    family: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["mine", str(family), *options]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "rules.pl").exists()


def test_the_help_tells_the_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["mine", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    defaults = MineOptions()
    for told in (defaults.seconds, defaults.max_length, defaults.min_support,
                 defaults.min_confidence, defaults.most, defaults.most_of_constant,
                 defaults.seed):  # fmt: skip
        assert f"default: {told:g}" in text
