"""Learning a policy from exact success probabilities.

    loss = r · −log p(q) / (p(q) + Σ p(q'))   over the negatives q' of a positive q  (ranking)
         + c · cross-entropy(y, p)            over all of them                        (calibration)
         − h · entropy of the first step at q                                       (undecidedness)

The goal graphs of a minibatch are explored, weighed and differentiated as a whole: no rollout and
no baseline, every derivation counts. A query that is a fact may not use itself.
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
from deepprooflog.kg.kge.negatives import training_negatives
from deepprooflog.kg.learn.exact_options import ExactOptions
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.learn.run.descent import Descent
from deepprooflog.learn.run.loop import Learned, Loop, Row
from deepprooflog.learn.run.minibatch import Objective
from deepprooflog.learn.run.progress import Progress
from deepprooflog.relational.sweep import first_entropy, masses

# What a probability of 0 counts as where its logarithm is needed: the loss stays finite.
FLOOR = 1e-9

ValidateProver = Callable[[Prover], float]
"""The validation MRR (or what else is to be high) of a prover."""

ProverFor = Callable[[Prover, Int64[np.ndarray, "n 3"]], Prover]
"""The prover of some triples, given the whole one: with facts hidden that would tell, say."""


def train_exact(
    prover: Prover,
    graph: Graph,
    positives: Int64[np.ndarray, "n 3"],
    options: ExactOptions,
    *,
    validate: ValidateProver | None = None,
    path: Path | None = None,
    progress: Progress | None = None,
    on_row: Callable[[Row], object] | None = None,
    candidates: Candidates = ANYONE,
    prover_for: ProverFor | None = None,
) -> Learned:
    """Train the prover's policy on positives and sampled negatives; the prior stays as it is.

    `path` is the checkpoint, gone on from where there is one; `on_row` gets each row of history.
    `candidates` are what negatives are made of; `prover_for` gives the prover of a minibatch.
    """
    if not len(positives):
        raise DataError("there are no triples to learn from")
    with seeded(options.seed, prover.device):
        exact = ExactObjective(prover, graph, positives, options, candidates, prover_for)
        loop = exact_loop(exact, validate, path)
        loop.resume()
        return loop.run(progress or Progress(options.steps), on_row)


def exact_loop(
    exact: ExactObjective, validate: ValidateProver | None = None, path: Path | None = None
) -> Loop:
    """The training of a prover's policy, before its first step."""
    prover, positives, options = exact.prover, exact.positives, exact.options
    trainer = Descent(
        prover.policy, exact.losses, torch.optim.Adam(prover.policy.parameters(), lr=options.lr),
        len(positives), batch=min(options.batch, len(positives)), objective_at=exact.at,
        describe=lambda i: exact.graph.text(positives[i]), clip=1.0,
    )  # fmt: skip
    return Loop(
        trainer, steps=options.steps, row_every=options.validate_every, patience=options.patience,
        validate=None if validate is None else lambda: float(validate(prover)),
        path=path, options=asdict(options), fits="graph",
    )  # fmt: skip


@dataclass
class ExactObjective:
    """The losses of positives with the negatives of a step."""

    prover: Prover
    graph: Graph
    positives: Int64[np.ndarray, "n 3"]
    options: ExactOptions
    candidates: Candidates = ANYONE
    prover_for: ProverFor | None = None
    step: int = 0

    def at(self, done: int) -> Objective:
        """The losses at the step after so many, which has negatives of its own."""
        self.step = done
        return self.losses

    def losses(self, batch: Int[Tensor, " batch"]) -> Float[Tensor, " batch"]:
        """The losses of some positives, by their positions."""
        rows = self.positives[batch.cpu().numpy()]
        drawn = training_negatives(
            self.graph, rows, self.options.negatives, self.options.seed, self.step,
            self.candidates,
        )  # fmt: skip
        device = self.prover.device
        triples = torch.from_numpy(np.concatenate([rows, drawn.triples])).to(device)
        origin = torch.from_numpy(drawn.positive).to(device)
        prover = self.prover if self.prover_for is None else self.prover_for(self.prover, rows)
        layers = prover.explore(prover.goals(triples, leave_out=True))
        log_weights, neural = prover.log_weights(layers)
        p = masses(layers, log_weights, neural).success
        weights = self.options.calibration, self.options.ranking
        losses = ranking_losses(p[: len(rows)], p[len(rows) :], origin, *weights)
        if self.options.entropy and log_weights:
            undecided = first_entropy(layers, log_weights[0])[: len(rows)]
            losses = losses - self.options.entropy * undecided
        # A batch without any proof teaches nothing, which is a gradient of 0 and not an error.
        return losses + 0.0 * next(self.prover.policy.parameters()).sum()


def ranking_losses(
    positive: Float[Tensor, " positives"],
    negative: Float[Tensor, " negatives"],
    origin: Int[Tensor, " negatives"],
    calibration: float,
    ranking: float = 1.0,
) -> Float[Tensor, " positives"]:
    """The loss of each positive with the negatives that were made from it.

    >>> p, n = torch.tensor([0.6, 0.5]), torch.tensor([0.2, 0.5])
    >>> ranking_losses(p, n, torch.tensor([0, 1]), 0.0).exp()
    tensor([1.3333, 2.0000])
    """
    own, others = positive + FLOOR, negative + FLOOR
    total = own.index_add(0, origin, others)
    log = -own.clamp_max(1.0).log()
    cross = log.index_add(0, origin, -torch.log1p(-negative.clamp_max(1 - 1e-6)))
    return ranking * (total.log() - own.log()) + calibration * cross
