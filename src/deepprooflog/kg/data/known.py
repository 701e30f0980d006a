"""The set of known triples, asked for many at once on any device."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from deepprooflog.errors import DataError


@dataclass(frozen=True)
class KnownTriples:
    """Triples as sorted numbers (h · relations + r) · entities + t.

    >>> known = KnownTriples.of(torch.tensor([[0, 0, 1], [2, 0, 0]]), entities=3, relations=1)
    >>> known.holds(torch.tensor([0, 2]), torch.tensor(0), torch.tensor([1, 1])).tolist()
    [True, False]
    """

    keys: Int[Tensor, " n"]
    entities: int
    relations: int

    @classmethod
    def of(cls, triples: Int[Tensor, "n 3"], *, entities: int, relations: int) -> KnownTriples:
        check_triples(triples, entities, relations)
        h, r, t = triples.long().unbind(1)
        keys = (h * relations + r) * entities + t
        return cls(torch.unique(keys), entities, relations)

    def holds(
        self, head: Int[Tensor, "*_h"], relation: Int[Tensor, "*_r"], tail: Int[Tensor, "*_t"]
    ) -> Bool[Tensor, "*_"]:
        """Whether each triple is known; the three indices are broadcast."""
        key = (head * self.relations + relation) * self.entities + tail
        if not len(self.keys):
            return torch.zeros_like(key, dtype=torch.bool)
        place = torch.searchsorted(self.keys, key).clamp_max(len(self.keys) - 1)
        return self.keys[place] == key

    def to(self, device: torch.device | str) -> KnownTriples:
        """The same set on a device."""
        return KnownTriples(self.keys.to(device), self.entities, self.relations)


def check_triples(triples: Int[Tensor, "n 3"], entities: int, relations: int) -> None:
    """Raise where an index is out of range."""
    for column, count, what in ((0, entities, "head"), (1, relations, "relation"),
                                (2, entities, "tail")):  # fmt: skip
        values = triples[:, column]
        wrong = ((values < 0) | (values >= count)).nonzero()
        if len(wrong):
            row = int(wrong[0])
            raise DataError(
                f"triple {row} has {what} {int(values[row])}, but there are {count}",
                hint="number entities and relations from 0",
            )
