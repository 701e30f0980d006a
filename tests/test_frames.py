"""Results as frames and files: what is read back is what was found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas
import pytest
from pyarrow import parquet

import deepprooflog as dpl
from deepprooflog.cli import main
from deepprooflog.errors import DataError
from deepprooflog.frames import ResultTable
from deepprooflog.kg.prove.answer_table import COLUMNS

FACTS = [(f"a{n}", "q", f"b{n}") for n in range(6)] + [(f"a{n}", "p", f"b{n}") for n in range(4)]
NAME = 'O\'Hara, "quoted"\n<b>'


@pytest.fixture(scope="module")
def model() -> dpl.kg.GraphModel:
    graph = dpl.kg.load(
        [*FACTS, (NAME, "q", "b9")], valid=[("a4", "p", "b4")], test=[("a5", "p", "b5")]
    )
    rules = dpl.kg.parse_rules("p(X,Y) :- q(X,Y).")
    return dpl.kg.train(graph, rules=rules, prior="none", exact={"steps": 2}, threads=1)


@pytest.fixture(scope="module")
def run(model: dpl.kg.GraphModel, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("run") / "kept"
    model.save(folder)
    return str(folder)


def read(path: Path) -> pandas.DataFrame:
    if path.suffix == ".parquet":
        return parquet.read_table(path).to_pandas()
    return pandas.read_csv(path, sep="\t" if path.suffix == ".tsv" else ",")


def test_answers(model: dpl.kg.GraphModel) -> None:
    frame = model.query("p(X, b5)").to_frame()
    assert frame.columns.tolist() == ["X", *COLUMNS]
    assert frame["X"].tolist() == ["a5"]
    assert frame["triple"].tolist() == ["p(a5,b5)"]
    assert frame["probability"].tolist() == [model.explain("p(a5, b5)").probability]
    assert not frame["known"].any()
    assert "q(a5,b5)" in frame["proof"][0]
    assert model.query("p(X, b5)", new=True, top=1).to_frame().shape[0] == 1


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet"])
def test_query_saves(
    run: str, ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"answers{ending}"
    capsys.readouterr()
    assert main(["query", run, "p(X, b9)", "--json", "--save", str(path)]) == 0
    printed = json.loads(capsys.readouterr().out)["answers"]
    found = read(path)
    # A name with quotes, a comma and a line end comes back as it was.
    assert found["X"].tolist() == [one["bindings"]["X"] for one in printed]
    assert 'O\\\'Hara, "quoted"\\n<b>' in found["X"][0]
    assert np.allclose(found["probability"], [one["probability"] for one in printed])
    assert list(tmp_path.iterdir()) == [path]


def test_evaluate_saves(run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["evaluate", run, "--json", "--save", str(tmp_path / "f.parquet")]) == 0
    printed = json.loads(capsys.readouterr().out)
    frame = read(tmp_path / "f.parquet")
    rows = frame[frame["score"] == "p_success"]
    assert rows[rows["by"] == "all"]["mrr"].tolist() == [printed["mrr"]]
    sides = rows[rows["by"] == "side"].set_index("group")["mrr"].to_dict()
    assert sides == {side: printed[side]["mrr"] for side in ("head", "tail")}
    relations = rows[rows["by"] == "relation"]
    assert relations["group"].tolist() == ["p"]
    assert relations["lists"].tolist() == [2]
    figures = dpl.kg.open(run).evaluate()
    assert figures.to_frame()["mrr"][0] == figures.mrr


def test_rules_save(run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", run, "--save", str(tmp_path / "rules.csv")]) == 0
    found = read(tmp_path / "rules.csv")
    # Of the seven q, four are p in train: the rest is held out or unknown.
    assert found["rule"].tolist() == ["p(A,B) :- q(A,B)."]
    assert found[["support", "predictions"]].values.tolist() == [[4, 7]]
    frame = dpl.kg.open(run).rule_table().to_frame()
    assert frame["confidence"].tolist() == [pytest.approx(4 / 7)]


def test_what_cannot_be_written(
    run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["rules", run, "--save", "rules.xls"])
    assert left.value.code == 2
    assert ".csv, .tsv, .parquet" in capsys.readouterr().err
    assert main(["rules", run, "--save", str(tmp_path / "no" / "rules.csv")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(DataError, match=r"pandas is not installed[\s\S]*deepprooflog\[frames\]"):
        ResultTable(("a",), ({"a": 1},)).to_frame()


def test_answers_of_other_runs() -> None:
    """Sums have no triples: a row is the bindings, the probability and the proof."""
    from deepprooflog.recipes.answer_table import result_table

    program = dpl.Program("0.4 :: p(a). 0.6 :: p(b).")
    frame = result_table(dpl.predict(program, "p(X)", 2)).to_frame()
    assert frame[["X", "probability"]].values.tolist() == [["b", 0.6], ["a", 0.4]]
    assert frame["proof"][0].startswith("?- p(X).")
