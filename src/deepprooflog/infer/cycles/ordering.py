"""The order in which the states of a cycle are eliminated, found once from its structure.

Eliminating a state k joins each state before it to each state after it. In every round those states
are eliminated together that have the fewest such joins among their neighbours: they do not touch,
so that a round is a few operations on arrays. A path takes about log n rounds and linear work,
bands and planar graphs little more. Where what is left has become dense it is kept as a matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

# Whole rows and columns are cheaper than lists below this many states, or above this filling.
FEW = 12
FULL = 0.3
# States with up to this many times the fewest joins (and some more) may go in the same round.
SLACK = 2
MORE = 8


@dataclass(frozen=True)
class Round:
    """States that are eliminated together: their steps, and the sums that replace them.

    Steps are named by the number of their entry. Lists are sorted by what they are added up by.
    """

    pivots: Ints  # [p] states
    out: Ints  # [o] entries k → j, by pivot
    out_pivot: Ints  # [o] positions in `pivots`
    out_target: Ints  # [o] states j
    out_start: Ints  # where each pivot that has steps begins
    by_target: Ints  # [o] an order of `out` by target
    target_start: Ints  # where each target begins in that order
    into: Ints  # [i] entries i → k, by source
    into_pivot: Ints  # [i] positions in `pivots`
    into_start: Ints  # where each source begins
    sources: Ints  # the sources, in that order
    by_pivot: Ints  # [i] an order of `into` by pivot
    pivot_start: Ints  # where each pivot that is stepped to begins in that order
    join_left: Ints  # [u] positions in `into`, by the entry that they are added to
    join_right: Ints  # [u] positions in `out`
    join_start: Ints  # where each entry begins
    joined: Ints  # the entries, in that order


@dataclass(frozen=True)
class EliminationOrder:
    """Rounds of elimination, and the states that are left for a matrix."""

    states: int
    entry: Ints  # [steps] the entry of each step given; −1 for a step to the same state
    entries: int  # all entries, those that elimination adds included
    rounds: tuple[Round, ...]
    rest: Ints  # [m] states left
    rest_entry: Ints  # entries among them
    rest_place: Ints  # their places in the [m · m] matrix


def order_states(states: int, source: Ints, target: Ints) -> EliminationOrder:
    """Order the states of a component with steps source → target; a pair may occur many times."""
    inner = source != target
    keys, number = np.unique(source[inner] * states + target[inner], return_inverse=True)
    entry = np.full(len(source), -1, dtype=np.int64)
    entry[inner] = number.reshape(-1)
    graph = _Left(np.arange(states), keys // states, keys % states, np.arange(len(keys)))
    entries = len(keys)
    rounds: list[Round] = []
    draw = np.random.default_rng(0)
    while not graph.dense:
        made, graph, entries = _eliminate(graph, _chosen(graph, draw), entries)
        rounds.append(made)
    m = len(graph.states)
    place = graph.source * m + graph.target
    return EliminationOrder(states, entry, entries, tuple(rounds), graph.states, graph.entry, place)


@dataclass(frozen=True)
class _Left:
    """What is left to eliminate, under numbers of its own; steps by source and target."""

    states: Ints  # [m] the states' own numbers
    source: Ints
    target: Ints
    entry: Ints

    @property
    def dense(self) -> bool:
        m = len(self.states)
        return m <= FEW or len(self.source) > FULL * m * m


def _chosen(graph: _Left, draw: np.random.Generator) -> NDArray[np.bool_]:
    """States that do not touch, with few joins: each has the fewest among its neighbours."""
    m = len(graph.states)
    leaving = np.bincount(graph.source, minlength=m)
    arriving = np.bincount(graph.target, minlength=m)
    joins = leaving * arriving
    rank = joins * m + draw.permutation(m)
    least = np.full(m, np.iinfo(np.int64).max)
    np.minimum.at(least, graph.source, rank[graph.target])
    np.minimum.at(least, graph.target, rank[graph.source])
    return (rank < least) & (joins <= SLACK * int(joins.min()) + MORE)


def _eliminate(graph: _Left, chosen: NDArray[np.bool_], entries: int) -> tuple[Round, _Left, int]:
    m = len(graph.states)
    position = np.cumsum(chosen) - 1  # of a chosen state among the pivots
    own = graph.states
    leaving, arriving = chosen[graph.source], chosen[graph.target]
    out_source, out_target = graph.source[leaving], graph.target[leaving]
    into_source, into_target = graph.source[arriving], graph.target[arriving]
    out_pivot, into_pivot = position[out_source], position[into_target]
    pivots = int(chosen.sum())

    # A join for each step into a pivot and each step out of it.
    first = np.searchsorted(out_pivot, np.arange(pivots + 1))
    count = np.diff(first)[into_pivot]
    left = np.repeat(np.arange(len(into_pivot)), count)
    begin = np.cumsum(count) - count
    right = np.arange(len(left)) - np.repeat(begin - first[into_pivot], count)
    key = into_source[left] * m + out_target[right]
    turn = np.flatnonzero(into_source[left] != out_target[right])  # not back to where it came from
    turn = turn[np.argsort(key[turn], kind="stable")]
    left, right, key = left[turn], right[turn], key[turn]
    keys, join_start = _runs(key)

    stay = ~(leaving | arriving)
    old = graph.source[stay] * m + graph.target[stay]
    where = np.searchsorted(old, keys)
    known = where < len(old)
    known[known] = old[where[known]] == keys[known]
    joined = np.empty(len(keys), dtype=np.int64)
    joined[known] = graph.entry[stay][where[known]]
    fresh = ~known
    joined[fresh] = entries + np.arange(int(fresh.sum()))

    by_target = np.argsort(out_target, kind="stable")
    by_pivot = np.argsort(into_pivot, kind="stable")
    sources, into_start = _runs(into_source)
    made = Round(
        pivots=own[chosen],
        out=graph.entry[leaving],
        out_pivot=out_pivot,
        out_target=own[out_target],
        out_start=_runs(out_pivot)[1],
        by_target=by_target,
        target_start=_runs(out_target[by_target])[1],
        into=graph.entry[arriving],
        into_pivot=into_pivot,
        into_start=into_start,
        sources=own[sources],
        by_pivot=by_pivot,
        pivot_start=_runs(into_pivot[by_pivot])[1],
        join_left=left,
        join_right=right,
        join_start=join_start,
        joined=joined,
    )
    number = np.cumsum(~chosen) - 1
    every = np.concatenate([old, keys[fresh]])
    entry = np.concatenate([graph.entry[stay], joined[fresh]])
    sort = np.argsort(every, kind="stable")
    every, entry = every[sort], entry[sort]
    after = _Left(own[~chosen], number[every // m], number[every % m], entry)
    return made, after, entries + int(fresh.sum())


def _runs(values: Ints) -> tuple[Ints, Ints]:
    """The distinct values of a sorted list, and where each begins."""
    if not len(values):
        return values, np.zeros(0, dtype=np.int64)
    start = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    return values[start], start
