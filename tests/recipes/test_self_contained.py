"""Runs that keep what they were trained on: files may move, be shuffled, change or be gone."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from deepprooflog.cli import main
from deepprooflog.errors import DataError, Notice
from deepprooflog.kg.data.folder import find_graph
from deepprooflog.kg.data.snapshot import read_snapshot, save_snapshot
from deepprooflog.kg.learn.options import GraphOptions
from deepprooflog.kg.opening import open_graph_model
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.kg.prove.theory import Theory
from deepprooflog.learn.run.folder import open_run
from deepprooflog.recipes.graph import train
from deepprooflog.recipes.tasks import TASKS, EvaluateOptions, QueryOptions

SMALL = {
    "prior.dimension": 8, "prior.steps": 30, "prior.batch": 128, "exact.steps": 4,
    "exact.validate_every": 2, "exact.batch": 16, "exact.negatives": 4, "search.nesting": 1,
    "evaluation.validation_size": 10, "evaluation.test_size": 30, "policy.dimension": 8,
    "belief.shift": False, "threads": 1,
}  # fmt: skip
QUERY = "mother(X, max_ashgrove)"


def opened(run: Path) -> tuple[GraphOptions, Theory, Prover]:
    model = open_graph_model(run)
    return model.options, model.theory, model.prover


def village(path: Path) -> Path:
    """The package's own graph as tables, in a folder that can be changed."""
    path.mkdir()
    shipped = find_graph("village")
    for split in ("train", "valid", "test"):
        rows = []
        for line in (shipped / f"{split}.pl").read_text().splitlines():
            relation, _, rest = line.rstrip(".)").partition("(")
            head, _, tail = rest.partition(",")
            rows.append(f"{head}\t{relation}\t{tail}\n")
        (path / f"{split}.tsv").write_text("".join(rows))
    shutil.copy(shipped / "rules.pl", path / "rules.pl")
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("graphs")
    data = village(folder / "village")
    train("kg", {**SMALL, "data": str(data)}, folder / "run", progress=False)
    return data, folder / "run"


@pytest.fixture
def copies(trained: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    """Data and run of one's own; the run looks for its data where they are now."""
    data, run = (shutil.copytree(path, tmp_path / path.name) for path in trained)
    kept = run / "graph.json"
    own = read_snapshot(kept)
    files = {
        name: (str(data / Path(path).name), known) for name, (path, known) in own.files.items()
    }
    save_snapshot(kept, replace(own, folder=str(data), files=files))
    return data, run


def figures(run: Path, **given: Any) -> dict[str, Any]:
    found, _ = TASKS["kg"].evaluate(open_run(run), EvaluateOptions(progress=False, **given))
    return {key: found[key] for key in ("mrr", "hits@1", "hits@10", "auc_pr", "queries", "goals")}


def answers(run: Path, **given: Any) -> list[dict[str, Any]]:
    asked = QueryOptions(QUERY, proofs=1, **given)
    found: list[dict[str, Any]] = TASKS["kg"].query(open_run(run), asked).to_dict()["answers"]
    return found


def shuffle(data: Path) -> None:
    """The rows of each relation backwards: names get other numbers by first occurrence."""
    for split in ("train", "valid", "test"):
        path = data / f"{split}.tsv"
        rows = path.read_text().splitlines(keepends=True)
        of_relation: dict[str, list[str]] = {}
        for row in rows:
            of_relation.setdefault(row.split("\t")[1], []).append(row)
        path.write_text("".join(of_relation[row.split("\t")[1]].pop() for row in rows))


def test_rows_in_another_order_are_the_same_graph(
    copies: tuple[Path, Path], recwarn: pytest.WarningsRecorder
) -> None:
    data, run = copies
    before = figures(run), answers(run)
    shuffle(data)
    assert (figures(run), answers(run)) == before
    assert (figures(run, data=str(data)), answers(run, data=str(data))) == before
    assert not [w for w in recwarn if issubclass(w.category, Notice)]


def test_a_changed_graph_is_told_and_answered_from_as_it_was(copies: tuple[Path, Path]) -> None:
    data, run = copies
    before = answers(run)
    rows = (data / "train.tsv").read_text().splitlines(keepends=True)
    (data / "train.tsv").write_text("".join(rows[1:]) + "newcomer\tmother\tmax_ashgrove\n")
    with pytest.warns(Notice, match="1 new entity, the first newcomer") as told:
        assert answers(run) == before
    text = str(told[0].message)
    assert "1 train triple more, the first mother(newcomer, max_ashgrove)" in text
    assert "1 train triple fewer" in text
    assert "--data" in text


def test_another_graph_may_have_entities_that_the_prior_does_not_know(
    copies: tuple[Path, Path],
) -> None:
    data, run = copies
    with (data / "train.tsv").open("a") as file:
        file.write("newcomer\tmother\tmax_ashgrove\n")
    found = TASKS["kg"].query(
        open_run(run), QueryOptions("mother(newcomer, max_ashgrove)", data=str(data), proofs=1)
    )
    (one,) = found.to_dict()["answers"]
    assert one["known"]
    assert one["prior"] is None
    assert one["unseen"] == ["newcomer"]
    assert one["probability"] == one["by_proof"] > 0
    assert 0 < figures(run, data=str(data))["mrr"] <= 1
    with (data / "train.tsv").open("a") as file:
        file.write("newcomer\tenvies\tmax_ashgrove\n")
    with pytest.raises(DataError, match="1 relation that the run knows nothing of, the first env"):
        answers(run, data=str(data))


def test_rules_are_the_runs_own(copies: tuple[Path, Path]) -> None:
    data, run = copies
    before = answers(run)
    rules = data / "rules.pl"
    kept = [line for line in rules.read_text().splitlines() if not line.startswith("mother(")]
    rules.write_text("\n".join(kept) + "\nmother(X, Y) :- father(X, Y), father(Y, X).\n")
    with pytest.warns(Notice, match=r"rules.pl: 1 new rule"):
        assert answers(run) == before
    rules.unlink()
    assert answers(run) == before


def test_nothing_but_the_run_is_needed(
    copies: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, run = copies
    before = figures(run), answers(run)
    shutil.rmtree(data)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    moved = shutil.move(run, elsewhere / "moved")
    assert (figures(Path(moved)), answers(Path(moved))) == before


def test_a_recipe_of_ones_own_may_be_gone(trained: tuple[Path, Path], tmp_path: Path) -> None:
    recipe = tmp_path / "mine.toml"
    recipe.write_text('task = "kg"\n[options]\nlearner = "none"\n')
    options = {**SMALL, "data": str(trained[0]), "prior.from_run": str(trained[1])}
    train(str(recipe), options, tmp_path / "run", progress=False)
    before = answers(tmp_path / "run")
    recipe.unlink()
    assert answers(tmp_path / "run") == before


def test_a_prior_of_another_run_is_found_by_names(copies: tuple[Path, Path]) -> None:
    data, run = copies
    shuffle(data)
    options = {**SMALL, "data": str(data), "prior.from_run": str(run), "learner": "none"}
    train("kg", options, run.parent / "second", progress=False)
    _, theory, prover = opened(run)
    _, other, second = opened(run.parent / "second")
    assert theory.graph.entities != other.graph.entities
    rows = theory.graph.test[:20]
    ids = other.graph.entity_ids
    there = rows.copy()
    for column in (0, 2):
        there[:, column] = [ids[theory.graph.entities[e]] for e in rows[:, column]]
    scores = [
        p.belief.kge.score(*torch.from_numpy(r).unbind(1))  # type: ignore[union-attr]
        for p, r in ((prover, rows), (second, there))
    ]
    assert torch.equal(*scores)


def test_runs_that_keep_no_names(copies: tuple[Path, Path]) -> None:
    """Of an older version: taken on trust where sizes fit, told apart where they do not."""
    data, run = copies
    before = figures(run)
    (run / "graph.json").unlink()
    config = open_run(run).config()
    config["options"]["data"] = str(data)
    open_run(run).write_json("config.json", config)
    with pytest.warns(Notice, match="keeps no copy of its graph"):
        assert figures(run) == before
    rules = (data / "rules.pl").read_text()
    (data / "rules.pl").write_text(rules + "mother(X, Y) :- nurse(X, Y). nurse(X, X).\n")
    with pytest.warns(Notice), pytest.raises(DataError, match="other rules or relations"):
        figures(run)
    (data / "rules.pl").write_text(rules)
    with (data / "train.tsv").open("a") as file:
        file.write("newcomer\tmother\tmax_ashgrove\n")
    with pytest.warns(Notice), pytest.raises(DataError) as error:
        figures(run)
    assert "not the one it was trained on" in str(error.value)
    assert "size mismatch" not in str(error.value)


def test_an_open_triple_is_not_explained(
    trained: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The command to try can be pasted into a shell, whatever quotes the query has."""
    assert main(["explain", str(trained[1]), "mother(X, 'max_ashgrove')"]) == 2
    hint = capsys.readouterr().err.split("try: ")[1].strip()
    assert shlex.split(hint) == ["dprl", "query", str(trained[1]), "mother(X, 'max_ashgrove')"]
