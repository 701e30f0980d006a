"""Learning walks for a run: training, then the weights of lists, kept in the run's folder."""

from __future__ import annotations

import sys
from collections.abc import Callable

from deepprooflog.device import find_device
from deepprooflog.errors import DataError
from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.learn.options import GraphOptions
from deepprooflog.kg.walk.prover import WalkProver
from deepprooflog.kg.walk.saved import save_walks, walks_path
from deepprooflog.kg.walk.training import train_walks
from deepprooflog.learn.run.folder import RunFolder
from deepprooflog.learn.run.loop import Learned, Row


def learn_walks(
    options: GraphOptions, graph: Graph, belief: Belief | None, run: RunFolder | None,
    progress: bool, on_row: Callable[[Row], object] | None = None,
) -> tuple[WalkProver, Learned]:  # fmt: skip
    """Train walks, and weigh them with the prior and with facts as validation lists rank best."""
    if not len(graph.valid):
        raise DataError("there are no validation triples to fit on", hint="a graph with valid")
    trained = train_walks(
        graph, options.walk, device=find_device(options.device), progress=progress,
        validation_size=options.evaluation.validation_size,
        path=None if run is None else run.checkpoint, on_row=on_row,
    )  # fmt: skip
    if progress:
        passes = trained.learned.steps / -(-2 * len(graph.train) // options.walk.batch)
        told = f"{trained.learned.steps:,} steps, {passes:.1f} of {options.walk.epochs:g} epochs"
        print(f"walks: {told}; weighing scores on validation lists", file=sys.stderr)
    walks = WalkProver(trained.model.eval(), graph, belief).weigh(
        base_rate=options.belief.base_rate, seed=options.seed
    )
    if progress and walks.weighed is not None:
        chosen = walks.weighed.chosen
        tried = ", ".join(f"{name} {value:.4f}" for name, value in chosen.tried.items())
        print(f"score: {chosen.weights.text} (validation MRR: {tried})", file=sys.stderr)
    if run is not None:
        save_walks(walks_path(run.path), walks)
    return walks, trained.learned
