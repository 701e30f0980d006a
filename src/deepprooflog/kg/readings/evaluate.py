"""The figures of readings: test triples ranked by the rules that back them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64, Int, Int64
from torch import Tensor

from deepprooflog.errors import DataError, Notice
from deepprooflog.kg.data.triples import SIDES
from deepprooflog.kg.evaluation.evaluate import Ranker
from deepprooflog.kg.evaluation.figures import figures
from deepprooflog.kg.evaluation.metrics import means, ranks
from deepprooflog.kg.evaluation.ranking import Ranking
from deepprooflog.kg.evaluation.scores import Score
from deepprooflog.kg.readings.scores import READINGS, RuleReader
from deepprooflog.learn.run.progress import Progress

POLICY, ALL = "policy", "all"
CHOICES = (POLICY, *READINGS, ALL)


def chosen_readings(reading: str) -> tuple[str, ...]:
    """The readings of rules that a choice stands for.

    >>> chosen_readings("all"), chosen_readings("policy")
    (('max', 'noisy-or', 'clusters'), ())
    """
    if reading not in CHOICES:
        raise DataError(f"no reading {reading!r}", hint=f"one of {', '.join(CHOICES)}")
    return tuple(READINGS) if reading == ALL else tuple(n for n in READINGS if n == reading)


def evaluate_readings(
    reader: RuleReader,
    ranker: Ranker,
    queries: Int64[np.ndarray, "queries 3"],
    names: Sequence[str],
    among: str | None = None,
    believed: Score | None = None,
) -> dict[str, dict[str, Any]]:
    """The figures of some readings, each from the same walks of the rules' bodies.

    With `believed`, the log odds of belief, also those where it orders what no rule backs.
    """
    if not len(queries):
        raise DataError("there are no test triples to rank", hint="a graph with a test split")
    if not reader.by_relation:
        raise DataError(
            "there are no rules to read", hint="--rules FILE, or train with rules=mined"
        )
    for notice in reader.notices:
        warnings.warn(notice.message, Notice, stacklevel=3)
    began = time.perf_counter()
    bar = Progress(len(queries))
    bar.live = bar.live and ranker.progress
    scores = reader.scores(
        queries, names, lambda done, total: bar.update(done, f"walking {done}/{total} lists")
    )
    bar.close()
    walked = time.perf_counter() - began
    result: dict[str, dict[str, Any]] = {}
    for name in names:
        ranking = ranker.rank(scores[name], queries)
        found = figures(ranking)
        rules = sum(map(len, reader.by_relation.values()))
        found |= {
            "reading": name,
            "among": among,
            "goals": 0,
            "cut": 0,
            "rules": rules,
            "walk_seconds": round(walked, 3),
        }
        if name == "clusters":
            found["thresholds"] = {"": reader.clusters.common, **reader.clusters.thresholds}
        if believed is not None:
            score = _believing(scores[name], believed)
            found["with_belief"] = means(_ranks_with(ranking, ranker, score))
        result[name] = found
    return result


def _believing(rules: Score, believed: Score) -> Score:
    """What rules back as they score it, above all else, which belief puts in order."""

    def score(triples: Int[Tensor, "triples 3"]) -> Tensor:
        backed = rules(triples)
        return torch.where(backed > 0, 1 + backed, believed(triples).detach().cpu().sigmoid())

    return score


def _ranks_with(ranking: Ranking, ranker: Ranker, score: Score) -> Float64[np.ndarray, " lists"]:
    """The ranks by a score that differs only below what rules back: most lists stay as they are."""
    ranked = ranking.ranked
    found = ranks(ranked.better, ranked.equal)
    unbacked = np.unique(ranked.query[ranked.score == 0])
    if len(unbacked):
        again = ranker.rank(score, ranked.triples[unbacked]).ranked
        for side in range(len(SIDES)):
            own, other = (np.flatnonzero(r.side == side) for r in (ranked, again))
            own = own[np.isin(ranked.query[own], unbacked)]
            found[own] = ranks(again.better[other], again.equal[other])
    return found
