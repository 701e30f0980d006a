"""Training of walks: cross-entropy of each fact's tail, and of its head, among all entities.

    loss(h, q, t) = −log softmax over y of sharp_q · log score(h, q, y),  at y = t

where the sum leaves out the other known tails of q(h, ·), and every walk leaves out q(h, t) itself.
The learning rate falls along a cosine over the epochs or the seconds, whichever ends first. The
validation triples are ranked in full at intervals, and the best weights are kept.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from deepprooflog.kg.triples import Graph
from deepprooflog.kg.walk.model import WalkGraph, WalkModel, walk_graph
from deepprooflog.kg.walk.options import WalkOptions, WalkTraining
from deepprooflog.kg.walk.queries import Queries, QueryBatch
from deepprooflog.kg.walk.rank import rank_open

CLIP = 1.0


@dataclass(frozen=True, eq=False)
class TrainedWalks:
    """A model with its best weights, and how it came by them."""

    model: WalkModel
    facts: WalkGraph
    history: list[dict[str, float]]
    best: float  # MRR of the validation triples
    seconds: float


def train_walks(
    graph: Graph,
    options: WalkOptions | None = None,
    training: WalkTraining | None = None,
    *,
    device: torch.device | str = "cpu",
    on_row: Callable[[dict[str, float]], object] | None = None,
) -> TrainedWalks:
    """Walks that are learned from a graph's training triples; `on_row` gets rows of history."""
    training = training or WalkTraining()
    model = WalkModel(graph.relations, options).to(device)
    facts = walk_graph(graph, graph.relations, device=device)
    queries = Queries.of(graph, graph.relations, graph.train, ("train",))
    optimizer = torch.optim.AdamW(
        model.parameters(), training.lr, weight_decay=training.decay, betas=(0.9, 0.98)
    )
    generator = np.random.default_rng(training.seed)
    torch.manual_seed(training.seed)
    per_epoch = -(-len(queries) // training.batch)
    steps = max(1, round(training.epochs * per_epoch))
    history: list[dict[str, float]] = []
    best, weights = -math.inf, {k: v.clone() for k, v in model.state_dict().items()}
    began, looks, since, step = time.perf_counter(), 0, 0, 0
    total = torch.zeros((), device=device)
    order = generator.permutation(len(queries))
    while True:
        spent = time.perf_counter() - began
        share = step / steps
        if training.seconds:
            share = max(share, spent / training.seconds)
        if share * training.validations >= looks + 1 or share >= 1:
            row = {"step": float(step), "epoch": step / per_epoch,
                   "loss": float(total) / max(since, 1)}  # fmt: skip
            row |= _validated(model, facts, graph, training)
            row["seconds"] = round(time.perf_counter() - began, 1)
            history.append(row)
            if on_row is not None:
                on_row(row)
            if row["mrr"] > best:
                best, weights = row["mrr"], {k: v.clone() for k, v in model.state_dict().items()}
            total, since, looks = torch.zeros((), device=device), 0, looks + 1
            if share >= 1:
                break
        for group in optimizer.param_groups:
            warm = min(1.0, (step + 1) / 50)
            group["lr"] = training.lr * warm * (0.02 + 0.49 * (1 + math.cos(math.pi * share)))
        at = step % per_epoch
        if at == 0 and step:
            order = generator.permutation(len(queries))
        part = queries.batch(order[at * training.batch : (at + 1) * training.batch], device)
        kept = None
        if training.drop:
            kept = (torch.rand(facts.edges.count, device=device) >= training.drop).float()
        loss = walk_loss(model, facts, part, kept, training.smoothing)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        total += loss.detach()
        since, step = since + 1, step + 1
        if step % 16 == 0 and torch.device(device).type == "cuda":
            # The clock above is the host's: it must not run far ahead of the device.
            torch.cuda.synchronize()
    model.load_state_dict(weights)
    return TrainedWalks(model, facts, history, best, time.perf_counter() - began)


def walk_loss(
    model: WalkModel,
    facts: WalkGraph,
    part: QueryBatch,
    kept: Float[Tensor, " edges"] | None = None,
    smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """The mean cross-entropy of some facts, each left out of its own walks."""
    score, weights = model.by_entity(facts, part.head, part.relation, part.tail, kept)
    logits = score * weights.sharp
    own = logits.gather(0, part.tail[None])[0]
    masked = logits.index_put((part.known_tail, part.known_query), logits.new_full((), -torch.inf))
    loss = masked.logsumexp(0) - own
    if smoothing:
        loss = (1 - smoothing) * loss + smoothing * (masked.logsumexp(0) - logits.mean(0))
    return loss.mean()


def _validated(
    model: WalkModel, facts: WalkGraph, graph: Graph, training: WalkTraining
) -> dict[str, float]:
    rows = graph.valid if len(graph.valid) else graph.train
    if len(rows) > training.validation_size:
        chosen = np.random.default_rng(0).choice(len(rows), training.validation_size, replace=False)
        rows = rows[np.sort(chosen)]
    model.eval()
    found = rank_open(model, facts, graph, rows, known=("train", "valid"), batch=training.batch)
    model.train()
    return found.means()
