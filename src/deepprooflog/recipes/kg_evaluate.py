"""Test figures of a knowledge-graph run: p_success, and beside it the prior and proofs alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Int, Int64
from torch import Tensor

from deepprooflog.kg.believe import Belief
from deepprooflog.kg.depth import depths
from deepprooflog.kg.figures import auc_pr, figures
from deepprooflog.kg.fusion import Recorded, fit_fusion
from deepprooflog.kg.metrics import means, ranks
from deepprooflog.kg.options import GraphOptions
from deepprooflog.kg.prover import Prover
from deepprooflog.kg.ranking import Protocol, Ranking, rank
from deepprooflog.learn.progress import Progress
from deepprooflog.recipes.kg import Task, belief_score, splits, success_score
from deepprooflog.recipes.kg_prior import calibrated

# Candidates explored together: many share goals, and all must fit in memory.
BATCH = {"cpu": 4096, "cuda": 32768}
SHOWN = ("mrr", "hits@1", "hits@3", "hits@10", "auc_pr")


class Scored(Recorded):
    """Scores by p_success that count the goals, and are kept for late fusion where asked for."""

    def __init__(self, prover: Prover, keep: bool) -> None:
        super().__init__(prover)
        self.keep = keep
        self.goals = 0
        self.cut = 0

    def __call__(self, triples: Int[Tensor, "triples 3"]) -> Tensor:
        with torch.no_grad():
            here = triples.to(self.prover.device)
            layers = self.prover.explore(self.prover.goals(here))
            self.goals += layers.size
            self.cut += layers.cut.depth + layers.cut.atoms + layers.cut.goals
            mass = self.prover.weigh(layers)
            if self.keep and self.prover.belief is not None:
                head, relation, tail = here.unbind(1)
                prior = self.prover.belief.log_probability(relation, head, tail)
                self.calls.append((prior.cpu(), mass.proof.cpu()))
            return mass.success


def queries_of(options: GraphOptions, task: Task) -> Int64[np.ndarray, "queries 3"]:
    """All test triples, or as many drawn at random as the run asks for."""
    every = task.graph.test
    size = options.evaluation.test_size
    if not size or size >= len(every):
        return every
    chosen = np.random.default_rng(options.seed).choice(len(every), size, replace=False)
    return every[np.sort(chosen)]


def ranked(
    task: Task,
    score: Callable[[Tensor], Tensor],
    queries: Int64[np.ndarray, "queries 3"],
    *,
    protocol: Protocol,
    negatives: int,
    seed: int,
    batch: int,
    progress: bool,
) -> Ranking:
    """Rank with a line of progress."""
    sides, among = task.candidates.sides, task.candidates.entities
    bar = Progress(len(sides) * len(queries))
    bar.live = bar.live and progress
    ranking = rank(
        task.graph, score, queries, protocol=protocol, negatives=negatives, sides=sides,
        among=among, seed=seed, batch=batch,
        on_progress=lambda done, total: bar.update(done, f"ranking {done}/{total} lists"),
    )  # fmt: skip
    bar.close()
    return ranking


def default_protocol(task: Task) -> Protocol:
    """All candidates where they are a domain, some of them drawn where they are all entities."""
    return "sampled" if task.candidates.entities is None else "full"


def validation(
    options: GraphOptions, task: Task, look: Int64[np.ndarray, "look 3"]
) -> Callable[[Prover], float]:
    """The figure by which policies are compared, on some validation triples.

    What is hidden while learning is hidden here, too.
    """

    def value(prover: Prover) -> float:
        known = prover if task.hiding is None else task.hiding.prover(prover, look)
        ranking = rank(
            task.graph, success_score(known), look, protocol=default_protocol(task),
            negatives=options.evaluation.validation_negatives, sides=task.candidates.sides,
            among=task.candidates.entities, seed=options.seed,
        )  # fmt: skip
        if options.watch == "auc_pr":
            return auc_pr(ranking)
        return float(means(ranks(ranking.ranked.better, ranking.ranked.equal))["mrr"])

    return value


def evaluate(
    options: GraphOptions,
    task: Task,
    prover: Prover,
    progress: bool,
    *,
    protocol: Protocol | None = None,
    negatives: int = 100,
    seed: int = 0,
) -> dict[str, Any]:
    """The figures of p_success, with those of the prior alone from the same negatives.

    The protocol is `sampled` unless the candidates are a domain's, which are all ranked.
    """
    protocol = protocol or default_protocol(task)
    queries = queries_of(options, task)
    believes = prover.belief is not None
    scored = Scored(prover, keep=believes)
    kind = prover.device.type
    settings: dict[str, Any] = {
        "protocol": protocol, "negatives": negatives, "seed": seed, "progress": progress,
    }  # fmt: skip
    ranking = ranked(task, scored, queries, batch=BATCH[kind], **settings)
    found = figures(ranking, depths(prover, queries, BATCH[kind]))
    found |= {"among": options.candidates or None, "goals": scored.goals, "cut": scored.cut}
    if prover.belief is not None:
        _, look = splits(options, task.graph)
        fusion = fit_fusion(prover, task.graph, look, batch=BATCH[kind], candidates=task.candidates)
        late = ranked(task, scored.again(fusion), queries, batch=BATCH[kind], **settings)
        found["late_fusion"] = {**figures(late), "weight": fusion.weight, "floor": fusion.floor}
        found |= _alone(options, task, prover.belief, queries, settings)
    return found


def _alone(
    options: GraphOptions,
    task: Task,
    belief: Belief,
    queries: Int64[np.ndarray, "queries 3"],
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """The figures of the prior alone, and where it weighs facts beside scores, those of belief."""
    priors = {"prior": belief}
    if belief.evidence is not None:
        plain = calibrated(
            replace(options, belief=replace(options.belief, evidence="score")), task, belief.kge
        )
        priors = {"belief": belief, "prior": plain}
    return {
        name: figures(ranked(task, belief_score(own), queries, batch=1 << 16, **settings))
        for name, own in priors.items()
    }


def summary(result: Mapping[str, Any]) -> str:
    """The figures for people, a row for p_success and one for the prior alone."""
    test = result.get("test", result)
    many = f"{test['negatives']} negatives a side" if test["negatives"] else "all entities"
    many = f"among {test['among']}" if test["among"] else many
    sides = "both sides" if len(test["sides"]) == 2 else f"{test['sides'][0]}s"
    lines = [
        f"{test['queries']:,} test triples, {sides}, {many}, average ties",
        f"{'':<14}" + "".join(f"{name:>9}" for name in SHOWN),
        _row("p_success", test),
    ]
    if "prior" in test and isinstance(test["prior"], dict):
        lines.append(_row("late fusion", test["late_fusion"]))
        if "belief" in test:
            lines.append(_row("belief alone", test["belief"]))
        lines.append(_row("prior alone", test["prior"]))
    seconds = result["seconds"]
    total = seconds["total"] if isinstance(seconds, dict) else seconds
    lines.append(f"goals evaluated {test['goals']:,}; seconds {total}")
    if test["cut"]:
        lines.append(
            f"{test['cut']:,} goals were left open by the limits: p_success is a lower bound"
        )
    return "\n".join(lines)


def _row(name: str, found: Mapping[str, Any]) -> str:
    return f"{name:<14}" + "".join(f"{found[key]:>9.4f}" for key in SHOWN)
