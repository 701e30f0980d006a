"""Training of walks: cross-entropy of each fact's tail, and of its head, among all entities.

    loss(h, q, t) = −log softmax over y of sharp_q · log score(h, q, y),  at y = t

where the sum leaves out the other known tails of q(h, ·), and every walk leaves out q(h, t) itself.
Each step hides a share of all facts besides, as the held-out triples are hidden when the model is
asked: otherwise the entities of the fact left out would be the only ones that something is missing
of, and give themselves away.
The validation triples are ranked in full at intervals, and the best weights are kept.

Of several processes each takes its share of a step's queries; the facts hidden are the same in all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepprooflog.device import seeded
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.walk.model import WalkGraph, WalkModel, walk_graph
from deepprooflog.kg.walk.options import WalkOptions
from deepprooflog.kg.walk.queries import QueryBatch, WalkQueries, some_rows
from deepprooflog.kg.walk.rank import rank_open
from deepprooflog.learn.run import checkpoint
from deepprooflog.learn.run.descent import Descent, rate
from deepprooflog.learn.run.loop import Learned, Loop, Row
from deepprooflog.learn.run.processes import processes
from deepprooflog.learn.run.progress import Progress

CLIP = 1.0
PACE = 8  # steps that are timed where the time is given instead of the epochs


@dataclass(frozen=True, eq=False)
class TrainedWalks:
    """A model with its best weights, the facts it walks along, and how it was trained."""

    model: WalkModel
    facts: WalkGraph
    learned: Learned


def train_walks(
    graph: Graph,
    options: WalkOptions | None = None,
    *,
    validation_size: int | None = None,
    device: torch.device | str = "cpu",
    path: Path | None = None,
    progress: bool = False,
    on_row: Callable[[Row], object] | None = None,
) -> TrainedWalks:
    """Walks that are learned from a graph's training triples.

    `path` is a checkpoint to go on from, if it is there; `on_row` gets the rows of history;
    `validation_size` is how many validation triples are ranked in a look, by default all.

    >>> from deepprooflog.kg.data.triples import graph_of
    >>> ring = [(f"n{i}", "next", f"n{(i + 1) % 5}") for i in range(5)]
    >>> back = [(b, "last", a) for a, _, b in ring]
    >>> graph = graph_of(ring + back[1:], valid=back[:1])
    >>> options = WalkOptions(hops=1, states=1, width=8, epochs=40, batch=20, lr=0.05)
    >>> trained = train_walks(graph, options)
    >>> trained.learned.best
    1.0
    """
    own = options or WalkOptions()
    model = WalkModel(graph.relations, own).to(device)
    facts = walk_graph(graph, graph.relations, device=device)
    task, here = _Task(graph, model, facts, validation_size), processes()
    with seeded(own.seed, facts.profile.counts.device):
        per_epoch = -(-len(task.queries) // own.batch)
        steps = max(1, round(own.epochs * per_epoch))
        if own.seconds:
            # The first process has the checkpoint, and the clock that counts.
            begun = here.from_first(lambda: _begun(path))
            within = begun or task.steps_within(own.seconds)
            steps = min(steps, here.from_first(lambda: within))
        looks = min(own.validations, steps)
        row_every = -(-steps // looks)
        optimizer = torch.optim.AdamW(
            model.parameters(), own.lr, weight_decay=own.decay, betas=(0.9, 0.98)
        )
        trainer = Descent(
            model, task.losses, optimizer, len(task.queries), batch=own.batch, clip=CLIP,
            rate=lambda done: own.lr * (0.01 + 0.99 * rate("cosine", (done + 1) / steps)),
            describe=task.text, epochs=True, together=True,
        )  # fmt: skip
        told = {**asdict(own), "steps": steps}
        loop = Loop(
            trainer, steps=steps, row_every=row_every, validate=task.validate, path=path,
            patience=own.patience, options=told, fits="walk model",
        )  # fmt: skip
        loop.resume()
        shown = Progress(steps) if progress else None
        return TrainedWalks(model, facts, loop.run(shown, on_row))


def _begun(path: Path | None) -> int:
    """The steps that a run to go on with was to take: its pace may have been another."""
    if path is None or not path.exists():
        return 0
    return int(checkpoint.load(path, {"options": dict})["options"].get("steps", 0))


class _Task:
    """The queries of a training run and their losses."""

    def __init__(
        self, graph: Graph, model: WalkModel, facts: WalkGraph, validation_size: int | None
    ) -> None:
        self.graph, self.model, self.facts, self.options = graph, model, facts, model.options
        self.queries = WalkQueries.of(graph, graph.relations, graph.train, ("train",))
        rows = graph.valid if len(graph.valid) else graph.train
        self.rows = some_rows(rows, validation_size or len(rows), self.options.seed)

    def losses(self, positions: Int[Tensor, " batch"]) -> Float[Tensor, " batch"]:
        """The losses of some queries; of several processes, of this one's share of them."""
        facts = self.facts.thinned(self.options.hide) if self.options.hide else self.facts
        own = positions.cpu().numpy()[processes().share(len(positions))]
        if not len(own):
            return self.model.policy.query.new_zeros(0)
        part = self.queries.batch(own, self.facts.edges.key.device)
        return walk_losses(self.model, facts, part, self.options.smoothing)

    def text(self, position: int) -> str:
        """A query's triple."""
        rows = len(self.graph.train)
        return self.graph.text(self.graph.train[position % rows])

    def validate(self) -> tuple[float, Row]:
        """MRR of the validation triples, and the other means."""
        found = rank_open(
            self.model, self.facts, self.graph, self.rows, known=("train", "valid"),
            batch=self.options.batch,
        ).means()  # fmt: skip
        return found["mrr"], found

    def steps_within(self, seconds: float) -> int:
        """How many steps fit into a time with the looks between them, from the pace of a few."""
        began = time.perf_counter()
        with torch.no_grad():
            self.validate()
        look = time.perf_counter() - began
        batches = np.random.default_rng(0).integers(
            len(self.queries), size=(PACE + 1, min(self.options.batch, len(self.queries)))
        )
        for number, positions in enumerate(batches):
            if number == 1:
                began = time.perf_counter()
            loss = self.losses(torch.from_numpy(positions)).sum()
            if loss.requires_grad:  # of few queries, a process may have none
                loss.backward()  # type: ignore[no-untyped-call]
            loss.item()
        self.model.zero_grad()
        pace = (time.perf_counter() - began) / PACE
        left = seconds - (self.options.validations + 2) * look - (PACE + 1) * pace
        return max(1, int(left / pace))


def walk_losses(
    model: WalkModel,
    facts: WalkGraph,
    part: QueryBatch,
    smoothing: float = 0.0,
) -> Float[Tensor, " batch"]:
    """The cross-entropy of some facts, each left out of its own walks.

    With `smoothing` that share of the target is spread over all entities.
    """
    score, weights = model.by_entity(facts, part.head, part.relation, part.tail)
    logits = score * weights.sharp
    own = logits.gather(0, part.tail[None])[0]
    minus = logits.new_full((), -torch.inf)
    total = logits.index_put((part.known_tail, part.known_query), minus).logsumexp(0)
    if smoothing:
        own = (1 - smoothing) * own + smoothing * logits.mean(0)
    return total - own
