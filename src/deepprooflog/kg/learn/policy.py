"""Learning the policy of a run: which learner, from which triples, validated how."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Int64

from deepprooflog.errors import DataError
from deepprooflog.kg.evaluation.evaluate import Ranker, watched
from deepprooflog.kg.learn.learners import LEARNERS, PolicyLesson
from deepprooflog.kg.learn.options import GraphOptions
from deepprooflog.kg.learn.setup import splits
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.kg.prove.theory import Theory
from deepprooflog.learn.run.folder import RunFolder
from deepprooflog.learn.run.loop import Learned, Row

# Queries explored to see how large the goal space is.
GLIMPSE = 64
# Where those have more goals than this, no batch of queries ends.
MOST_GOALS = 2_000_000


def glimpse(options: GraphOptions, prover: Prover, theory: Theory) -> float:
    """How many goals a query has, over a few; more than any batch can hold are refused."""
    _, look = splits(options, theory.graph)
    some = torch.from_numpy(look[:GLIMPSE]).to(prover.device)
    layers = prover.explore(prover.goals(some, leave_out=True), most=MOST_GOALS)
    if layers.cut.goals and not options.search.goals:
        raise DataError(
            f"nesting {prover.database.nesting}: {len(some)} queries have more than "
            f"{MOST_GOALS:,} goals",
            hint="a smaller nesting or depth, or search.goals=N to leave open what is beyond them",
        )
    return layers.size / max(len(some), 1)


def choose_learner(options: GraphOptions, prover: Prover, theory: Theory) -> tuple[str, float]:
    """The learner, and how many goals a query has: auto learns exactly where they are few."""
    if options.learner == "none":
        return "none", 0.0
    size = glimpse(options, prover, theory)
    if options.learner != "auto":
        return options.learner, size
    return ("exact" if size <= options.exact_up_to else "ppo"), size


def learn_policy(
    options: GraphOptions,
    theory: Theory,
    prover: Prover,
    learner: str,
    run: RunFolder | None,
    progress: bool,
    on_row: Callable[[Row], object] | None = None,
) -> Learned | None:
    """Train the prover's policy; the checkpoint goes into the run, `on_row` gets the history."""
    if learner == "none":
        return None
    positives, look = splits(options, theory.graph, theory.candidates)
    validate = validation(options, theory, look)
    lesson = PolicyLesson(options, theory, prover, positives, validate, run, progress, on_row)
    return LEARNERS[learner](lesson)


def validation(
    options: GraphOptions, theory: Theory, look: Int64[np.ndarray, "look 3"]
) -> Callable[[Prover], float]:
    """The figure by which policies are compared, on some validation triples.

    What is hidden while learning is hidden here, too.
    """
    negatives = options.evaluation.validation_negatives
    ranker = Ranker(theory.graph, theory.candidates, negatives=negatives, seed=options.seed)

    def value(prover: Prover) -> float:
        known = prover if theory.hiding is None else theory.hiding.prover(prover, look)
        return watched(ranker, known, look, options.watch)

    return value
