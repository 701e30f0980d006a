"""What the number of facts says of an answer, fitted again where it ranks: on validation lists.

In training a query's own fact is left out and some others are hidden; what is really missing is
missing in another way. So the four coefficients of a query relation that weigh an answer's facts
(some of the relation, how many; how many at all, none at all) are fitted again, by cross-entropy
over whole lists of the validation triples, on the graph as it will be asked:

    loss + shrink · Σ over relations and directions of |coefficients − those common to all|²

All else stays as it is. Where the validation lists do not gain, nothing is changed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.walk.model import WalkGraph, WalkModel
from deepprooflog.kg.walk.queries import WalkQueries, some_rows
from deepprooflog.kg.walk.rank import rank_open

ITERATIONS = 40


@dataclass(frozen=True)
class Refit:
    """MRR of the validation triples before and after, and whether the new coefficients are kept."""

    before: float
    after: float
    kept: bool


def refit_suits(
    model: WalkModel,
    facts: WalkGraph,
    graph: Graph,
    *,
    shrink: float = 0.002,
    lists: int = 8000,
    batch: int = 128,
    seed: int = 0,
) -> Refit:
    """Fit how answers are weighed by their own facts on at most so many validation lists."""
    rows = some_rows(graph.valid, lists // 2, seed)
    if not len(rows) or not model.options.suits:
        return Refit(0.0, 0.0, False)
    policy = model.policy
    kept = policy.suit_all.detach().clone(), policy.suit_own.detach().clone()
    before = rank_open(model, facts, graph, rows, known=("train", "valid"), batch=batch).means()
    cases = _cases(model, facts, graph, rows, batch)
    with torch.enable_grad():
        common, own = (torch.zeros_like(value, requires_grad=True) for value in kept)
        optimizer = torch.optim.LBFGS(
            [common, own], max_iter=ITERATIONS, line_search_fn="strong_wolfe"
        )

        def loss() -> Tensor:
            optimizer.zero_grad()
            total = common.new_zeros(())
            for case in cases:
                part = case.loss(common, own) / len(cases)
                part.backward()  # type: ignore[no-untyped-call]
                total = total + part.detach()
            far = shrink * (kept[1] + own).square().sum()
            far.backward()  # type: ignore[no-untyped-call]
            return total + far.detach()

        optimizer.step(loss)  # type: ignore[no-untyped-call]
    with torch.no_grad():
        policy.suit_all.add_(common)
        policy.suit_own.add_(own)
    after = rank_open(model, facts, graph, rows, known=("train", "valid"), batch=batch).means()
    better = after["mrr"] > before["mrr"]
    if not better:
        with torch.no_grad():
            policy.suit_all.copy_(kept[0])
            policy.suit_own.copy_(kept[1])
    return Refit(before["mrr"], after["mrr"], better)


@dataclass(frozen=True, eq=False)
class _Case:
    """Some lists: their logits so far, and the four numbers of each answer."""

    logits: Float[Tensor, "entities batch"]
    sharp: Float[Tensor, " batch"]
    relation: Tensor
    tail: Tensor
    facts: WalkGraph
    relations: int

    def loss(self, common: Tensor, own: Tensor) -> Tensor:
        """The mean cross-entropy when the coefficients change by so much."""
        change = common + own[self.relation]  # [batch, 4]
        directed = 2 * self.relations
        inverse = (self.relation + self.relations) % directed
        numbers = self.facts.amounts
        more = numbers[:, inverse] * change[:, 0] + numbers[:, directed + inverse] * change[:, 1]
        more = more + numbers[:, 2 * directed :] @ change[:, 2:].T
        logits = self.logits + self.sharp * more
        return (logits.logsumexp(0) - logits.gather(0, self.tail[None])[0]).mean()


@torch.no_grad()
def _cases(
    model: WalkModel, facts: WalkGraph, graph: Graph, rows: Int64[np.ndarray, "n 3"], batch: int
) -> list[_Case]:
    queries = WalkQueries.of(graph, model.relations, rows, ("train", "valid"))
    found = []
    for part in queries.batches(batch, facts.edges.key.device):
        score, weights = model.by_entity(facts, part.head, part.relation)
        logits = score * weights.sharp
        logits[part.known_tail, part.known_query] = -torch.inf
        found.append(
            _Case(logits, weights.sharp, part.relation, part.tail, facts, len(model.relations))
        )
    return found
