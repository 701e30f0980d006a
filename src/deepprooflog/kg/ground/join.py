"""The bodies of one rule that hold, as a join over atoms: columns of values, a row a body.

Atoms are met in an order in which those with most bound terms come first. Each is looked up among
the atoms that hold; a row goes on with every match, as long as no more than `width` of its atoms
are no facts. Since every atom of a body that is kept is a fact or proved, no variable is left to be
enumerated over all entities.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Int
from torch import Tensor

from deepprooflog.kg.ground.atom_levels import AtomLevels
from deepprooflog.kg.ground.ground_rule import GroundAtom, GroundRule


@dataclass(frozen=True, eq=False)
class Bodies:
    """Bodies of one rule with the heads they prove."""

    query: Int[Tensor, " bodies"]  # which of the queries asked
    head: Int[Tensor, "bodies 3"]
    body: Int[Tensor, "bodies atoms 3"]
    level: Int[Tensor, "bodies atoms"]  # 0 where an atom is a fact


@dataclass(frozen=True, eq=False)
class _Rows:
    """A join so far: the values of the variables that are bound, by variable."""

    query: Int[Tensor, " rows"]
    value: dict[int, Int[Tensor, " rows"]]
    level: dict[int, Int[Tensor, " rows"]]  # of the atoms met, by position
    unknown: Int[Tensor, " rows"]  # how many of them are no facts

    def taken(self, which: Tensor) -> _Rows:
        return _Rows(
            self.query[which],
            {name: column[which] for name, column in self.value.items()},
            {name: column[which] for name, column in self.level.items()},
            self.unknown[which],
        )

    def column(self, term: int) -> Int[Tensor, " rows"] | None:
        return torch.full_like(self.query, term) if term >= 0 else self.value.get(term)


def join_bodies(
    rule: GroundRule,
    atoms: AtomLevels,
    width: int,
    queries: Int[Tensor, "queries 3"] | None = None,
) -> Bodies:
    """The bodies that prove these queries, or without queries all that there are.

    A body needs a fact in it, at most `width` atoms that are none, and not its own head.
    """
    rows = _start(rule, atoms, queries)
    left = dict(enumerate(rule.body))
    while left:
        at = max(left, key=lambda i: (_bound(left[i], rows), -i))
        rows = _matched(rows, at, left.pop(at), atoms)
        rows = rows.taken((rows.unknown <= width).nonzero().squeeze(1))
    head = _triples(rule.head, rows)
    body = torch.stack([_triples(atom, rows) for atom in rule.body], 1)
    level = torch.stack([rows.level[i] for i in range(len(rule.body))], 1)
    itself = (body == head[:, None]).all(-1).any(-1)
    kept = ((rows.unknown < len(rule.body)) & ~itself).nonzero().squeeze(1)
    return Bodies(rows.query[kept], head[kept], body[kept], level[kept])


def _start(rule: GroundRule, atoms: AtomLevels, queries: Int[Tensor, "queries 3"] | None) -> _Rows:
    device = atoms.by_head.device
    if queries is None:
        one = torch.zeros(1, dtype=torch.int64, device=device)
        return _Rows(one, {}, {}, one)
    relation, first, second = rule.head
    asked = (queries[:, 1] == relation).nonzero().squeeze(1)
    rows = _Rows(asked, {}, {}, torch.zeros_like(asked))
    for term, column in ((first, 0), (second, 2)):
        rows = _with(rows, term, queries[rows.query, column])
    return rows


def _with(rows: _Rows, term: int, value: Int[Tensor, " rows"]) -> _Rows:
    """The rows in which a term has these values."""
    known = rows.column(term)
    if known is None:
        return replace(rows, value={**rows.value, term: value})
    return rows.taken((known == value).nonzero().squeeze(1))


def _bound(atom: GroundAtom, rows: _Rows) -> int:
    return sum(term >= 0 or term in rows.value for term in atom[1:])


def _matched(rows: _Rows, at: int, atom: GroundAtom, atoms: AtomLevels) -> _Rows:
    """The rows with each match of one more atom."""
    relation, first, second = atom
    head, tail = rows.column(first), rows.column(second)
    if head is not None and tail is not None:
        level = atoms.level(torch.stack([head, torch.full_like(head, relation), tail], 1))
        found = rows.taken((level >= 0).nonzero().squeeze(1))
        level = level[level >= 0]
    elif head is not None:
        row, other, level = atoms.beside(relation, head, tails=True)
        found, level = _extended(rows.taken(row), level, ((second, other),))
    elif tail is not None:
        row, other, level = atoms.beside(relation, tail, tails=False)
        found, level = _extended(rows.taken(row), level, ((first, other),))
    else:
        heads, tails, level = atoms.of_relation(relation)
        row = torch.arange(len(rows.query), device=heads.device).repeat_interleave(len(heads))
        each = torch.arange(len(heads), device=heads.device).repeat(len(rows.query))
        pair = ((first, heads[each]), (second, tails[each]))
        found, level = _extended(rows.taken(row), level[each], pair)
    unknown = found.unknown + (level > 0)
    return _Rows(found.query, found.value, {**found.level, at: level}, unknown)


def _extended(
    rows: _Rows, level: Int[Tensor, " rows"], values: tuple[tuple[int, Int[Tensor, " rows"]], ...]
) -> tuple[_Rows, Int[Tensor, " kept"]]:
    """The rows with new values of terms; the level of each row that is left."""
    place = torch.arange(len(level), device=level.device)
    rows = replace(rows, level={**rows.level, -1: place})
    for term, value in values:
        rows = _with(rows, term, value[rows.level[-1]])
    place = rows.level.pop(-1)
    return rows, level[place]


def _triples(atom: GroundAtom, rows: _Rows) -> Int[Tensor, "rows 3"]:
    head, tail = rows.column(atom[1]), rows.column(atom[2])
    assert head is not None and tail is not None
    return torch.stack([head, torch.full_like(head, atom[0]), tail], 1)
