"""The facts of a graph as steps of a walk, laid out for sparse sums.

A fact r(a, b) can be walked along r from a to b and along r's inverse from b to a: relation numbers
0 … R−1 are the relations, R … 2R−1 their inverses, 2R is staying. All edges that leave one entity
by one relation are one *pair*. Pairs are sorted by relation and padded, so that each block of BLOCK
pairs has one relation; a step then is

    pair = at(its source) · weight of its relation,    at' = sum of the pairs that lead there
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from deepprooflog.kg.data.triple_set import check_triples

BLOCK = 64


@dataclass(frozen=True, eq=False)
class Edges:
    """Pairs, edges and the three sparse matrices between entities and pairs.

    >>> edges = Edges.of(np.array([[0, 0, 1], [0, 0, 2]]), entities=3, relations=1)
    >>> edges.pairs, edges.count, edges.degree[:1].tolist()
    (192, 4, [2.0])
    """

    entities: int
    relations: int  # without inverses and staying
    source: Int[Tensor, " pairs"]
    block: Int[Tensor, " blocks"]  # the relation of each block of pairs
    degree: Float[Tensor, " pairs"]  # edges of the pair; 1 for padding
    pair_of: Int[Tensor, " edges"]  # edges are sorted by pair, then by target
    fact_of: Int[Tensor, " edges"]  # the two edges of a fact have one number
    key: Int[Tensor, " edges"]  # (relation · entities + source) · entities + target
    out_row: Int[Tensor, " pairs_and_1"]  # edges of a pair, as compressed rows
    out_target: Int[Tensor, " edges"]
    in_row: Int[Tensor, " entities_and_1"]  # edges into an entity
    in_pair: Int[Tensor, " edges"]
    in_edge: Int[Tensor, " edges"]
    from_row: Int[Tensor, " entities_and_1"]  # pairs of a source
    from_pair: Int[Tensor, " real"]

    @property
    def pairs(self) -> int:
        """How many pairs there are, padding included; the last is always padding."""
        return len(self.source)

    @property
    def real(self) -> Int[Tensor, " real"]:
        """The pairs that are no padding."""
        return self.from_pair.long()

    @property
    def count(self) -> int:
        """How many edges there are: two for each fact."""
        return len(self.pair_of)

    @classmethod
    def of(cls, triples: np.ndarray, *, entities: int, relations: int) -> Edges:
        """The steps along some facts (h, r, t), each taken once."""
        check_triples(torch.from_numpy(triples), entities, relations)
        h, r, t = triples.astype(np.int64).T
        relation, source, target = (np.concatenate(two) for two in
                                    ((r, r + relations), (h, t), (t, h)))  # fmt: skip
        key = np.unique((relation * entities + source) * entities + target)
        target, of = key % entities, key // entities
        own, edge_pair, degree = np.unique(of, return_inverse=True, return_counts=True)
        fact = _facts(key, entities, relations)
        place, blocks = _padded(own // entities, 2 * relations)
        pairs = BLOCK * len(blocks)
        at = np.zeros(pairs, dtype=np.int64)
        at[place] = own % entities
        width = np.ones(pairs)
        width[place] = degree
        pair = place[edge_pair]
        into = np.argsort(target, kind="stable")
        leaving = np.argsort(own % entities, kind="stable")
        return cls(
            entities, relations, torch.from_numpy(at), torch.from_numpy(blocks),
            torch.from_numpy(width).float(), torch.from_numpy(pair), torch.from_numpy(fact),
            torch.from_numpy(key),
            _rows(pair, pairs), _short(target), _rows(target, entities), _short(pair[into]),
            torch.from_numpy(into), _rows(own % entities, entities), _short(place[leaving]),
        )  # fmt: skip

    def to(self, device: torch.device | str) -> Edges:
        """The same on a device."""
        moved: dict[str, Any] = {
            f.name: value.to(device) for f in fields(self)
            if isinstance(value := getattr(self, f.name), Tensor)
        }  # fmt: skip
        return replace(self, **moved)

    def find(
        self, source: Int[Tensor, " batch"], relation: Int[Tensor, " batch"],
        target: Int[Tensor, " batch"],
    ) -> tuple[Int[Tensor, " batch"], Bool[Tensor, " batch"]]:  # fmt: skip
        """The number of each edge, and whether there is one."""
        key = (relation * self.entities + source) * self.entities + target
        if not self.count:
            return torch.zeros_like(key), torch.zeros_like(key, dtype=torch.bool)
        edge = torch.searchsorted(self.key, key).clamp_max(self.count - 1)
        return edge, self.key[edge] == key


def _facts(key: np.ndarray, entities: int, relations: int) -> np.ndarray:
    """The number of the fact that each edge goes along, one way or the other."""
    target, source = key % entities, key // entities % entities
    relation = key // entities**2
    back = relation >= relations
    head, tail = np.where(back, target, source), np.where(back, source, target)
    own = (relation % relations * entities + head) * entities + tail
    return np.unique(own, return_inverse=True)[1]


def _padded(relation: np.ndarray, relations: int) -> tuple[np.ndarray, np.ndarray]:
    """Where each pair stands once every relation begins a block, and the relation of each block."""
    size = np.bincount(relation, minlength=relations)
    blocks = -(-size // BLOCK)
    begin = (np.cumsum(blocks) - blocks) * BLOCK
    place = np.arange(len(relation)) - (np.cumsum(size) - size)[relation] + begin[relation]
    return place, np.append(np.repeat(np.arange(relations), blocks), 0)


def _rows(row: np.ndarray, rows: int) -> Tensor:
    counts = np.bincount(row, minlength=rows)
    return _short(np.concatenate([[0], np.cumsum(counts)]))


def _short(values: np.ndarray) -> Tensor:
    """As 32-bit numbers, which sparse products read fastest."""
    return torch.from_numpy(values.astype(np.int32))


def ranges(
    row: Int[Tensor, " rows_and_1"], which: Int[Tensor, " some"]
) -> tuple[Int[Tensor, " places"], Int[Tensor, " places"]]:
    """The places of some compressed rows, each with the number of the row it is of."""
    begin, end = row[which].long(), row[which + 1].long()
    count = end - begin
    owner = torch.repeat_interleave(count)
    first = begin - (count.cumsum(0) - count)
    return owner, first[owner] + torch.arange(len(owner), device=row.device)
