"""Random entities, for each row its own: a stream of draws that only the row's key decides.

Draw j of a row is a hash of (key, j), so what a row gets depends neither on the other rows nor on
their order nor on how they are batched. Draws that repeat or are not allowed are passed over, which
samples without replacement from what is allowed.
"""

from __future__ import annotations

from functools import partial
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Int64, UInt64

from deepprooflog.kg.data.large.known_facts import KnownTriples

ABSENT = -1  # where a row has fewer entities than were asked for
CHUNK = 1 << 21  # how many draws are held at once

Part: TypeAlias = "np.ndarray | int"


def stream(*parts: Part) -> UInt64[np.ndarray, " rows"]:
    """A key for each row, mixed from numbers and columns of numbers.

    >>> stream(7, np.array([1, 2])).tolist() == stream(7, np.array([2, 1])).tolist()[::-1]
    True
    """
    key = np.zeros(1, dtype=np.uint64)
    for part in parts:
        value = np.asarray(part, dtype=np.int64).astype(np.uint64)
        key = mixed(key ^ mixed(np.atleast_1d(value)))
    return key


def mixed(number: UInt64[np.ndarray, "*shape"]) -> UInt64[np.ndarray, "*shape"]:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014) after one step of its counter."""
    z = number + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def draw(
    key: UInt64[np.ndarray, " rows"],
    context: Int64[np.ndarray, " rows"],
    own: Int64[np.ndarray, " rows"],
    truths: KnownTriples,
    count: int,
    among: Int64[np.ndarray, " domain"] | None = None,
) -> Int64[np.ndarray, "rows count"]:
    """For each row `count` distinct entities that do not complete its context and are not `own`.

    Where fewer exist, all of them, in order, and ABSENT after them. `among`: of these only.
    """
    free = truths.entities - truths.count(context) - ~truths.has(context, own)
    result = np.full((len(key), count), ABSENT, dtype=np.int64)
    if not count:
        return result
    # Passing over repeats costs little while at least half of what is free stays undrawn.
    sparse = free >= 2 * count if among is None else np.zeros(len(key), dtype=bool)
    for fill, rows, width in (
        (_sparse, np.flatnonzero(sparse), count),
        (partial(_dense, among=among), np.flatnonzero(~sparse), truths.entities),
    ):
        step = max(1, CHUNK // width)
        for begin in range(0, len(rows), step):
            part = rows[begin : begin + step]
            result[part] = fill(key[part], context[part], own[part], truths, count)
    return result


def _sparse(
    key: UInt64[np.ndarray, " rows"],
    context: Int64[np.ndarray, " rows"],
    own: Int64[np.ndarray, " rows"],
    truths: KnownTriples,
    count: int,
) -> Int64[np.ndarray, "rows count"]:
    """The first `count` draws of each stream that are allowed and not met before."""
    result = np.empty((len(key), count), dtype=np.int64)
    left = np.arange(len(key))
    width = count + count // 8 + 8
    while len(left):
        draws = np.arange(width, dtype=np.uint64)
        number = mixed(key[left, None] + np.uint64(0xD1B54A32D192ED03) * draws)
        entity = (number % np.uint64(truths.entities)).astype(np.int64)
        good = ~truths.has(np.broadcast_to(context[left, None], entity.shape), entity)
        good &= (entity != own[left, None]) & _first_in_row(entity)
        place = np.cumsum(good, axis=1)
        full = place[:, -1] >= count
        taken = good & (place <= count) & full[:, None]
        result[left[full]] = entity[taken].reshape(-1, count)
        left = left[~full]
        width *= 2
    return result


def _dense(
    key: UInt64[np.ndarray, " rows"],
    context: Int64[np.ndarray, " rows"],
    own: Int64[np.ndarray, " rows"],
    truths: KnownTriples,
    count: int,
    among: Int64[np.ndarray, " domain"] | None = None,
) -> Int64[np.ndarray, "rows count"]:
    """The allowed entities whose hash with the row's key is smallest; all where they are few."""
    every = np.arange(truths.entities, dtype=np.uint64)
    number = mixed(key[:, None] + np.uint64(0x8BB84B93962EACC9) * every)
    allowed = allowed_entities(context, own, truths)
    allowed[np.arange(len(own)), own] = False
    if among is not None:
        allowed &= np.isin(every, among.astype(np.uint64))
    short = allowed.sum(axis=1) <= count
    # A short row keeps all, in order of number.
    number = np.where(short[:, None], every, number >> np.uint64(1))
    number[~allowed] = np.iinfo(np.uint64).max
    order = np.argsort(number, axis=1, kind="stable")[:, :count]
    found = np.where(np.take_along_axis(allowed, order, axis=1), order, ABSENT)
    result = np.full((len(key), count), ABSENT, dtype=np.int64)
    result[:, : found.shape[1]] = found
    return result


def allowed_entities(
    context: Int64[np.ndarray, " rows"],
    own: Int64[np.ndarray, " rows"],
    truths: KnownTriples,
) -> Bool[np.ndarray, "rows entities"]:
    """Which entities a row is compared with: its own, and those that complete no truth."""
    allowed = np.ones((len(context), truths.entities), dtype=bool)
    allowed[truths.pairs(context)] = False
    allowed[np.arange(len(own)), own] = True
    return allowed


def _first_in_row(entity: Int64[np.ndarray, "rows width"]) -> Bool[np.ndarray, "rows width"]:
    order = np.argsort(entity, axis=1, kind="stable")
    ordered = np.take_along_axis(entity, order, axis=1)
    first = np.ones(entity.shape, dtype=bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    result = np.empty_like(first)
    np.put_along_axis(result, order, first, axis=1)
    return result
