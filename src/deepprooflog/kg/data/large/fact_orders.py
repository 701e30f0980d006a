"""Training triples as facts that are sorted by either side, relation by relation.

What `PairFacts` asks of arrays is made here and written as it is made: at no time is more of it in
memory than the facts themselves and the order of one relation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from deepprooflog.kg.data.large.array_file import ROWS, ArrayWriter
from deepprooflog.kg.data.large.row_order import by_relation
from deepprooflog.relational.pair_facts import PairFacts, SideOrder


def write_orders(
    writer: ArrayWriter, triples: np.ndarray, relations: int, entities: int
) -> tuple[np.ndarray, np.ndarray]:
    """Write the arrays of sorted facts; which entities have any, and how many each relation has."""
    rows, start = by_relation(triples[:, 1], relations)
    rows = rows.astype(np.int32)
    writer.add("rows", [rows], "<i4")
    writer.add("start", [start], "<i8")
    ends = np.empty((len(rows), 2), dtype=np.int32)
    for at in range(0, len(rows), ROWS):
        some = rows[at : at + ROWS]
        ends[at : at + ROWS, 0] = triples[some, 0]
        ends[at : at + ROWS, 1] = triples[some, 2]
    del rows
    writer.add("ends", [ends], "<i4", 2)
    sides = _Distinct(), _Distinct()
    writer.add("orders", _orders(ends, start, sides), "<i4", len(ends), rows=3)
    seen = np.zeros(entities, dtype=bool)
    for name, side in zip(("head", "tail"), sides, strict=True):
        keys = (one.astype(np.int64) + n * entities for n, one in enumerate(side.entities))
        writer.add(f"{name}_keys", keys, "<i8")
        writer.add(f"{name}_begin", [*side.begin, start[-1:]], "<i4")
        for one in side.entities:
            seen[one] = True
    return seen, np.diff(start)


def pair_facts(arrays: Mapping[str, np.ndarray], entities: int) -> PairFacts:
    """The facts in the arrays of a file; none of these is looked at."""
    own: dict[str, Any] = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return PairFacts(
        own["ends"], own["start"], SideOrder(own["head_keys"], own["head_begin"]),
        SideOrder(own["tail_keys"], own["tail_begin"]), own["orders"], entities,
        len(own["start"]) - 1,
    )  # fmt: skip


@dataclass
class _Distinct:
    """The entities on one side of each relation, in order, and where the facts of each begin."""

    entities: list[np.ndarray] = field(default_factory=list)
    begin: list[np.ndarray] = field(default_factory=list)

    def take(self, ordered: np.ndarray, begin: int) -> None:
        """The next relation's, of all its facts."""
        first = np.ones(len(ordered), dtype=bool)
        np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
        at = np.flatnonzero(first)
        self.entities.append(ordered[at].astype(np.int32))
        at += begin
        self.begin.append(at.astype(np.int32))


def _orders(
    ends: np.ndarray, start: np.ndarray, sides: tuple[_Distinct, _Distinct]
) -> Iterator[np.ndarray]:
    """The facts by head, all by tail, all by head and tail; equal ones as they are numbered.

    What is distinct on either side goes to `sides` on the way, where it is in order.
    """
    spans, by_tail = list(pairwise(start.tolist())), list[np.ndarray]()
    sorter = _Sorter.of(int(np.diff(start).max(initial=0)))
    for number, side in enumerate(sides):
        for begin, end in spans:
            place, ordered = sorter.order(ends[begin:end, number])
            side.take(ordered, begin)
            place += np.int32(begin)
            if number:
                by_tail.append(place)
            yield place
    for place in by_tail:
        yield place[sorter.order(ends[:, 0][place])[0]]


@dataclass(frozen=True, eq=False)
class _Sorter:
    """What puts entities into order, in arrays for the most at once that are used again and again:
    memory that is new costs as much as sorting what is in it."""

    key: np.ndarray
    places: np.ndarray  # 0, 1, …

    @classmethod
    def of(cls, most: int) -> _Sorter:
        return cls(np.empty(most, dtype=np.int64), np.arange(most, dtype=np.int32))

    def order(self, entity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The places of entities in order, equal ones as they stand, and the entities in that order
        (until the next are sorted).

        With its place behind it each number is another, and numbers are sorted in far less time
        than places are by what stands there, the less the more there are.
        """
        bits, key = len(entity).bit_length(), self.key[: len(entity)]
        np.left_shift(entity, bits, out=key, dtype=np.int64)
        key |= self.places[: len(entity)]
        key.sort()
        place = key.astype(np.int32)  # the low half
        place &= np.int32(2**bits - 1)
        key >>= bits
        return place, key
