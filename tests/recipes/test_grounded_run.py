"""Runs of SBR, DCR and R2N on a small graph: trained, read again, asked, refused."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from deepprooflog.cli import main
from deepprooflog.errors import DataError
from deepprooflog.kg.ground.model import TASK, open_grounded
from deepprooflog.kg.ground.options import GroundedOptions
from deepprooflog.kg.ground.table import BY_NAME
from deepprooflog.learn.run.folder import open_run
from deepprooflog.learn.run.options import option_fields
from deepprooflog.recipes.grounded.run import train
from deepprooflog.recipes.tasks import TASKS, EvaluateOptions, QueryOptions, load

RULES = "gran(X, Y) :- mother(X, Z), mother(Z, Y).\nmother(X, Y) :- child(Y, X).\n"
SMALL = {
    "prior.dimension": 4, "prior.steps": 20, "prior.batch": 32, "system.steps": 4,
    "system.validate_every": 2, "system.batch": 4, "system.negatives": 2, "system.dimension": 4,
    "ground.width": 1, "ground.depth": 2, "threads": 1, "belief.evidence": "score",
}  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight lines of five women each; of every line a grandmother is held out."""
    folder = tmp_path_factory.mktemp("lines")
    splits: dict[str, list[str]] = {"train": [], "valid": [], "test": []}
    for line in range(8):
        names = [f"w{line}_{n}" for n in range(5)]
        splits["train"] += [f"{a}\tmother\t{b}" for a, b in pairwise(names)]
        splits["train"].append(f"{names[4]}\tchild\t{names[3]}")
        splits["train"].append(f"{names[0]}\tgran\t{names[2]}")
        splits["valid"].append(f"{names[1]}\tgran\t{names[3]}")
        splits["test"].append(f"{names[2]}\tgran\t{names[4]}")
    for name, rows in splits.items():
        (folder / f"{name}.txt").write_text("\n".join(rows) + "\n")
    (folder / "rules.pl").write_text(RULES)
    return folder


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("recipe") / "small.toml"
    path.write_text(f'task = "{TASK}"\n')
    return str(path)


@pytest.fixture(scope="module", params=BY_NAME)
def run(
    request: pytest.FixtureRequest, data: Path, recipe: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:  # fmt: skip
    out = tmp_path_factory.mktemp("grounded") / "run"
    given: dict[str, Any] = {**SMALL, "data": str(data), "rules": str(data / "rules.pl")}
    train(recipe, {**given, "system": request.param}, out, progress=False)
    return out


def test_a_run_is_evaluated_again_and_asked(run: Path) -> None:
    """The same figures from the folder; both rules' groundings put the right woman first."""
    kept = json.loads((run / "result.json").read_text())
    assert kept["test"]["queries"] == 8 and kept["test"]["groundings"] > 0
    assert kept["test"]["prior"]["mrr"] <= 1.0
    found, _ = TASKS[TASK].evaluate(open_run(run), EvaluateOptions(progress=False))
    for key in ("mrr", "hits@1", "auc_pr", "groundings"):
        assert found[key] == kept["test"][key], key
    assert f"{kept['system']} " in TASKS[TASK].summary(kept)
    answers = TASKS[TASK].query(open_run(run), QueryOptions("gran(w3_2, X)", top=3))
    shown = answers.to_dict()["answers"]
    assert len(shown) == 3
    values = [one["probability"] for one in shown]
    assert values == sorted(values, reverse=True)
    assert all(v == max(a["by_proof"], a["prior"]) for v, a in zip(values, shown, strict=True))
    [told] = TASKS[TASK].explain(open_run(run), QueryOptions("gran(w3_2, w3_4)", proofs=2))
    assert told.by_proof > 0 and told.proof is not None
    told.proof.check()
    assert open_grounded(run).explain("gran(w3_4, w3_2)")[0].proof is None
    model = load(run)
    assert kept["system"] in repr(model)
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", model._repr_html_())  # as a notebook shows it
    assert cells[cells.index("entities") + 1] == "40" and cells[cells.index("rules") + 1] == "2"
    assert cells[cells.index("system") + 1] == kept["system"]
    assert f"{kept['test']['mrr']:.4g}" in cells


def test_the_rules_of_a_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """gran connects 24 pairs, of which 8 are facts; on validation all 8, 8 test triples known."""
    assert main(["rules", str(run), "--json"]) == 0
    gran, mother = json.loads(capsys.readouterr().out)["rules"]
    assert gran["rule"] == "gran(A,B) :- mother(A,C), mother(C,B)."
    assert (gran["support"], gran["predictions"], gran["confidence"]) == (8, 24, 1 / 3)
    assert (gran["right"], gran["wrong"]) == (8, 0) and gran["example"] == "gran(w0_0,w0_2)"
    assert (mother["support"], mother["predictions"]) == (8, 8) and mother["weight"] is None
    has_weights = json.loads((run / "result.json").read_text())["system"] != "sbr"
    assert (0 < gran["weight"] < 1) if has_weights else gran["weight"] is None
    assert main(["rules", str(run), "--data", "village"]) == 2
    assert "its own graph alone" in capsys.readouterr().err


def test_what_a_run_cannot_do_is_told(run: Path) -> None:
    kind, folder = TASKS[TASK], open_run(run)
    with pytest.raises(DataError, match="asks for both"):
        kind.query(folder, QueryOptions("gran(X, Y)"))
    with pytest.raises(DataError, match="is open"):
        kind.explain(folder, QueryOptions("gran(X, w3_4)"))
    with pytest.raises(DataError, match="its own graph alone"):
        kind.evaluate(folder, EvaluateOptions(data="village"))
    with pytest.raises(DataError, match="has no proofs"):
        kind.evaluate(folder, EvaluateOptions(proofs=1))


def test_bad_input_is_one_message(
    data: Path, recipe: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "open.pl"
    rules.write_text("gran(X, Y) :- mother(X, Z).\n")
    out = tmp_path / "run"
    given = ["--set", f"data={data}", "--set", f"rules={rules}", "--out", str(out)]
    assert main(["train", recipe, *given]) == 2
    told = capsys.readouterr().err
    assert "open.pl:1" in told and "cannot be grounded" in told and "Traceback" not in told
    assert not out.exists()


def test_options_are_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "systems.md").read_text(encoding="utf-8")
    for key in option_fields(GroundedOptions):
        if key.startswith(("system.", "ground.")):
            assert f"`{key}`" in page, f"docs/systems.md is silent on {key}"
