"""Ranking by scores of whole lists: one call scores every entity, by one scorer or by several."""

from __future__ import annotations

import time

import numpy as np
import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

from deepprooflog.device import free_memory
from deepprooflog.errors import DataError
from deepprooflog.kg.belief.list_weights import ListScores
from deepprooflog.kg.data.triple_set import Side, column
from deepprooflog.kg.data.triples import SIDES
from deepprooflog.kg.evaluation.evaluate import Ranker
from deepprooflog.kg.evaluation.ranking import Ranked, Ranking
from deepprooflog.kg.kge.negatives import corruptions, other_candidates
from deepprooflog.learn.run.processes import processes
from deepprooflog.learn.run.progress import Progress

KEPT = 1 << 26
"""Scores that are kept for a second look; where there are more, they are worked out again.

On a GPU they may take a quarter of the memory that it has left.
"""


@torch.no_grad()
def rank_lists(
    ranker: Ranker,
    scores: ListScores,
    queries: Int64[np.ndarray, "queries 3"],
    scorers: int = 1,
    *,
    batch: int = 128,
) -> list[Ranking]:
    """Rank triples by each of the scorers, as `rank` does, by one score of each list.

    A triple's score may differ between the question for its head and that for its tail. Of several
    processes each takes some batches; all of them get every rank.

    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = graph_of([("a", "r", "b"), ("b", "r", "c")], test=[("c", "r", "a")])
    >>> by_number = lambda rows, side: torch.arange(3.0).expand(1, len(rows), 3)
    >>> [ranking] = rank_lists(Ranker(graph, protocol="full"), by_number, graph.test)
    >>> ranking.ranked.better.tolist(), ranking.ranked.candidates.tolist()
    ([0, 2], [2, 2])
    """
    if not len(queries):
        raise DataError("there are no test triples to rank", hint="a graph with a test split")
    began = time.perf_counter()
    lists = _Lists(ranker, scores, queries, scorers, batch)
    own, (better, equal, size) = lists.ranked()
    reach = lists.reaching(own)
    lists.bar.close()
    seconds, sides = time.perf_counter() - began, ranker.candidates.sides
    asked = ranker.negatives if ranker.chosen == "sampled" else None
    short = int(processes().sum(np.array([sum(lists.fewer.values())]))[0])
    query = np.tile(np.arange(len(queries)), len(sides))
    side = np.repeat([SIDES.index(one) for one in sides], len(queries))
    parts = [
        Ranked(
            query, side, better[s].reshape(-1), equal[s].reshape(-1), size[s].reshape(-1),
            own[s].reshape(-1), each.reshape(-1), queries, every.reshape(-1),
        )
        for s, (each, every) in enumerate(reach)
    ]  # fmt: skip
    return [
        Ranking(ranker.graph, ranker.chosen, asked, ranker.seed, tuple(sides), one, short, seconds)
        for one in parts
    ]


class _Lists:
    """The scores of lists, met twice: for ranks, then for the thresholds of AUC-PR."""

    def __init__(
        self,
        ranker: Ranker,
        scores: ListScores,
        queries: Int64[np.ndarray, "n 3"],
        scorers: int,
        batch: int,
    ) -> None:
        self.ranker, self.scores, self.queries, self.scorers = ranker, scores, queries, scorers
        self.sides = ranker.candidates.sides
        starts = range(0, len(queries), batch)
        parts = [(side, slice(b, b + batch)) for side in self.sides for b in starts]
        self.parts = [part for number, part in enumerate(parts) if processes().takes(number)]
        self.total = len(self.sides) * len(queries) * len(ranker.graph.entities) * scorers
        self.most: int | None = None  # scores that are kept, known when there are some
        self.kept: dict[tuple[Side, int], tuple[Tensor, Tensor]] = {}
        self.fewer: dict[tuple[Side, int], int] = {}  # lists with fewer candidates than asked for
        self.bar, self.done = Progress(2 * len(self.parts)), 0
        self.bar.live = self.bar.live and ranker.progress

    def ranked(
        self,
    ) -> tuple[Float64[np.ndarray, "scorers sides n"], Int64[np.ndarray, "3 scorers sides n"]]:
        """The scores of lists' own triples, who is better, who is equal, how many there are."""
        found = np.zeros((4, self.scorers, len(self.sides), len(self.queries)))
        for side, part in self.parts:
            scores, own, allowed = self.part(side, part)
            better, equal = ((test & allowed).sum(2) for test in (scores > own, scores == own))
            size = allowed.sum(1).expand_as(better)
            for number, values in enumerate((own[..., 0], better, equal, size)):
                found[number, :, self.sides.index(side), part] = values.double().cpu().numpy()
        found = processes().sum(found)
        return found[0], found[1:].astype(np.int64)

    def reaching(
        self, own: Float64[np.ndarray, "scorers sides n"]
    ) -> list[tuple[Int64[np.ndarray, "sides n"], Int64[np.ndarray, "sides n"]]]:
        """By each scorer, how many candidates reach each own score, of its side and of all."""
        thresholds = [np.unique(one) for one in own]
        # reached[s][i, n]: candidates of a side that reach the lowest n thresholds and no more.
        reached = [
            np.zeros((len(self.sides), len(ends) + 1), dtype=np.int64) for ends in thresholds
        ]
        for side, part in self.parts:
            scores, _, allowed = self.part(side, part)
            for s, ends in enumerate(thresholds):
                high = torch.from_numpy(ends).to(scores.device)
                places = torch.searchsorted(high, scores[s][allowed].double(), right=True)
                counts = torch.bincount(places, minlength=len(ends) + 1)
                reached[s][self.sides.index(side)] += counts.cpu().numpy()
        result = []
        for s, ends in enumerate(thresholds):
            every = processes().sum(reached[s])
            at_least = np.cumsum(every[:, ::-1], axis=1)[:, ::-1][:, 1:]
            at = np.searchsorted(ends, own[s])
            result.append((np.take_along_axis(at_least, at, axis=1), at_least.sum(0)[at]))
        return result

    def part(self, side: Side, part: slice) -> tuple[Tensor, Tensor, Tensor]:
        """Scores [scorers, lists, entities], own scores [scorers, lists, 1], candidates."""
        rows, key = self.queries[part], (side, part.start)
        kept = self.kept.get(key)
        if kept is None:
            found = self.scores(rows, side)
            kept = found, torch.from_numpy(self._allowed(rows, key)).to(found.device)
            if self.most is None:
                free = free_memory(found.device)
                self.most = KEPT if free is None else free // (4 * found.element_size())
            if self.total <= self.most:
                self.kept[key] = kept
        self.done += 1
        self.bar.update(self.done, f"ranking {len(self.sides) * len(self.queries)} lists")
        found, allowed = kept
        own = torch.from_numpy(rows[:, column(side)].copy()).to(found.device)
        return found, found.gather(2, own.expand(len(found), -1)[..., None]), allowed

    def _allowed(
        self, rows: Int64[np.ndarray, "lists 3"], key: tuple[Side, int]
    ) -> Bool[np.ndarray, "lists entities"]:
        """Which entities a triple's own is ranked among, itself left out."""
        ranker, side = self.ranker, key[0]
        if ranker.chosen == "sampled":
            drawn = corruptions(ranker.graph, rows, side, ranker.negatives, ranker.seed)
            self.fewer[key] = drawn.short
            allowed = np.zeros((len(rows), len(ranker.graph.entities)), dtype=bool)
            at, _ = np.nonzero(drawn.present)
            allowed[at, drawn.entities[drawn.present]] = True
            return allowed
        return other_candidates(ranker.graph, rows, side, ranker.candidates.entities)
