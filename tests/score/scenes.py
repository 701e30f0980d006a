"""Goal graphs of small programs, ready for a scorer."""

from __future__ import annotations

import torch
from torch import Tensor

from deepprooflog.graph.explore import explore
from deepprooflog.graph.goalgraph import goal_text
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query, parse_query
from deepprooflog.logic.resolve import start
from deepprooflog.score.edges import edge_table
from deepprooflog.score.scorer import Scene, Scorer

NO_SLOTS = torch.zeros((1, 0), dtype=torch.int64)


def scene_of(
    program: Program,
    *queries: str | Query,
    track_answers: bool = False,
    slots: Tensor = NO_SLOTS,
    bank: list[Tensor] | None = None,
) -> Scene:
    """The steps a scorer weighs in the goal graph of some queries."""
    interner = Interner()
    roots = [start(parse_query(q, program.operators).atoms, interner) for q in queries]
    graph = explore(program, roots, interner, track_answers=track_answers)
    steps = torch.as_tensor(edge_table(graph.choices).scored)
    return Scene(graph, steps, slots, bank or [])


def transitions(scene: Scene, scorer: Scorer) -> list[tuple[str, str, float]]:
    """Each step as text with its probability in the first query of the batch."""
    weights = scorer.log_weights(scene)[:, 0].exp().tolist()
    graph = scene.graph
    return [
        (goal_text(graph.goals[graph.source[e]]), goal_text(graph.goals[graph.target[e]]), w)
        for e, w in zip(scene.steps.tolist(), weights, strict=True)
    ]


def mass(scene: Scene, weights: Tensor) -> Tensor:
    """Σ of the weights over the steps of each source: [sources, batch]."""
    sources, place = torch.unique(
        torch.as_tensor(scene.graph.source)[scene.steps], return_inverse=True
    )
    total = torch.zeros((len(sources), weights.shape[1]), dtype=weights.dtype)
    return total.index_add(0, place, weights)
