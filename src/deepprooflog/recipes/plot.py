"""The charts of a run: its curves, how its test triples rank, and how far it can be believed.

curves         each metric of metrics.jsonl
ranks          how many test lists have their answer at which rank
relations      the MRR of each relation
calibration    of validation triples that are held so probable, the share that is true
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from deepprooflog.errors import DataError, Notice
from deepprooflog.kg.evaluation.figures import RANK_EDGES
from deepprooflog.kg.evaluation.reliability import Reliability, reliability_of
from deepprooflog.kg.evaluation.scores import Score, success_score
from deepprooflog.kg.ground.model import GroundedModel
from deepprooflog.kg.model import GraphModel
from deepprooflog.kg.summary import run_curves
from deepprooflog.learn.run.charts import BarChart, Chart, LineChart
from deepprooflog.learn.run.folder import RunFolder
from deepprooflog.recipes.tasks import run_kind

VALIDATION = "validation_"
MOST_RELATIONS = 40
ASKED = 500  # validation triples whose probability is compared with what is true
NEGATIVES = 1


def charts_of(run: RunFolder, what: str = "all") -> list[Chart]:
    """The charts of a run; `all` are those that it has."""
    if what != "all":
        return CHARTS[what](run)
    found: list[Chart] = []
    for make in CHARTS.values():
        try:
            found += make(run)
        except DataError as error:
            warnings.warn(f"left out: {error.message}", Notice, stacklevel=2)
    if not found:
        raise DataError("there is nothing to draw yet", file=str(run.path))
    return found


def _curves(run: RunFolder) -> list[Chart]:
    found = run_curves(run)
    panels: dict[str, dict[str, tuple[tuple[float, float], ...]]] = {}
    for name, points in found.items():
        if name not in ("seconds", "epoch", "step"):
            title = name.removeprefix(VALIDATION)
            line = "validation" if name.startswith(VALIDATION[:-1]) else "training"
            panels.setdefault(title, {})[line] = points
    if not panels:
        raise DataError("the run has no metrics.jsonl to draw curves of", file=str(run.path))
    return [LineChart(title.replace("_", " "), lines) for title, lines in panels.items()]


def _test(run: RunFolder, key: str) -> Mapping[str, Any]:
    if not run.result.exists():
        raise DataError("the run is not done: it has no result", file=str(run.path))
    test = run.read_result().get("test", {})
    found = test.get(key)
    if isinstance(found, Mapping):
        return found
    if key == "relations" or "mrr" not in test:
        raise DataError(f"the run's result has no {key}", file=str(run.path))
    warnings.warn(f"result.json has no {key}: ranking the test triples again", Notice, stacklevel=2)
    again = run_kind(run).open(run).evaluate().to_dict()[key]
    assert isinstance(again, Mapping)
    return again


def _ranks(run: RunFolder) -> list[Chart]:
    found, before = _test(run, "ranks"), 0
    bars: dict[str, float] = {}
    for edge in RANK_EDGES:
        bars[f"{edge}" if edge == before + 1 else f"{before + 1} to {edge}"] = found[str(edge)]
        before = edge
    bars[f"above {before}"] = found["more"]
    return [BarChart("ranks of test triples: lists", {k: float(v) for k, v in bars.items()})]


def _relations(run: RunFolder) -> list[Chart]:
    found = _test(run, "relations")
    best = sorted(found.items(), key=lambda item: -item[1]["lists"])
    left_out = len(best) - MOST_RELATIONS
    more = f", the {MOST_RELATIONS} with the most test lists of {len(best)}" * (left_out > 0)
    shown = sorted(best[:MOST_RELATIONS], key=lambda item: -item[1]["mrr"])
    values = {name: float(row["mrr"]) for name, row in shown}
    return [BarChart(f"MRR by relation{more}", values)]


def _calibration(run: RunFolder) -> list[Chart]:
    found = run_reliability(run)
    points = [
        (one.mean, one.share)
        for one in found.bins
        if one.mean is not None and one.share is not None
    ]
    title = f"share that is true, by probability (calibration error {found.error:.3f})"
    lines = {"as it should be": [(0.0, 0.0), (1.0, 1.0)], "found": points}
    counts = {f"{one.low:g} to {one.high:g}": float(one.count) for one in found.bins}
    truths = f"{found.truths:,} validation triples, {found.triples - found.truths:,} corruptions"
    return [LineChart(title, lines, "probability"), BarChart(f"{truths}, by probability", counts)]


def run_reliability(run: RunFolder) -> Reliability:
    """How a graph run's probabilities compare with what is true of some validation triples."""
    model = run_kind(run).open(run)
    score: Score
    if isinstance(model, GraphModel) and model.walks is None:
        score = success_score(model.prover)
    elif isinstance(model, GroundedModel):
        score = model.score
    else:
        raise DataError("only probabilities of triples by rules are compared", file=str(run.path))
    graph = model.graph
    draw = np.random.default_rng(0).permutation(len(graph.valid))
    asked = graph.valid[np.sort(draw[:ASKED])]
    found = reliability_of(graph, score, asked, negatives=NEGATIVES)
    if found is None:
        raise DataError("there are no validation triples to compare with", file=str(run.path))
    return found


CHARTS: dict[str, Callable[[RunFolder], list[Chart]]] = {
    "curves": _curves,
    "ranks": _ranks,
    "relations": _relations,
    "calibration": _calibration,
}
