"""Training triples as facts that are sorted by either side, relation by relation.

What `PairFacts` asks of arrays is made here and written as it is made: at no time is more of it in
memory than the facts themselves and the order of one relation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from deepprooflog.kg.data.large.array_file import ArrayWriter
from deepprooflog.kg.data.large.row_order import by_relation
from deepprooflog.relational.pair_facts import PairFacts, SideOrder

_ROWS = 1_000_000


def write_orders(
    writer: ArrayWriter, triples: np.ndarray, relations: int, entities: int
) -> tuple[np.ndarray, np.ndarray]:
    """Write the arrays of sorted facts; which entities have any, and how many each relation has."""
    rows, start = by_relation(triples[:, 1], relations)
    rows = rows.astype(np.int32)
    writer.add("rows", [rows], "<i4")
    writer.add("start", [start], "<i8")
    ends = np.empty((len(rows), 2), dtype=np.int32)
    for at in range(0, len(rows), _ROWS):
        some = rows[at : at + _ROWS]
        ends[at : at + _ROWS, 0] = triples[some, 0]
        ends[at : at + _ROWS, 1] = triples[some, 2]
    del rows
    writer.add("ends", [ends], "<i4", 2)
    for name, side in (("head", 0), ("tail", 1)):
        keys, counts = _distinct(ends[:, side], start, entities)
        writer.add(f"{name}_keys", keys, "<i8")
        begin = np.append(0, np.cumsum(np.concatenate(counts or [start[:0]])))
        writer.add(f"{name}_begin", [begin], "<i4")
    writer.add("orders", _orders(ends, start), "<i4", len(ends), rows=3)
    seen = np.zeros(entities, dtype=bool)
    for at in range(0, len(ends), _ROWS):
        seen[ends[at : at + _ROWS].ravel()] = True
    return seen, np.diff(start)


def pair_facts(arrays: Mapping[str, np.ndarray], entities: int) -> PairFacts:
    """The facts in the arrays of a file; none of these is looked at."""
    own: dict[str, Any] = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return PairFacts(
        own["ends"], own["start"], SideOrder(own["head_keys"], own["head_begin"]),
        SideOrder(own["tail_keys"], own["tail_begin"]), own["orders"], entities,
        len(own["start"]) - 1,
    )  # fmt: skip


def _distinct(
    entity: np.ndarray, start: np.ndarray, entities: int
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The entities on one side of each relation as keys, and how many facts each has."""
    keys, counts = [], []
    for number, (begin, end) in enumerate(pairwise(start.tolist())):
        ordered = np.sort(entity[begin:end])
        first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
        keys.append(ordered[first].astype(np.int64) + number * entities)
        counts.append(np.diff(np.append(first, len(ordered))))
    return keys, counts


def _orders(ends: np.ndarray, start: np.ndarray) -> Iterator[np.ndarray]:
    """The facts by head, all by tail, all by head and tail; equal ones as they are numbered."""
    spans = list(pairwise(start.tolist()))
    for side in (0, 1):
        for begin, end in spans:
            yield _order(ends[begin:end, side]) + np.int32(begin)
    for begin, end in spans:
        by_tail = _order(ends[begin:end, 1])
        yield by_tail[_order(ends[begin:end, 0][by_tail])] + np.int32(begin)


def _order(entity: np.ndarray) -> np.ndarray:
    """The places of entities in order, equal ones as they stand.

    With its place behind it each number is another, and numbers are sorted in far less time than
    places are by what stands there, the less the more there are.
    """
    bits = len(entity).bit_length()
    key = entity.astype(np.int64)
    key <<= bits
    key |= np.arange(len(entity))
    key.sort()
    key &= 2**bits - 1
    return key.astype(np.int32)
