"""Ranking: each query against its candidates, on each side.

A scorer is any function from triples (h, r, t) to scores, higher for what it holds more likely.
Under the protocol `sampled` a query has on each side candidates of its own (`kg/kge/negatives.py`);
under `full` all entities (or all of a domain), without those that make a known truth. There a
scorer that has `of_lists` is asked about all entities at once.

Several processes are dealt the batches that one would score, and their counts are summed: the ranks
are those of one process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeAlias, runtime_checkable
from typing import Protocol as Interface

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int, Int64
from torch import Tensor

from deepprooflog.errors import DataError, ModelError
from deepprooflog.kg.data.triple_set import Side, column
from deepprooflog.kg.data.triples import SIDES, Graph
from deepprooflog.kg.kge.negatives import corruptions, other_candidates
from deepprooflog.learn.run.processes import processes

TripleScore: TypeAlias = "Callable[[Int[Tensor, 'triples 3']], Tensor | np.ndarray]"
Protocol: TypeAlias = Literal["sampled", "full"]
Shown: TypeAlias = Callable[[int, int], None]

BATCH = 1 << 16
# Scores of whole lists that are held at once, in float64.
LIST_SCORES = 1 << 22
NO_NUMBER = "a lower learning rate, or a look at the inputs that give no number"


@runtime_checkable
class ListScore(Interface):
    """A scorer that gives the scores of all entities on one side of triples."""

    def __call__(self, triples: Int[Tensor, "triples 3"]) -> Tensor: ...

    def of_lists(
        self, queries: Int[Tensor, "lists 3"], side: Side
    ) -> Float[Tensor, "lists entities"]: ...


@dataclass(frozen=True, eq=False)
class Ranked:
    """One ranked list for each query and side."""

    query: Int64[np.ndarray, " lists"]  # position in `triples`
    side: Int64[np.ndarray, " lists"]  # position in SIDES
    better: Int64[np.ndarray, " lists"]
    equal: Int64[np.ndarray, " lists"]
    candidates: Int64[np.ndarray, " lists"]  # how many the query's own triple was compared with
    score: Float64[np.ndarray, " lists"]  # of the query's own triple
    negatives_at: Int64[np.ndarray, " lists"]  # in all lists of the side, those that reach `score`
    triples: Int64[np.ndarray, "queries 3"]
    negatives_of_all: Int64[np.ndarray, " lists"] | None = None  # where a triple's score differs
    # between its sides: in all lists of every side, those that reach `score`

    def __len__(self) -> int:
        return len(self.query)


@dataclass(frozen=True, eq=False)
class Ranking:
    """Ranked lists and how they were made."""

    graph: Graph
    protocol: Protocol
    negatives: int | None  # asked for on each side; None where all entities are candidates
    seed: int
    sides: tuple[Side, ...]
    ranked: Ranked
    short: int  # lists that have fewer candidates than were asked for
    seconds: float


def rank(
    graph: Graph,
    score: TripleScore,
    queries: Int64[np.ndarray, "queries 3"] | None = None,
    *,
    protocol: Protocol = "sampled",
    negatives: int = 100,
    sides: Sequence[Side] = SIDES,
    among: Int64[np.ndarray, " domain"] | None = None,
    seed: int = 0,
    batch: int = BATCH,
    on_progress: Shown | None = None,
) -> Ranking:
    """Rank queries (the test triples) among their candidates.

    `batch` bounds how many triples are scored at once; a query's own triple is scored in one call
    with its candidates where they fit, and once more beforehand, as the threshold that candidates
    of all lists are counted against. `among` keeps the full protocol to some entities, as when
    countries are located in regions only. `on_progress(done, total)` is called as lists are done.
    """
    began = time.perf_counter()
    rows = graph.test if queries is None else queries
    if not len(rows):
        raise DataError("there are no queries to rank")
    if protocol not in ("sampled", "full"):
        raise DataError(f"no protocol {protocol!r}", hint="sampled or full")
    if protocol == "sampled" and negatives < 1:
        raise DataError(f"{negatives} negatives are none", hint="100 for each side is usual")
    if protocol == "sampled" and among is not None:
        raise DataError("candidates are drawn among all entities", hint="protocol full")
    if not sides or set(sides) - set(SIDES):
        raise DataError(f"no sides {tuple(sides)}", hint=" and ".join(SIDES))
    here = processes()
    single = here.sum(_scores(graph, score, rows, batch, dealt=True))
    parts: list[Ranked] = []
    short = dealt = 0
    for number, side in enumerate(sides):
        own = _Side(graph, score, rows, side, single, batch)
        done = number * len(rows)
        for part in own.parts(protocol, negatives):
            dealt += 1
            if not here.takes(dealt):
                pass
            elif protocol == "sampled":
                drawn = corruptions(graph, rows[part], side, negatives, seed)
                short += drawn.short
                own.take(part, drawn.entities, drawn.present)
            else:
                own.take_all(part, among)
            done += len(part)
            if on_progress is not None:
                on_progress(done, len(sides) * len(rows))
        own.sum_over_ranks()
        parts.append(own.ranked())
    short = int(here.sum(np.array(short)))
    asked = negatives if protocol == "sampled" else None
    seconds = time.perf_counter() - began
    return Ranking(graph, protocol, asked, seed, tuple(sides), _joined(parts), short, seconds)


class _Side:
    """The lists of one side as they fill."""

    def __init__(
        self,
        graph: Graph,
        score: TripleScore,
        rows: Int64[np.ndarray, "queries 3"],
        side: Side,
        single: Float64[np.ndarray, " queries"],
        batch: int,
    ) -> None:
        self.graph, self.score, self.rows, self.side, self.batch = graph, score, rows, side, batch
        self.single, self.thresholds = single, np.unique(single)
        # reaching[i]: how many candidates reach the lowest i thresholds and no more.
        self.reaching = np.zeros(len(self.thresholds) + 1, dtype=np.int64)
        self.better, self.equal, self.candidates = (
            np.zeros(len(rows), dtype=np.int64) for _ in range(3)
        )

    def parts(self, protocol: Protocol, negatives: int) -> Iterator[Int64[np.ndarray, " _lists"]]:
        """The queries that are scored together; for whole lists, those of one relation."""
        order, width = np.arange(len(self.rows)), 1 + negatives
        if protocol == "full":
            width = 1 + len(self.graph.entities)
        at_once = self.batch
        if protocol == "full" and isinstance(self.score, ListScore):
            order = np.lexsort((self.rows[:, 2 - column(self.side)], self.rows[:, 1]))
            at_once = LIST_SCORES
        step = max(1, at_once // width)
        yield from (order[begin : begin + step] for begin in range(0, len(order), step))

    def take_all(
        self, part: Int64[np.ndarray, " lists"], among: Int64[np.ndarray, " domain"] | None
    ) -> None:
        """Score some queries with all entities that are candidates."""
        rows, entities = self.rows[part], len(self.graph.entities)
        allowed = other_candidates(self.graph, rows, self.side, among)
        if isinstance(self.score, ListScore):
            self._take_lists(part, allowed, self.score)
        else:
            self.take(part, np.broadcast_to(np.arange(entities), allowed.shape), allowed)

    def _take_lists(
        self,
        part: Int64[np.ndarray, " lists"],
        allowed: Bool[np.ndarray, "lists entities"],
        score: ListScore,
    ) -> None:
        """Count in the scores of whole lists, where these are."""
        rows = torch.from_numpy(self.rows[part])
        scores = score.of_lists(rows, self.side).double()
        is_candidate = torch.from_numpy(allowed).to(scores.device)
        own = scores.gather(1, rows[:, column(self.side), None].to(scores.device))
        if bool(scores.isnan().any()):
            _refuse_nan(self.graph, self.rows[part], self.side, scores.isnan().cpu().numpy())
        self.better[part] = ((scores > own) & is_candidate).sum(1).cpu().numpy()
        self.equal[part] = ((scores == own) & is_candidate).sum(1).cpu().numpy()
        self.candidates[part] = allowed.sum(axis=1)
        other, thresholds = scores[is_candidate], torch.from_numpy(self.thresholds).to(own.device)
        reached = torch.searchsorted(thresholds, other, right=True)
        self.reaching += torch.bincount(reached, minlength=len(self.reaching)).cpu().numpy()

    def take(
        self,
        part: Int64[np.ndarray, " lists"],
        entity: Int64[np.ndarray, "lists width"],
        present: Bool[np.ndarray, "lists width"],
    ) -> None:
        """Score some queries with their candidates."""
        rows = self.rows[part]
        lists, size = len(rows), present.sum(axis=1)
        list_of, place = np.nonzero(present)
        # Each list is the query's own triple and, after it, its candidates.
        own_at = np.cumsum(size + 1) - size - 1
        other_at = np.arange(len(list_of)) + list_of + 1
        triples = np.repeat(rows, size + 1, axis=0)
        triples[other_at, column(self.side)] = entity[list_of, place]
        scores = _scores(self.graph, self.score, triples, self.batch)
        own, other = scores[own_at][list_of], scores[other_at]
        self.better[part] = np.bincount(list_of[other > own], minlength=lists)
        self.equal[part] = np.bincount(list_of[other == own], minlength=lists)
        self.candidates[part] = size
        reached = np.searchsorted(self.thresholds, other, side="right")
        self.reaching += np.bincount(reached, minlength=len(self.reaching))

    def sum_over_ranks(self) -> None:
        """Take in the lists that other processes have filled."""
        counted = (self.better, self.equal, self.candidates)
        self.better, self.equal, self.candidates = processes().sum(np.stack(counted))
        self.reaching = processes().sum(self.reaching)

    def ranked(self) -> Ranked:
        """The finished lists."""
        count = len(self.rows)
        at_least = np.cumsum(self.reaching[::-1])[::-1][1:]
        return Ranked(
            np.arange(count),
            np.full(count, SIDES.index(self.side)),
            self.better,
            self.equal,
            self.candidates,
            self.single,
            at_least[np.searchsorted(self.thresholds, self.single)],
            self.rows,
        )


def _scores(
    graph: Graph,
    score: TripleScore,
    triples: Int64[np.ndarray, "triples 3"],
    batch: int,
    *,
    dealt: bool = False,
) -> Float64[np.ndarray, " triples"]:
    """The scores of triples, at most `batch` in a call; NaN is refused with the triple.

    Where the batches are `dealt` to processes, those of others are 0.
    """
    result = np.zeros(len(triples))
    for number, begin in enumerate(range(0, len(triples), batch)):
        if dealt and not processes().takes(number):
            continue
        part = np.ascontiguousarray(triples[begin : begin + batch])
        found = score(torch.from_numpy(part))
        values = found.detach().cpu().double().numpy() if isinstance(found, Tensor) else found
        values = np.asarray(values, dtype=np.float64)
        if values.shape != (len(part),):
            raise ModelError(
                f"the scorer gave scores of shape {values.shape} for {len(part)} triples"
            )
        wrong = np.flatnonzero(np.isnan(values))
        if len(wrong):
            raise ModelError(
                f"the score of {graph.text(part[wrong[0]])} is NaN "
                f"({len(wrong):,} of the {len(part):,} scores of one batch are)",
                hint=NO_NUMBER,
            )
        result[begin : begin + batch] = values
    return result


def _refuse_nan(
    graph: Graph,
    rows: Int64[np.ndarray, "lists 3"],
    side: Side,
    wrong: Bool[np.ndarray, "lists entities"],
) -> NoReturn:
    """Refuse scores that are no numbers, with the first of their triples."""
    number, entity = np.argwhere(wrong)[0]
    triple = rows[number].copy()
    triple[column(side)] = entity
    raise ModelError(
        f"the score of {graph.text(triple)} is NaN "
        f"({int(wrong.sum()):,} of the {wrong.size:,} scores of one batch are)",
        hint=NO_NUMBER,
    )


def _joined(parts: Sequence[Ranked]) -> Ranked:
    def column_of(name: str) -> np.ndarray:
        return np.concatenate([getattr(part, name) for part in parts])

    return Ranked(
        column_of("query"),
        column_of("side"),
        column_of("better"),
        column_of("equal"),
        column_of("candidates"),
        column_of("score"),
        column_of("negatives_at"),
        parts[0].triples,
    )
