"""A run at a glance, as pages and plots show it: curves, relations, reliability, rules."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepprooflog.kg.data.rules import Rules
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.evaluation.reliability import Reliability, reliability_of
from deepprooflog.kg.evaluation.scores import success_score
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.kg.readings.table import RuleRow, rule_rows
from deepprooflog.learn.run.folder import RunFolder

AXES = ("step", "epoch")


@dataclass(frozen=True)
class RunSummary:
    """What a run did and how good it is.

    `curves` are points (step, value) by the name of the metric; `test` the figures of its test
    split as `result.json` has them, empty before the run is done; `rules` stand by learned weight.
    """

    curves: Mapping[str, tuple[tuple[float, float], ...]]
    test: Mapping[str, Any]
    reliability: Reliability | None
    rules: tuple[RuleRow, ...]

    @property
    def relations(self) -> Mapping[str, Mapping[str, Any]]:
        """The test figures of each relation."""
        found: Mapping[str, Mapping[str, Any]] = self.test.get("relations", {})
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, as scripts read it."""
        return {
            "curves": {name: [list(p) for p in points] for name, points in self.curves.items()},
            "relations": {name: dict(found) for name, found in self.relations.items()},
            "test": {k: v for k, v in self.test.items() if isinstance(v, int | float | str)},
            "reliability": None if self.reliability is None else self.reliability.to_dict(),
            "rules": [rule.to_dict() for rule in self.rules],
        }  # fmt: skip


def summary_of(
    graph: Graph,
    prover: Prover | None,
    rules: Rules,
    result: Mapping[str, Any],
    run: RunFolder | None,
    triples: int = 500,
    negatives: int = 1,
) -> RunSummary:
    """The summary of a model; without a prover there is neither reliability nor a rule."""
    reliable, rows = None, list[RuleRow]()
    if prover is not None:
        draw = np.random.default_rng(0).permutation(len(graph.valid))
        asked = graph.valid[np.sort(draw[:triples])]
        reliable = reliability_of(graph, success_score(prover), asked, negatives=negatives)
        rows = sorted(rule_rows(graph, rules.rules, prover), key=lambda row: -(row.weight or 0.0))
    curves = {} if run is None else run_curves(run)
    return RunSummary(curves, result.get("test") or {}, reliable, tuple(rows))


def run_curves(run: RunFolder) -> dict[str, tuple[tuple[float, float], ...]]:
    """The metrics of a run by name, each over its steps; what is no finite number is left out.

    >>> from pathlib import Path
    >>> run_curves(RunFolder(Path("a run without metrics")))
    {}
    """
    path = run.path / "metrics.jsonl"
    found: dict[str, list[tuple[float, float]]] = {}
    if not path.exists():
        return {}
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            row = json.loads(line)
        except ValueError:  # a line that a killed run left half written
            continue
        x = next((row[axis] for axis in AXES if axis in row), None)
        if x is None:
            continue
        for name, value in row.items():
            if name not in AXES and isinstance(value, int | float) and math.isfinite(value):
                found.setdefault(name, []).append((float(x), float(value)))
    return {name: tuple(points) for name, points in found.items()}
