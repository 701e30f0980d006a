"""Training an embedding on the triples of a graph.

Steps, not epochs, are counted: batches are cut from one endless stream of permutations, so that all
have one size and a step can be replayed as a CUDA graph. On a GPU the host never waits for a step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor

from deepprooflog.device import replays, seeded
from deepprooflog.errors import DataError
from deepprooflog.kg.data.triple_set import TripleSet, check_triples
from deepprooflog.kg.kge.kge import Kge
from deepprooflog.kg.kge.loss import subsampling_weights
from deepprooflog.kg.kge.negatives import rows_of_rank
from deepprooflog.kg.kge.options import KgeOptions, fading
from deepprooflog.kg.kge.table import make_model
from deepprooflog.learn.run.descent import Descent
from deepprooflog.learn.run.loop import Loop
from deepprooflog.learn.run.processes import processes
from deepprooflog.learn.run.progress import Progress

ValidateKge = Callable[[Kge], float]
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
    triples: Int[Tensor, "n 3"] | Integer[np.ndarray, "n 3"],
    *,
    entities: int,
    relations: int,
    options: KgeOptions,
    validate: ValidateKge | None = None,
    device: torch.device | str = "cpu",
    path: Path | None = None,
    progress: Progress | None = None,
) -> TrainedKge:
    """Train an embedding; `path` is its checkpoint, gone on from where there is one.

    `triples` are rows (h, r, t) of numbers, such as `graph.train`.

    >>> chain = torch.tensor([[0, 0, 1], [1, 0, 2], [2, 0, 3]])
    >>> options = KgeOptions(dimension=4, steps=20, batch=3, negatives=2)
    >>> train_kge(chain, entities=4, relations=1, options=options).steps
    20
    """
    if not len(triples):
        raise DataError("there are no triples to train on")
    rows = torch.as_tensor(triples).long()
    check_triples(rows, entities, relations)
    where = torch.device(device)
    with seeded(options.seed, where):
        model = make_model(options, entities, relations).to(where)
        loop = kge_loop(model, rows.to(where), options, validate, path)
        loop.resume()
        learned = loop.run(progress or Progress(options.steps))
    return TrainedKge(
        model.eval(), learned.steps, learned.best_step, learned.seconds, learned.history
    )


def kge_loop(
    model: Kge,
    triples: Int[Tensor, "n 3"],
    options: KgeOptions,
    validate: ValidateKge | None = None,
    path: Path | None = None,
) -> Loop:
    """The training of an embedding, before its first step."""
    device = model.entity.device
    on_gpu = replays(device)
    optimizer = torch.optim.Adam(
        model.parameters(), lr=torch.tensor(options.lr, device=device) if on_gpu else options.lr,
        capturable=on_gpu, weight_decay=options.weight_decay, fused=True,
    )  # fmt: skip
    trainer = Descent(
        model, objective(model, triples, options), optimizer, len(triples), batch=options.batch,
        rate=lambda done: options.lr * fading(options.decay, done / options.steps),
        describe=lambda i: f"triple {i}", capture=on_gpu and options.capture, device=device,
        together=model.draws,
    )  # fmt: skip
    return Loop(
        trainer, steps=options.steps, row_every=options.validate_every, patience=options.patience,
        validate=None if validate is None else lambda: float(validate(model)),
        path=path, options=asdict(options), fits="graph",
    )  # fmt: skip


def objective(
    model: Kge, triples: Int[Tensor, "n 3"], options: KgeOptions
) -> Callable[[Tensor], Tensor]:
    """The losses of some training triples, by their positions.

    Where negatives are drawn for them together, those of this process's share.
    """
    weights = subsampling_weights(triples, model.relations) if options.subsampling else None
    known = TripleSet.of(triples, entities=model.entities)

    each = model.objective(options, known)

    def losses(batch: Int[Tensor, " batch"]) -> Float[Tensor, " own"]:
        loss: Tensor = each(triples[batch])
        if model.draws and processes().several:
            batch = batch[rows_of_rank(len(batch), options).to(batch.device)]
        return loss if weights is None else loss * weights[batch]

    return losses
