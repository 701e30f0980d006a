"""Negatives: triples with one entity replaced, for ranking, training and calibration.

For ranking, each query has candidates of its own on each side, drawn without replacement and
filtered by train, valid and test, so that no candidate is a known truth. For training, a negative
is filtered by train alone: to avoid the held-out triples would tell the learner what they are.
Embeddings are trained on uniform corruptions of whole minibatches, drawn where the tensors are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Int, Int64
from torch import Tensor

from deepprooflog.kg.data.domains import ANYONE, Candidates
from deepprooflog.kg.data.draw import ABSENT, allowed_entities, draw, stream
from deepprooflog.kg.data.triple_set import Side, TripleSet, column
from deepprooflog.kg.data.triples import SIDES, SPLITS, Graph, SplitName
from deepprooflog.kg.kge.options import KgeOptions
from deepprooflog.learn.run.processes import processes


@dataclass(frozen=True, eq=False)
class Corruptions:
    """For each query the entities that replace its own on one side."""

    side: Side
    entities: Int64[np.ndarray, "queries count"]  # ABSENT where a query has fewer

    @property
    def present(self) -> Bool[np.ndarray, "queries count"]:
        """Where there is an entity."""
        return np.asarray(self.entities != ABSENT)

    @property
    def short(self) -> int:
        """How many queries have fewer than were asked for, because no more exist."""
        return int((~self.present).any(axis=1).sum())

    def triples(
        self, queries: Int64[np.ndarray, "queries 3"]
    ) -> Int64[np.ndarray, "queries count 3"]:
        """The corrupted triples; those of absent entities are not to be used."""
        rows = np.repeat(queries[:, None, :], self.entities.shape[1], axis=1)
        rows[:, :, column(self.side)] = self.entities
        return rows


def corruptions(
    graph: Graph, queries: Int64[np.ndarray, "queries 3"], side: Side, count: int, seed: int = 0
) -> Corruptions:
    """`count` candidates for each query, decided by (seed, query, side) alone.

    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = graph_of([("a", "r", "b"), ("a", "r", "c"), ("d", "r", "e")])
    >>> found = corruptions(graph, graph.train[:1], "tail", 100)
    >>> found.entities[found.present].tolist(), found.short  # a, d, e: c is a known truth
    ([0, 3, 4], 1)
    """
    key = stream(seed, SIDES.index(side), queries[:, 0], queries[:, 1], queries[:, 2])
    own = queries[:, column(side)]
    truths = graph.known(side, SPLITS)
    return Corruptions(side, draw(key, graph.contexts(queries, side), own, truths, count))


def all_candidates(
    graph: Graph,
    queries: Int64[np.ndarray, "queries 3"],
    side: Side,
    splits: Sequence[SplitName] = SPLITS,
) -> Bool[np.ndarray, "queries entities"]:
    """Which entities each query is ranked among: its own, and all that make no known truth.

    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = graph_of([("a", "r", "b"), ("a", "r", "c")])
    >>> all_candidates(graph, graph.train[:1], "tail").tolist()
    [[True, True, False]]
    """
    truths = graph.known(side, splits)
    return allowed_entities(graph.contexts(queries, side), queries[:, column(side)], truths)


def other_candidates(
    graph: Graph,
    queries: Int64[np.ndarray, "queries 3"],
    side: Side,
    among: Int64[np.ndarray, " domain"] | None = None,
) -> Bool[np.ndarray, "queries entities"]:
    """Which entities each query's own is compared with; with a domain, of those in it."""
    allowed = all_candidates(graph, queries, side)
    allowed[np.arange(len(queries)), queries[:, column(side)]] = False
    return allowed if among is None else allowed & np.isin(np.arange(allowed.shape[1]), among)


@dataclass(frozen=True, eq=False)
class Negatives:
    """Training negatives, each with the position of the positive it was made from."""

    triples: Int64[np.ndarray, "negatives 3"]
    positive: Int64[np.ndarray, " negatives"]
    missing: int  # how many were asked for and do not exist


def training_negatives(
    graph: Graph,
    positives: Int64[np.ndarray, "positives 3"],
    each: int = 1,
    seed: int = 0,
    epoch: int = 0,
    candidates: Candidates = ANYONE,
) -> Negatives:
    """`each` negatives for every positive, other ones in every epoch.

    The sides alternate and the first is a coin's: with one negative for each positive, half of the
    negatives replace the head. None of them is a triple of train. `candidates` keeps them to one
    side and to some entities.

    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = graph_of([("rome", "in", "italy"), ("oslo", "in", "norway")])
    >>> countries = Candidates(("tail",), np.array([1, 3]))
    >>> training_negatives(graph, graph.train[:1], 8, candidates=countries).triples.tolist()
    [[0, 0, 3]]
    """
    parts = (positives[:, 0], positives[:, 1], positives[:, 2])
    coin = (stream(seed, epoch, *parts) & np.uint64(1)).astype(np.int64)
    found: list[Int64[np.ndarray, "negatives 3"]] = []
    origin: list[Int64[np.ndarray, " negatives"]] = []
    for number, side in enumerate(SIDES):
        if side not in candidates.sides:
            continue
        # With an odd number the coin's side has one more.
        wanted = each // 2 + ((coin == number) & (each % 2 == 1))
        width = (each + 1) // 2
        if len(candidates.sides) == 1:
            wanted, width = np.full_like(coin, each), each
        key = stream(seed, epoch, number + 2, *parts)
        context, own = graph.contexts(positives, side), positives[:, column(side)]
        truths = graph.known(side, ("train",))
        entity = draw(key, context, own, truths, width, candidates.entities)
        used = (entity != ABSENT) & (np.arange(width) < wanted[:, None])
        rows = positives[np.nonzero(used)[0]]
        rows[:, column(side)] = entity[used]
        found.append(rows)
        origin.append(np.nonzero(used)[0])
    positive = np.concatenate(origin)
    order = np.argsort(positive, kind="stable")
    missing = each * len(positives) - len(positive)
    return Negatives(np.concatenate(found)[order], positive[order], missing)


# -- on the device, uniformly ----------------------------------------------------------------------


@dataclass(frozen=True)
class CorruptedSide:
    """One side of a batch corrupted: the triples in groups, each with its set of negatives."""

    tails: bool  # corrupt tails, or heads
    triples: Int[Tensor, "group rows 3"]
    negatives: Int[Tensor, "group n"]

    def of_rank(self) -> CorruptedSide:
        """What one of several processes takes of it: some groups, or some rows of each."""
        groups, rows = _share(*self.triples.shape[:2])
        return CorruptedSide(self.tails, self.triples[groups, rows], self.negatives[groups])


def corrupted_sides(
    triples: Int[Tensor, "batch 3"], entities: int, options: KgeOptions
) -> list[CorruptedSide]:
    """Uniform negatives for a minibatch, from the global random numbers of its device.

    >>> sides = corrupted_sides(torch.tensor([[0, 0, 1], [2, 0, 3]]), 4, KgeOptions(negatives=5))
    >>> [(side.tails, side.triples.tolist(), side.negatives.shape) for side in sides]
    [(True, [[[0, 0, 1]]], torch.Size([1, 5])), (False, [[[2, 0, 3]]], torch.Size([1, 5]))]
    """
    result = []
    for tails, part in _parts(len(triples), options):
        own = triples[part]
        size = _group(len(own), options)
        shape = (len(own) // size, options.negatives)
        negatives = torch.randint(entities, shape, device=own.device)
        result.append(CorruptedSide(tails, own.reshape(-1, size, 3), negatives))
    return result


def rows_of_rank(count: int, options: KgeOptions) -> Int[Tensor, " own"]:
    """The rows of a minibatch whose losses one of several processes takes, in their order."""
    found = []
    for _, part in _parts(count, options)[: 1 if options.sides == "both" else 2]:
        numbers = torch.arange(count)[part]
        numbers = numbers.reshape(-1, _group(len(numbers), options))
        found.append(numbers[_share(*numbers.shape)].flatten())
    return torch.cat(found)


def _parts(count: int, options: KgeOptions) -> list[tuple[bool, slice]]:
    """Which rows of a minibatch get other tails (True), which other heads; no part is empty."""
    middle = count if options.sides == "both" else (count + 1) // 2
    begin = 0 if options.sides == "both" else middle
    parts = [(True, slice(0, middle)), (False, slice(begin, count))]
    return [(tails, part) for tails, part in parts if part.stop > part.start]


def _share(groups: int, rows: int) -> tuple[slice, slice]:
    """The groups of one of several processes; where they are few, its rows of every group."""
    here = processes()
    if groups >= here.size or groups >= rows:
        return here.share(groups), slice(None)
    return slice(None), here.share(rows)


def _group(count: int, options: KgeOptions) -> int:
    """The largest size of groups that divides the count, up to the one asked for."""
    most = 1 if options.sharing == "each" else min(options.group, count)
    return next(size for size in range(most, 0, -1) if count % size == 0)


def known_negatives(known: TripleSet[Tensor], side: CorruptedSide) -> Bool[Tensor, "group rows n"]:
    """Which corruptions are themselves known triples."""
    h, r, t = (x[..., None] for x in side.triples.unbind(-1))
    other = side.negatives[:, None]
    return known.holds(h, r, other) if side.tails else known.holds(other, r, t)


def uniform_corruptions(
    triples: Int[Tensor, "n 3"], entities: int, count: int, seed: int
) -> Int[Tensor, "m 3"]:
    """`count` uniform corruptions of each triple on each side, known triples among them.

    >>> uniform_corruptions(torch.tensor([[0, 7, 1]]), 5, 3, seed=0)[:, 1].tolist()
    [7, 7, 7, 7, 7, 7]
    """
    generator = torch.Generator().manual_seed(seed)
    result = []
    for replaced in (0, 2):
        rows = triples.repeat_interleave(count, 0)
        rows[:, replaced] = torch.randint(entities, (len(rows),), generator=generator)
        result.append(rows)
    return torch.cat(result)
