"""Full filtered ranking by open queries: one sweep scores all tails of a query.

Of several processes each sweeps for its share of the queries; all of them get every rank.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float64, Int64

from deepprooflog.kg.data.triples import SPLITS, Graph, SplitName
from deepprooflog.kg.evaluation.metrics import Ties, means, ranks
from deepprooflog.kg.walk.model import WalkGraph, WalkModel
from deepprooflog.kg.walk.queries import WalkQueries
from deepprooflog.learn.run.processes import processes


@dataclass(frozen=True, eq=False)
class OpenRanking:
    """The rank of each triple's tail, then of each triple's head, among all entities."""

    better: Int64[np.ndarray, " lists"]
    equal: Int64[np.ndarray, " lists"]
    seconds: float

    def ranks(self, ties: Ties = "average") -> Float64[np.ndarray, " lists"]:
        """Ranks from 1."""
        return ranks(self.better, self.equal, ties)

    def means(self) -> dict[str, float]:
        """MRR and Hits@1, 3, 10, ties averaged."""
        return means(self.ranks())


@torch.no_grad()
def rank_open(
    model: WalkModel,
    facts: WalkGraph,
    graph: Graph,
    triples: Int64[np.ndarray, "triples 3"] | None = None,
    *,
    known: Sequence[SplitName] = SPLITS,
    batch: int = 128,
    shown: Callable[[int, int], None] | None = None,
) -> OpenRanking:
    """Rank triples (the test triples) among all entities that make no known truth.

    `shown(done, total)` is called as lists are finished.

    >>> from deepprooflog.kg.data.triples import graph_of
    >>> from deepprooflog.kg.walk.model import walk_graph
    >>> graph = graph_of([("a", "r", "b"), ("b", "r", "c")], test=[("c", "r", "a")])
    >>> ranking = rank_open(WalkModel(("r",)), walk_graph(graph, ("r",)), graph)
    >>> len(ranking.better), bool((ranking.ranks() <= 3).all())
    (2, True)
    """
    began = time.perf_counter()
    queries = WalkQueries.of(
        graph, model.relations, graph.test if triples is None else triples, known
    )
    here, done = processes(), 0
    counted = np.zeros((2, len(queries)), dtype=np.int64)
    own_share = here.share(len(queries))
    for begin in range(own_share.start, own_share.stop, batch):
        rows = slice(begin, min(begin + batch, own_share.stop))
        part = queries.batch(rows, facts.profile.counts.device)
        score, _ = model.by_entity(facts, part.head, part.relation)
        own = score.gather(0, part.tail[None])
        score[part.known_tail, part.known_query] = -torch.inf
        ahead = torch.stack([(score > own).sum(0), (score == own).sum(0) - 1])
        counted[:, rows] = ahead.cpu().numpy()
        done += len(part.head)
        if shown is not None:
            shown(done, own_share.stop - own_share.start)
    better, equal = here.sum(counted)
    return OpenRanking(better, equal, time.perf_counter() - began)
