"""`dprl plot`: what is drawn are the values of metrics.jsonl and result.json."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from deepprooflog.cli import main
from deepprooflog.errors import ModelError, Notice
from deepprooflog.kg.evaluation.figures import records
from deepprooflog.kg.evaluation.ranking import rank
from deepprooflog.kg.opening import open_graph_model
from deepprooflog.learn.run.charts import BarChart, LineChart, charts_figure, charts_svg
from deepprooflog.learn.run.folder import open_run
from deepprooflog.recipes.addition import run as addition
from deepprooflog.recipes.graph import train
from deepprooflog.recipes.plot import charts_of

SMALL = {
    "data": "village", "prior.dimension": 4, "prior.steps": 20, "exact.steps": 4,
    "exact.validate_every": 1, "exact.batch": 8, "exact.negatives": 2, "search.nesting": 1,
    "evaluation.validation_size": 6, "evaluation.test_size": 20, "policy.dimension": 4,
    "belief.shift": False, "threads": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "village"
    train("kg", SMALL, out, progress=False)
    return out


def drawn_bars(svg: str) -> dict[str, float]:
    """Names and values of the bars, the values by their lengths as well."""
    found, widths = {}, {}
    for rect in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}rect"):
        if (name := rect.get("data-name")) is not None:
            found[name] = float(rect.get("data-value", "nan"))
            widths[name] = float(rect.get("width", "nan"))
    longest, widest = max(found.values()), max(widths.values())
    for name, value in found.items():
        assert widths[name] / widest == pytest.approx(value / longest, abs=1e-3)
    return found


def plotted(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["plot", *arguments]) == 0
    return capsys.readouterr().out


def test_curves_are_the_metrics(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    told = json.loads(plotted(capsys, str(run), "--what", "curves", "--json"))
    lines = {chart["title"]: chart["series"] for chart in told["charts"]}
    assert lines == {
        "loss": {"training": [[row["step"], row["loss"]] for row in rows]},
        "validation": {"validation": [[row["step"], row["validation"]] for row in rows]},
    }
    svg = plotted(capsys, str(run), "--what", "curves")
    first = next(ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}polyline"))
    ys = np.array([float(point.split(",")[1]) for point in first.attrib["points"].split()])
    loss = np.array([row["loss"] for row in rows])
    # Heights fall as a line of the values.
    slope, offset = np.polyfit(loss, ys, 1)
    assert slope < 0
    np.testing.assert_allclose(slope * loss + offset, ys, atol=0.11)


def test_bars_of_relations_are_the_results(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = json.loads((run / "result.json").read_text())
    wanted = {name: row["mrr"] for name, row in result["test"]["relations"].items()}
    found = drawn_bars(plotted(capsys, str(run), "--what", "relations"))
    assert found == wanted
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_the_histogram_counts_ranks(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Counted one by one from the same ranking."""
    from deepprooflog.kg.evaluation.scores import success_score

    model = open_graph_model(run)
    ranking = rank(model.graph, success_score(model.prover), model.queries())
    ranks = [row["rank"] for row in records(ranking)]
    found = drawn_bars(plotted(capsys, str(run), "--what", "ranks"))
    assert list(found) == ["1", "2", "3", "4 to 5", "6 to 10", "11 to 20", "21 to 50",
                           "51 to 100", "above 100"]  # fmt: skip
    low = 0.0
    for name, count in found.items():
        high = float(name.split()[-1]) if "above" not in name else np.inf
        assert count == sum(low < one <= high for one in ranks)
        low = high
    result = json.loads((run / "result.json").read_text())["test"]
    assert found["1"] / len(ranks) == pytest.approx(result["hits@1"])


def test_a_result_without_ranks_is_ranked_again(run: Path, tmp_path: Path) -> None:
    old = Path(shutil.copytree(run, tmp_path / "old"))
    folder = open_run(old)
    result = folder.read_result()
    expected = result["test"].pop("ranks")
    folder.write_json("result.json", result)
    with pytest.warns(Notice, match="ranking the test triples again"):
        (chart,) = charts_of(folder, "ranks")
    assert isinstance(chart, BarChart)
    assert list(chart.values.values()) == list(expected.values())


def test_calibration_compares_with_what_is_true(run: Path) -> None:
    """The share of truths in a bin is counted here from the model's own probabilities."""
    lines, counts = charts_of(open_run(run), "calibration")
    assert isinstance(lines, LineChart) and isinstance(counts, BarChart)
    model = open_graph_model(run)
    with torch.no_grad():
        held = model.prover(torch.from_numpy(model.graph.valid)).success
    truths = held[held < 0.1]
    found = dict(enumerate(lines.series["found"]))
    assert lines.series["as it should be"] == [(0.0, 0.0), (1.0, 1.0)]
    in_first = counts.values["0 to 0.1"]
    assert found[0][1] == pytest.approx(len(truths) / in_first)
    assert sum(counts.values.values()) == pytest.approx(3 * len(model.graph.valid), rel=0.02)


def test_png_has_the_same_values(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    charts = charts_of(open_run(run), "curves") + charts_of(open_run(run), "relations")
    axes = charts_figure(charts).axes
    for own, chart in zip(axes, charts, strict=True):
        if isinstance(chart, LineChart):
            (points,) = chart.series.values()
            np.testing.assert_array_equal(own.lines[0].get_xydata(), np.array(points))
        else:
            assert [bar.get_width() for bar in own.patches] == list(chart.values.values())
    path = tmp_path / "all.png"
    assert "charts in" in plotted(capsys, str(run), "-o", str(path))
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_sums_have_curves_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given: dict[str, object] = {"n": 1, "sums": 12, "training.epochs": 2, "augment": "none"}
    addition.train("digits-addition", given, tmp_path / "run", progress=False)
    svg = plotted(capsys, str(tmp_path / "run"), "-o", str(tmp_path / "x.svg"), "--json")
    titles = [chart["title"] for chart in json.loads(svg)["charts"]]
    assert titles == ["loss", "accuracy", "digit accuracy"]
    assert main(["plot", str(tmp_path / "run"), "--what", "relations"]) == 2
    assert "the run's result has no relations" in capsys.readouterr().err


def test_what_cannot_be_drawn_is_refused(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    assert main(["plot", str(run), "-o", "x.gif"]) == 2
    assert "x.gif: error: a picture ends in .svg or .png" in capsys.readouterr().err
    assert main(["plot", str(tmp_path)]) == 2
    assert "not the folder of a run" in capsys.readouterr().err
    assert (
        main(["plot", str(run), "--what", "relations", "-o", str(tmp_path / "no" / "x.svg")]) == 2
    )
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(ModelError, match="not installed"):
        charts_figure([BarChart("x", {"a": 1.0})])


def test_names_are_shown_as_they_are() -> None:
    """A chart is XML whatever stands in a name."""
    names = ["<script>alert(1)</script>", 'a"b', "\x1b[31m red", "x" * 500, "\u202eabc", "$x_1$"]
    svg = charts_svg([BarChart("names & <more>", {name: 1.0 for name in names})])
    root = ElementTree.fromstring(svg)
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
    shown = [t.text or "" for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "names & <more>" in shown
    assert max(map(len, shown)) <= 28
