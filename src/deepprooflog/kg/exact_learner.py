"""Learning a policy from exact success probabilities.

    loss = r · −log p(q) / (p(q) + Σ p(q'))   over the negatives q' of a positive q  (ranking)
         + c · cross-entropy(y, p)            over all of them                        (calibration)
         − h · entropy of the first step at q                                       (undecidedness)

The goal graphs of a minibatch are explored, weighed and differentiated as a whole: no rollout and
no baseline, every derivation counts. A query that is a fact may not use itself. As in all training
here, the state is one checkpoint, and a CPU repeats a run bit by bit, also an interrupted one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from deepprooflog.errors import DataError
from deepprooflog.kg.domains import ANYONE, Candidates
from deepprooflog.kg.exact_options import ExactOptions
from deepprooflog.kg.kge_training import Stream
from deepprooflog.kg.negatives import training_negatives
from deepprooflog.kg.prover import Prover
from deepprooflog.kg.triples import Graph
from deepprooflog.learn import checkpoint
from deepprooflog.learn.interrupt import Stop, stopping
from deepprooflog.learn.minibatch import descend
from deepprooflog.learn.progress import Progress
from deepprooflog.relational.entropy import first_entropy
from deepprooflog.relational.success import masses

SECONDS_BETWEEN_CHECKPOINTS = 30.0
SHAPE: checkpoint.Shape = {
    "step": int, "policy": dict, "optimizer": dict, "stream": Tensor, "random": dict, "best": dict,
    "history": list, "seconds": float, "since": int, "total": float,
}  # fmt: skip
# What a probability of 0 counts as where its logarithm is needed: the loss stays finite.
FLOOR = 1e-9

Validate = Callable[[Prover], float]
"""The validation MRR (or what else is to be high) of a prover."""

Within = Callable[[Prover, Int64[np.ndarray, "n 3"]], Prover]
"""The prover as it is while some triples are asked about, as when facts are hidden from it."""


@dataclass(frozen=True)
class Learned:
    """How learning went; the prover is left with its best policy."""

    steps: int
    best_step: int
    best: float  # validation at that step; NaN where there was none
    seconds: float
    history: list[dict[str, float]]


def train_exact(
    prover: Prover,
    graph: Graph,
    positives: Int64[np.ndarray, "n 3"],
    options: ExactOptions,
    *,
    validate: Validate | None = None,
    path: Path | None = None,
    progress: Progress | None = None,
    seen: Callable[[dict[str, float]], object] | None = None,
    candidates: Candidates = ANYONE,
    within: Within | None = None,
) -> Learned:
    """Train the prover's policy on positives and sampled negatives; the prior stays as it is.

    `path` is the checkpoint, gone on from where there is one; `seen` gets each line of history.
    `candidates` are what negatives are made of; `within` gives the prover that proves a minibatch.
    """
    if not len(positives):
        raise DataError("there are no triples to learn from")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)
        learning = ExactLearning(
            prover, graph, positives, options, validate, path, candidates, within
        )
        learning.resume()
        return learning.train(progress or Progress(options.steps, done=learning.step), seen)


class ExactLearning:
    """The state of a run, from its first step or from a checkpoint."""

    def __init__(
        self,
        prover: Prover,
        graph: Graph,
        positives: Int64[np.ndarray, "n 3"],
        options: ExactOptions,
        validate: Validate | None,
        path: Path | None,
        candidates: Candidates = ANYONE,
        within: Within | None = None,
    ) -> None:
        self.prover, self.graph, self.positives = prover, graph, positives
        self.options, self.validate, self.path = options, validate, path
        self.candidates, self.within = candidates, within
        self.device = prover.device
        self.optimizer = torch.optim.Adam(prover.policy.parameters(), lr=options.lr)
        self.stream = Stream(len(positives), torch.device("cpu"))
        self.step, self.seconds = 0, 0.0
        self.since, self.total = 0, 0.0  # the last look, and the sum of the losses since then
        self.best: dict[str, Any] = {"value": -float("inf"), "step": 0, "weights": {}}
        self.history: list[dict[str, float]] = []

    @property
    def stopped(self) -> bool:
        """True when all steps are done, or when patience has run out."""
        waited = (self.since - self.best["step"]) // self.options.validate_every
        patience = self.options.patience if self.validate is not None else 0
        return self.since >= self.options.steps or 0 < patience <= waited

    def train(
        self, progress: Progress, seen: Callable[[dict[str, float]], object] | None
    ) -> Learned:
        """Take the steps that are left."""
        saved = time.perf_counter()
        progress.begin(self.step)
        path = self.path
        save = None if path is None else lambda: self.save(path)
        with stopping(save, progress.close) as stop:
            if not self.step and not self.best["weights"] and self.validate is not None:
                # The untrained policy is a candidate too.
                with stop.looking():
                    self._look(self.validate)
            while not self.stopped:
                began = time.perf_counter()
                row = self._until_next_look(progress, stop)
                self.seconds += time.perf_counter() - began
                self.history.append({**row, "seconds": round(self.seconds, 3)})
                if seen is not None:
                    seen(self.history[-1])
                late = time.perf_counter() - saved >= SECONDS_BETWEEN_CHECKPOINTS
                if path is not None and (late or self.stopped):
                    self.save(path)
                    saved = time.perf_counter()
                stop()
        if self.best["weights"]:
            self.prover.policy.load_state_dict(self.best["weights"])
        at = self.best["step"] if self.best["weights"] else self.step
        value = self.best["value"] if self.best["weights"] else float("nan")
        return Learned(self.step, at, value, self.seconds, self.history)

    def _until_next_look(self, progress: Progress, stop: Stop) -> dict[str, float]:
        options = self.options
        every = options.validate_every
        last = min(options.steps, (self.since // every + 1) * every)
        count = last - self.since
        seen = f"  validation {self.best['value']:.4f}" if self.best["weights"] else ""
        self.prover.train()
        while self.step < last:
            batch = self.stream.take(min(options.batch, len(self.positives)))
            self.total += descend(self._losses, batch, self.optimizer, self._text, clip=1.0)
            self.step += 1
            progress.update(
                self.step, f"step {self.step}/{options.steps}  loss {self.total / count:.4f}{seen}"
            )
            stop()
        row = {"step": float(self.step), "loss": self.total / count}
        if self.validate is not None:
            with stop.looking():
                row["validation"] = self._look(self.validate)
        self.since, self.total = last, 0.0
        return row

    def _text(self, number: int) -> str:
        return self.graph.text(self.positives[number])

    def _losses(self, batch: Int[Tensor, " batch"]) -> Float[Tensor, " batch"]:
        rows = self.positives[batch.cpu().numpy()]
        drawn = training_negatives(
            self.graph, rows, self.options.negatives, self.options.seed, self.step,
            self.candidates,
        )  # fmt: skip
        triples = torch.from_numpy(np.concatenate([rows, drawn.triples])).to(self.device)
        origin = torch.from_numpy(drawn.positive).to(self.device)
        prover = self.prover if self.within is None else self.within(self.prover, rows)
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

    def _look(self, validate: Validate) -> float:
        self.prover.eval()
        with torch.no_grad():
            value = float(validate(self.prover))
        # Of policies that rank alike the later one is better calibrated.
        if value >= self.best["value"] or not self.best["weights"]:
            policy = self.prover.policy.state_dict()
            weights = {k: v.detach().clone() for k, v in policy.items()}
            self.best = {"value": value, "step": self.step, "weights": weights}
        return value

    def save(self, path: Path) -> None:
        """Write a checkpoint."""
        checkpoint.save(
            path,
            {
                "step": self.step,
                "policy": self.prover.policy.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "stream": self.stream.state(),
                "random": checkpoint.random_state(torch.device("cpu")),
                "best": self.best,
                "history": self.history,
                "options": asdict(self.options),
                "seconds": self.seconds,
                "since": self.since,
                "total": self.total,
            },
        )

    def resume(self) -> None:
        """Go on from the checkpoint; from the beginning where there is none."""
        state = checkpoint.resumed(self.path, SHAPE, asdict(self.options), self.device)
        if state is None:
            return
        with checkpoint.fitting(self.path):
            checkpoint.restore_module(self.prover.policy, state["policy"])
            checkpoint.restore_optimizer(self.optimizer, state["optimizer"])
            self.stream.restore(state["stream"])
            checkpoint.restore_random(state["random"], torch.device("cpu"))
            self.best = checkpoint.restore_best(state["best"], self.best, self.prover.policy)
            self.step = state["step"]
            self.history, self.seconds = state["history"], state["seconds"]
            self.since, self.total = state["since"], state["total"]
            checkpoint.check_steps(self.best["step"], self.since, self.step, self.options.steps)


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
