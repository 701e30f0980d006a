"""Table 1 on the small digits: rows for each run, their mean, and nothing trained twice."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

main = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "table1.py"))["main"]

SMALL = ["--recipe", "digits-addition", "--set", "sums=12", "--set", "training.epochs=1"]


def test_rows_and_repetition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn brings the 8 × 8 digits")
    arguments = [*SMALL, "--n", "1", "2", "--seeds", "0", "1", "--out", str(tmp_path)]
    assert main(arguments) == 0
    first = capsys.readouterr().out.splitlines()
    assert len(first) == 2 + 2 * 3, "a heading, then two runs and their mean for each n"
    assert first[4].startswith("| dp | elastic | 1 | mean ± sd |")
    runs = {path.name for path in tmp_path.iterdir()}
    assert runs == {f"dp-elastic-n{n}-s{s}" for n in (1, 2) for s in (0, 1)}
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("checkpoint.pt")}
    assert main(arguments) == 0
    assert capsys.readouterr().out.splitlines() == first
    assert written == {path: path.stat().st_mtime_ns for path in written}


def test_bad_settings_are_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--set", "nothing=1", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("error: ")
