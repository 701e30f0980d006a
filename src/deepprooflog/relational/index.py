"""Facts in columns, and one sorted index that answers calls with any arguments bound.

For each set of bound positions in use every fact enters the index once, under a key of its
predicate and its constants at those positions (0 elsewhere, constant c as c + 1). Calls of
different patterns are then one binary search. A key is a number in mixed radix as long as that
fits into 63 bits; beyond, the columns read so far are replaced by their rank and reading goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

import torch
from jaxtyping import Int
from torch import Tensor

from deepprooflog.relational.goals import PAD

Bound: TypeAlias = tuple[int, int]
"""An arity and the positions that calls have bound, as bits."""

BITS = 63


@dataclass(frozen=True)
class Facts:
    """The facts of all predicates: rows by predicate, each once."""

    predicate: Int[Tensor, " facts"]
    arguments: Int[Tensor, "facts arity"]  # PAD past a predicate's arity
    start: Int[Tensor, " predicates_and_one"]  # the first row of each predicate
    duplicates: int  # rows that were given more than once, and dropped

    def __len__(self) -> int:
        return len(self.predicate)

    @property
    def device(self) -> torch.device:
        """Where the columns are."""
        return self.predicate.device

    def among(self, predicates: int) -> Facts:
        """The same facts where there are so many predicates."""
        last = self.start[-1:].expand(predicates + 1 - len(self.start))
        return replace(self, start=torch.cat([self.start, last]))

    def predicates_of(self, fact: Int[Tensor, " some"]) -> Int[Tensor, " some"]:
        """The predicates of some facts."""
        return self.predicate.index_select(0, fact)

    def arguments_of(self, fact: Int[Tensor, " some"]) -> Int[Tensor, "some arity"]:
        """The arguments of some facts."""
        return self.arguments.index_select(0, fact)

    def to(self, device: torch.device | str) -> Facts:
        """The facts on a device."""
        parts = (self.predicate.to(device), self.arguments.to(device), self.start.to(device))
        return Facts(*parts, self.duplicates)


@dataclass(frozen=True)
class _Level:
    """The columns that a key holds, and the distinct keys in order; the next level reads ranks."""

    columns: tuple[int, ...]
    radices: tuple[int, ...]
    keys: Int[Tensor, " keys"]


@dataclass(frozen=True)
class Index:
    """Where the facts are that match a call."""

    bound: frozenset[Bound]
    levels: tuple[_Level, ...]
    start: Int[Tensor, " keys_and_one"]  # into rows, by key of the last level
    rows: Int[Tensor, " entries"]  # numbers of facts

    def lookup(
        self, predicate: Int[Tensor, " calls"], arguments: Int[Tensor, "calls arity"]
    ) -> tuple[Int[Tensor, " calls"], Int[Tensor, " calls"]]:
        """For each call the place in `rows` where its facts begin, and how many they are."""
        if len(self.rows) == 0:
            none = torch.zeros_like(predicate, dtype=torch.long)
            return none, none
        columns = _columns(predicate, arguments)
        found = torch.ones_like(predicate, dtype=torch.bool)
        place: Tensor | None = None
        for level in self.levels:
            key = _key(level.columns, level.radices, columns, place)
            place = torch.searchsorted(level.keys, key).clamp_(max=len(level.keys) - 1)
            found &= level.keys.index_select(0, place) == key
        assert place is not None
        begin = self.start.index_select(0, place)
        return begin, (self.start.index_select(0, place + 1) - begin) * found

    def facts_at(self, place: Int[Tensor, " places"]) -> Int[Tensor, " places"]:
        """The facts that stand at some places."""
        return self.rows.index_select(0, place)


def build_index(
    facts: Facts,
    bound: Iterable[Bound],
    predicates: int,
    constants: int,
    bits: int = BITS,
    before: Index | None = None,
) -> Index:
    """The index for calls with these positions bound; keys may have so many bits.

    Parts that an index of the same facts, `before`, has already are not sorted again.
    """
    bound = frozenset(bound)
    widest = facts.arguments.shape[1]
    sizes = [2**widest, max(predicates, 1), *[constants + 1] * widest]
    arity = (facts.arguments >= 0).sum(1)
    places = sorted({p for _, p in bound})
    every = tuple(range(len(sizes)))
    if prod(sizes) < 2**bits:
        # Keys begin with the bound positions, so that parts in order are in order as a whole.
        levels: list[_Level] = []
        pieces = []
        for p in places:
            piece = None if before is None else _piece(before, bound, p, prod(sizes[1:]))
            if piece is None:
                # One part at a time where that will do: a part is as large as the facts.
                rows, *columns = _part(facts, arity, bound, p)
                piece = _sorted(_key(every, tuple(sizes), columns, None), rows)
            pieces.append(piece)
        last = every, tuple(sizes)
    else:
        parts = (_part(facts, arity, bound, p) for p in places)
        columns = [torch.cat(column) for column in zip(*parts, strict=True)]
        levels, last, key = _read(columns[1:], sizes, bits)
        pieces = [_sorted(key, columns[0])]
    keys, counts, rows = (torch.cat(piece) for piece in zip(*pieces, strict=True))
    start = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    return Index(bound, (*levels, _Level(*last, keys)), start, rows.int())


def _piece(
    index: Index, bound: frozenset[Bound], positions: int, span: int
) -> tuple[Int[Tensor, " keys"], Int[Tensor, " keys"], Int[Tensor, " entries"]] | None:
    """The part of an index for calls with these positions bound; None where it has another one."""
    having = {arity for arity, p in bound if p == positions}
    if having != {arity for arity, p in index.bound if p == positions}:
        return None
    keys = index.levels[-1].keys
    ends = torch.tensor([positions * span, (positions + 1) * span], device=keys.device)
    first, last = torch.searchsorted(keys, ends).tolist()
    start = index.start[first : last + 1]
    begin, end = start[[0, -1]].tolist()
    return keys[first:last], start.diff(), index.rows[begin:end].long()


def gather_facts(
    columns: Mapping[int, Tensor],
    predicates: int,
    constants: int,
    *,
    widest: int,
    device: torch.device | str = "cpu",
) -> Facts:
    """Facts from the rows of each predicate; of equal rows the first is kept."""
    tables = [torch.zeros(0, 1 + widest, dtype=torch.int32, device=device)]
    for predicate in sorted(columns):
        rows = columns[predicate]
        table = torch.full((len(rows), 1 + widest), PAD, dtype=torch.int32, device=device)
        table[:, 0] = predicate
        table[:, 1 : 1 + rows.shape[1]] = rows
        tables.append(table)
    table = torch.cat(tables)
    sizes = [2**widest, max(predicates, 1), *[constants + 1] * widest]
    key = _read(_columns(table[:, 0], table[:, 1:]), sizes, BITS)[2]
    key, order = torch.sort(key, stable=True)
    repeated = key[1:] == key[:-1]
    duplicates = int(repeated.sum())
    if duplicates:
        table[order[1:][repeated]] = PAD
        table = table[table[:, 0] != PAD]
    counts = torch.bincount(table[:, 0], minlength=predicates)
    start = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    return Facts(table[:, 0].contiguous(), table[:, 1:].contiguous(), start, duplicates)


def _columns(
    predicate: Int[Tensor, " calls"], arguments: Int[Tensor, "calls arity"]
) -> list[Tensor]:
    """What keys are made of: which arguments are bound, the predicate, and the bound arguments."""
    values = list((arguments + 1).clamp_(min=0).unbind(1))
    positions = torch.zeros_like(predicate)
    for j, value in enumerate(values):
        positions += (value > 0).to(positions.dtype) * 2**j
    return [positions, predicate, *values]


def _part(
    facts: Facts, arity: Int[Tensor, " facts"], bound: frozenset[Bound], positions: int
) -> list[Tensor]:
    """The facts that calls with these positions bound may match, and their columns."""
    having = torch.zeros_like(arity, dtype=torch.bool)
    for count, found in bound:
        if found == positions:
            having |= arity == count
    rows = having.nonzero().squeeze(1)
    free = [j for j in range(facts.arguments.shape[1]) if not positions >> j & 1]
    arguments = facts.arguments.index_select(0, rows)
    arguments[:, free] = PAD
    return [rows, *_columns(facts.predicate.index_select(0, rows), arguments)]


def _sorted(
    key: Int[Tensor, " entries"], rows: Int[Tensor, " entries"]
) -> tuple[Int[Tensor, " keys"], Int[Tensor, " keys"], Int[Tensor, " entries"]]:
    """The distinct keys in order, how many entries each has, and the entries' rows."""
    key, order = torch.sort(key, stable=True)
    keys, counts = torch.unique_consecutive(key, return_counts=True)
    return keys, counts, rows.index_select(0, order)


def _read(
    columns: list[Tensor], sizes: list[int], bits: int
) -> tuple[list[_Level], tuple[tuple[int, ...], tuple[int, ...]], Int[Tensor, " entries"]]:
    """Read all columns: the levels before the last, what the last one reads, and its keys."""
    levels: list[_Level] = []
    rank: Tensor | None = None
    reading: list[int] = []
    total = 1
    for column, size in enumerate(sizes):
        if reading and total * size >= 2**bits:
            radices = tuple(sizes[c] for c in reading)
            key = _key(tuple(reading), radices, columns, rank)
            keys, rank = torch.unique(key, return_inverse=True)
            levels.append(_Level(tuple(reading), radices, keys))
            reading, total = [], max(len(keys), 1)
        reading.append(column)
        total *= size
    last = tuple(reading), tuple(sizes[c] for c in reading)
    return levels, last, _key(*last, columns, rank)


def _key(
    reading: tuple[int, ...], radices: tuple[int, ...], columns: list[Tensor], rank: Tensor | None
) -> Int[Tensor, " entries"]:
    key = rank
    for column, radix in zip(reading, radices, strict=True):
        key = columns[column].long() if key is None else key * radix + columns[column]
    assert key is not None
    return key
