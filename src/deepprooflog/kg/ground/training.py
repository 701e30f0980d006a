"""Training of a system over ground rules, with the embedding that it reasons over.

    loss = ½ cross-entropy(y, p_kge) + ½ cross-entropy(y, v)

over positives and their sampled negatives, v being what the groundings say of a triple, or p_kge
where it has none. The maximum of both, by which triples are ranked, would teach a system nothing
wherever the embedding is the surer of the two. A positive that is a fact is in no body of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from deepprooflog.device import seeded
from deepprooflog.errors import DataError
from deepprooflog.kg.data.domains import ANYONE, Candidates
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.ground.options import SystemOptions
from deepprooflog.kg.ground.reasoner import GroundReasoner
from deepprooflog.kg.kge.negatives import training_negatives
from deepprooflog.kg.learn.exact_learner import ranking_losses
from deepprooflog.learn.run.descent import Descent
from deepprooflog.learn.run.loop import Learned, Loop, Row
from deepprooflog.learn.run.minibatch import Objective
from deepprooflog.learn.run.progress import Progress


def train_reasoner(
    reasoner: GroundReasoner,
    graph: Graph,
    positives: Int64[np.ndarray, "n 3"],
    options: SystemOptions,
    *,
    validate: Callable[[GroundReasoner], float] | None = None,
    path: Path | None = None,
    progress: Progress | None = None,
    on_row: Callable[[Row], object] | None = None,
    candidates: Candidates = ANYONE,
) -> Learned:
    """Train system and embedding together; `path` is the checkpoint, gone on from if it is there.

    The weights that are kept are the best by `validate`, those before the first step among them.
    """
    if not len(positives):
        raise DataError("there are no triples to learn from")
    device = reasoner.belief.kge.device
    for parameter in reasoner.belief.parameters():
        parameter.requires_grad_(options.kge_lr > 0)
    groups = [
        {"params": [p for p in module.parameters() if p.requires_grad], "lr": lr}
        for module, lr in ((reasoner.system, options.lr), (reasoner.belief, options.kge_lr))
    ]
    with seeded(options.seed, device):
        objective = GroundObjective(reasoner, graph, positives, options, candidates)
        trainer = Descent(
            reasoner, objective.losses, torch.optim.Adam([g for g in groups if g["params"]]),
            len(positives), batch=min(options.batch, len(positives)), objective_at=objective.at,
            describe=lambda i: graph.text(positives[i]), clip=1.0,
        )  # fmt: skip
        loop = Loop(
            trainer, steps=options.steps, row_every=options.validate_every,
            patience=options.patience, path=path, options=asdict(options), fits="graph",
            validate=None if validate is None else lambda: float(validate(reasoner)),
        )  # fmt: skip
        loop.resume()
        return loop.run(progress or Progress(options.steps), on_row)


@dataclass
class GroundObjective:
    """The losses of positives with the negatives of a step."""

    reasoner: GroundReasoner
    graph: Graph
    positives: Int64[np.ndarray, "n 3"]
    options: SystemOptions
    candidates: Candidates = ANYONE
    step: int = 0

    def at(self, done: int) -> Objective:
        """The losses at the step after so many, which has negatives of its own."""
        self.step = done
        return self.losses

    def losses(self, batch: Int[Tensor, " batch"]) -> Float[Tensor, " batch"]:
        """The losses of some positives, by their positions."""
        own = self.positives[batch.cpu().numpy()]
        drawn = training_negatives(
            self.graph, own, self.options.negatives, self.options.seed, self.step, self.candidates
        )
        device = self.reasoner.belief.kge.device
        triples = torch.from_numpy(np.concatenate([own, drawn.triples])).to(device)
        origin = torch.from_numpy(drawn.positive).to(device)
        scores, many = self.reasoner(triples), len(own)
        halves = [
            ranking_losses(p[:many], p[many:], origin, 1.0, 0.0)
            for p in (scores.embedding, scores.task)
        ]
        # Without groundings and with a fixed embedding a batch teaches nothing: a gradient of 0.
        nothing = 0.0 * next(self.reasoner.system.parameters(), halves[0]).sum()
        return torch.stack(halves).mean(0) + nothing
