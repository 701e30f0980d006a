"""Runs whose answers are of one domain: a small world of its own, and Countries where it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from deepprooflog.cli import main
from deepprooflog.errors import DataError
from deepprooflog.kg.data.triples import SPLITS
from deepprooflog.kg.evaluation.scores import success_score
from deepprooflog.kg.learn.options import GraphOptions
from deepprooflog.kg.learn.setup import splits
from deepprooflog.kg.opening import open_graph_model
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.kg.prove.theory import Theory
from deepprooflog.learn.run.folder import open_run
from deepprooflog.recipes.graph import train
from deepprooflog.recipes.tasks import TASKS, EvaluateOptions

RULES = """\
in(X, R) :- part(X, S), holds(R, S).
in(X, R) :- near(X, Y), in(Y, R).
"""
SMALL = {
    "prior": "none", "learner": "exact", "candidates": "regions", "sides": "tail",
    "hide": "in, part near/in", "nesting": 3, "steps": 4, "look": 2, "batch": 6, "negatives": 2,
    "dimension": 8, "held_out": 0.99, "ranking": 0.0, "calibration": 1.0, "watch": "auc_pr",
    "threads": 1,
}  # fmt: skip


def opened(run: Path) -> tuple[GraphOptions, Theory, Prover]:
    model = open_graph_model(run)
    return model.options, model.theory, model.prover


def world(folder: Path) -> Path:
    """Four regions of six countries each in a ring; the last of each are asked about.

    Further borders, drawn at random, keep any two of them from being alike.
    """
    folder.mkdir()
    splits: dict[str, list[str]] = {"train": [], "valid": [], "test": []}
    for n in range(24):
        region, sub = n // 6, n // 3
        splits["train"] += [f"near(c{n},c{(n + 1) % 24}).", f"near(c{(n + 1) % 24},c{n})."]
        place = {4: "valid", 5: "test"}.get(n % 6, "train")
        splits[place].append(f"in(c{n},r{region}).")
        if n % 6 < 4:
            splits["train"].append(f"part(c{n},s{sub}).")
        if n % 3 == 0:
            splits["train"].append(f"holds(r{region},s{sub}).")
    rng = np.random.default_rng(7)
    for n in range(24):
        others = rng.choice(24, 1 + n % 3, replace=False)
        splits["train"] += [f"near(c{n},c{m})." for m in others if m not in (n - 1, n, n + 1)]
    for name, lines in splits.items():
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
    (folder / "rules.pl").write_text(RULES)
    countries = " ".join(f"c{n}" for n in range(24))
    (folder / "domain2constants.txt").write_text(f"regions r0 r1 r2 r3\ncountries {countries}\n")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return world(tmp_path_factory.mktemp("worlds") / "ring")


def small(folder: Path, out: Path, **given: object) -> dict[str, Any]:
    return train("kg", {**SMALL, "data": str(folder), **given}, out, progress=False)


@pytest.fixture(scope="module")
def run(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "ring"
    small(folder, out)
    return out


def by_hand(run: Path, domain: list[str], side: int) -> tuple[float, float]:
    """AUC-PR by scikit-learn and MRR by counting, over candidates listed by their names."""
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is the oracle")
    _, task, prover = opened(run)
    graph = task.graph
    score = success_score(prover)
    known = {tuple(row) for split in SPLITS
             for row in graph.split(split).tolist()}  # fmt: skip
    numbers = [graph.entity_ids[term] for term in graph.entities
               if graph.entity_text(graph.entity_ids[term]) in domain]  # fmt: skip
    truth: list[bool] = []
    scores: list[float] = []
    reciprocal: list[float] = []
    for query in graph.test.tolist():
        rows = []
        for number in numbers:
            row = list(query)
            row[side] = number
            if row == query or tuple(row) not in known:
                rows.append(row)
        found = score(torch.tensor(rows)).double().numpy()
        own = found[rows.index(query)]
        better, equal = (found > own).sum(), (found == own).sum() - 1
        reciprocal.append(1 / (1 + better + equal / 2))
        truth += [row == query for row in rows]
        scores += found.tolist()
    return float(metrics.average_precision_score(truth, scores)), float(np.mean(reciprocal))


def test_the_figures_of_a_domain(run: Path) -> None:
    found = open_run(run).read_result()["test"]
    expected = by_hand(run, ["r0", "r1", "r2", "r3"], 2)
    assert (found["auc_pr"], found["mrr"]) == pytest.approx(expected, abs=1e-9)
    assert (found["protocol"], found["sides"], found["among"]) == ("full", ["tail"], "regions")
    # Four test countries, each with the three regions it is not in.
    assert (found["lists"], found["candidates"]) == (4, 12)


def test_another_domain_when_evaluating(run: Path) -> None:
    asked = EvaluateOptions(candidates="countries", sides="head", progress=False)
    found, _ = TASKS["kg"].evaluate(open_run(run), asked)
    expected = by_hand(run, [f"c{n}" for n in range(24)], 0)
    assert (found["auc_pr"], found["mrr"]) == pytest.approx(expected, abs=1e-9)
    assert (found["sides"], found["among"]) == (["head"], "countries")
    asked = EvaluateOptions(candidates="", protocol="sampled", negatives=7, progress=False)
    everyone, _ = TASKS["kg"].evaluate(open_run(run), asked)
    assert (everyone["protocol"], everyone["negatives"], everyone["among"]) == ("sampled", 7, None)


def test_what_is_learned_from(run: Path) -> None:
    """Triples whose tails are regions: `in` of train, and neither `near` nor `part`."""
    options, task, _ = opened(run)
    learn, look = splits(options, task.graph, task.candidates)
    names = [task.graph.relations[r] for r in learn[:, 1]]
    assert names == ["in"] * 16
    assert sorted(map(tuple, look.tolist())) == sorted(map(tuple, task.graph.valid.tolist()))


def test_validation_hides_too(run: Path) -> None:
    """The kept figure is that of validation countries of which neither part nor region is known."""
    result = open_run(run).read_result()
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is the oracle")
    _, task, prover = opened(run)
    graph = task.graph
    assert task.hiding is not None
    hidden = success_score(task.hiding.prover(prover, graph.valid))
    regions = [graph.entity_ids[t] for t in graph.entities
               if graph.entity_text(graph.entity_ids[t]).startswith("r")]  # fmt: skip
    rows = [[h, r, region] for h, r, _ in graph.valid.tolist() for region in regions]
    truth = [row in graph.valid.tolist() for row in rows]
    scores = hidden(torch.tensor(rows)).double().numpy()
    expected = metrics.average_precision_score(truth, scores)
    assert result["validation"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"candidates": "reigons"}, "no domain reigons"),
        ({"candidates": "countries"}, r"the answer of in\(c4,r0\) is not one of countries"),
        ({"sides": "both"}, "is not one of regions"),
        ({"domains": "nowhere.txt"}, "nowhere.txt"),
        ({"data": "village", "hide": ""}, "the folder of village has no domain2constants.txt"),
        ({"candidates": "", "domains": "kinds.txt"}, "no domain is used"),
        ({"sides": "left"}, "sides is one of both, head, tail"),
        ({"hide": "prat"}, "no relation prat"),
        ({"hide": "in", "learner": "auto"}, "only exact learning hides"),
        ({"learner": "ppo"}, "only exact learning hides"),
        ({"calibration": 0.0}, "leave no loss"),
        ({"watch": "loss"}, "watch is one of mrr, auc_pr"),
    ],
)
def test_what_is_refused(
    folder: Path, given: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=message):
        small(folder, tmp_path / "run", **given)
    assert not (tmp_path / "run").exists()


def test_on_the_command_line(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(run)]) == 0
    assert "4 test triples, tails, among regions, average ties" in capsys.readouterr().out
    assert main(["evaluate", str(run), "--candidates", "country"]) == 2
    error = capsys.readouterr().err
    assert "no domain country" in error and "Traceback" not in error
    assert main(["evaluate", str(run), "--negatives", "5"]) == 2
    assert "all regions are negatives" in capsys.readouterr().err
    assert main(["evaluate", str(run), "--protocol", "sampled"]) == 2
    assert "protocol full" in capsys.readouterr().err


def test_countries(data_dir: Path, tmp_path: Path) -> None:
    """The recipe after a few steps: the test set's size, its figure by scikit-learn."""
    given = {"steps": 2, "nesting": 4, "threads": 1, "data": str(data_dir / "kg" / "countries_s3")}
    result = train("countries-s3", given, tmp_path / "run", progress=False)
    found = result["test"]
    assert (found["queries"], found["candidates"], found["cut"]) == (24, 24 * 4, 0)
    regions = ["africa", "americas", "asia", "europe", "oceania"]
    expected = by_hand(tmp_path / "run", regions, 2)
    assert (found["auc_pr"], found["mrr"]) == pytest.approx(expected, abs=1e-9)
