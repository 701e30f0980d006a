"""Training an embedding on the triples of a graph.

Steps, not epochs, are counted: batches are cut from one endless stream of permutations, so that all
have one size and a step can be replayed as a CUDA graph. On a GPU the host never waits for a step.
From the same seed a run on a CPU repeats itself bit by bit, also when interrupted and resumed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepprooflog.errors import DataError
from deepprooflog.kg.kge import Kge
from deepprooflog.kg.kge_known import KnownTriples, check_triples
from deepprooflog.kg.kge_loss import subsampling_weights
from deepprooflog.kg.kge_models import make_model
from deepprooflog.kg.kge_options import KgeOptions, fading
from deepprooflog.learn import checkpoint
from deepprooflog.learn.captured import CapturedStep
from deepprooflog.learn.interrupt import Stop, stopping
from deepprooflog.learn.minibatch import descend
from deepprooflog.learn.progress import Progress

SECONDS_BETWEEN_CHECKPOINTS = 30.0
SHAPE: checkpoint.Shape = {
    "step": int, "model": dict, "optimizer": dict, "stream": Tensor, "random": dict, "best": dict,
    "history": list, "seconds": float, "since": int, "total": float,
}  # fmt: skip

Validate = Callable[[Kge], float]
"""The validation MRR (or what else is to be high) of a model in evaluation mode."""


@dataclass(frozen=True)
class TrainedKge:
    """A trained embedding, with its best weights where a validation said which those are."""

    model: Kge
    steps: int
    best_step: int
    seconds: float
    history: list[dict[str, float]]  # step, loss since the last look, validation


def train_kge(
    triples: Int[Tensor, "n 3"],
    *,
    entities: int,
    relations: int,
    options: KgeOptions,
    validate: Validate | None = None,
    device: torch.device | str = "cpu",
    path: Path | None = None,
    progress: Progress | None = None,
) -> TrainedKge:
    """Train an embedding; `path` is its checkpoint, gone on from where there is one.

    >>> chain = torch.tensor([[0, 0, 1], [1, 0, 2], [2, 0, 3]])
    >>> options = KgeOptions(dimension=4, steps=20, batch=3, negatives=2)
    >>> train_kge(chain, entities=4, relations=1, options=options).steps
    20
    """
    if not len(triples):
        raise DataError("there are no triples to train on")
    check_triples(triples, entities, relations)
    where = torch.device(device)
    devices = (
        [torch.cuda.current_device() if where.index is None else where.index]
        if where.type == "cuda"
        else []
    )
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(options.seed)
        model = make_model(options, entities, relations).to(where)
        training = KgeTraining(model, triples.to(where).long(), options, validate, path)
        training.resume()
        return training.train(progress)


class KgeTraining:
    """The state of a run, from its first step or from a checkpoint."""

    def __init__(
        self,
        model: Kge,
        triples: Int[Tensor, "n 3"],
        options: KgeOptions,
        validate: Validate | None,
        path: Path | None,
    ) -> None:
        self.model, self.options, self.validate, self.path = model, options, validate, path
        self.device = model.entity.device
        on_gpu = self.device.type == "cuda"
        self.lr = torch.tensor(options.lr, device=self.device)
        self.optimizer = torch.optim.Adam(
            model.parameters(), lr=self.lr if on_gpu else options.lr, capturable=on_gpu,
            weight_decay=options.weight_decay, fused=True,
        )  # fmt: skip
        self.objective = objective(model, triples, options)
        self.captured = (
            CapturedStep(self.objective, self.optimizer, options.batch)
            if on_gpu and options.capture
            else None
        )
        self.stream = Stream(len(triples), self.device)
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

    def train(self, progress: Progress | None = None) -> TrainedKge:
        """Take the steps that are left."""
        progress = progress or Progress(self.options.steps)
        progress.begin(self.step)
        saved = time.perf_counter()
        path = self.path
        save = None if path is None else lambda: self.save(path)
        with stopping(save, progress.close) as stop:
            while not self.stopped:
                began = time.perf_counter()
                row = self._until_next_look(progress, stop)
                self.seconds += time.perf_counter() - began
                self.history.append({**row, "seconds": round(self.seconds, 3)})
                late = time.perf_counter() - saved >= SECONDS_BETWEEN_CHECKPOINTS
                if path is not None and (late or self.stopped):
                    self.save(path)
                    saved = time.perf_counter()
                stop()
        if self.best["weights"]:
            self.model.load_state_dict(self.best["weights"])
        best = self.best["step"] if self.best["weights"] else self.step
        return TrainedKge(self.model.eval(), self.step, best, self.seconds, self.history)

    def _until_next_look(self, progress: Progress, stop: Stop) -> dict[str, float]:
        options = self.options
        every = options.validate_every
        last = min(options.steps, (self.since // every + 1) * every)
        seen = f"  validation {self.best['value']:.4f}" if self.best["weights"] else ""
        self.model.train()
        while self.step < last:
            self._set_rate(options.lr * fading(options.decay, self.step / options.steps))
            batch = self.stream.take(options.batch)
            if self.captured is not None:
                self.captured(batch)
            else:
                loss = descend(self.objective, batch, self.optimizer, lambda i: f"triple {i}")
                self.total += loss
            self.step += 1
            progress.update(self.step, f"step {self.step}/{options.steps}{seen}")
            stop()
        self._count_captured()
        row = {"step": float(self.step), "loss": self.total / (last - self.since)}
        if self.validate is not None:
            with stop.looking():
                row["validation"] = self._look(self.validate)
        self.since, self.total = last, 0.0
        return row

    def _count_captured(self) -> None:
        """Add the losses that are still on the device."""
        if self.captured is not None:
            self.total += self.captured.check()

    def _look(self, validate: Validate) -> float:
        self.model.eval()
        with torch.no_grad():
            value = float(validate(self.model))
        if value > self.best["value"] or not self.best["weights"]:
            weights = {k: v.detach().clone() for k, v in self.model.state_dict().items()}
            self.best = {"value": value, "step": self.step, "weights": weights}
        return value

    def _set_rate(self, value: float) -> None:
        # A captured step reads the rate where it was when it was captured.
        self.lr.fill_(value)
        for group in self.optimizer.param_groups:
            group["lr"] = self.lr if self.device.type == "cuda" else value

    def save(self, path: Path) -> None:
        """Write a checkpoint."""
        self._count_captured()
        checkpoint.save(
            path,
            {
                "step": self.step,
                "model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "stream": self.stream.state(),
                "random": checkpoint.random_state(self.device),
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
            checkpoint.restore_module(self.model, state["model"])
            checkpoint.restore_optimizer(self.optimizer, state["optimizer"])
            self.stream.restore(state["stream"])
            checkpoint.restore_random(state["random"], self.device)
            self.best = checkpoint.restore_best(state["best"], self.best, self.model)
            self.step = state["step"]
            self.history, self.seconds = state["history"], state["seconds"]
            self.since, self.total = state["since"], state["total"]
            checkpoint.check_steps(self.best["step"], self.since, self.step, self.options.steps)


def objective(
    model: Kge, triples: Int[Tensor, "n 3"], options: KgeOptions
) -> Callable[[Tensor], Tensor]:
    """The losses of some training triples, by their positions."""
    weights = subsampling_weights(triples, model.relations) if options.subsampling else None
    known = KnownTriples.of(triples, entities=model.entities, relations=model.relations)

    each = model.objective(options, known)

    def losses(batch: Int[Tensor, " batch"]) -> Float[Tensor, " batch"]:
        loss: Tensor = each(triples[batch])
        return loss if weights is None else loss * weights[batch]

    return losses


class Stream:
    """Positions 0 … n−1 in one random order after another, cut into batches of any size."""

    def __init__(self, n: int, device: torch.device) -> None:
        self.n, self.device = n, device
        self.order = torch.empty(0, dtype=torch.int64, device=device)

    def take(self, size: int) -> Int[Tensor, " size"]:
        """The next positions."""
        while len(self.order) < size:
            fresh = torch.randperm(self.n, device=self.device)
            self.order = torch.cat([self.order, fresh])
        batch, self.order = self.order[:size], self.order[size:]
        return batch

    def state(self) -> Int[Tensor, " rest"]:
        """What a checkpoint keeps: the rest of the order."""
        return self.order.clone()

    def restore(self, order: Int[Tensor, " rest"]) -> None:
        """Continue with a checkpoint's order."""
        self.order = checkpoint.restore_order(order, self.n)
