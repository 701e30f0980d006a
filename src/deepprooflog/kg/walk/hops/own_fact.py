"""The two entities of each query's own fact, and what is read of them when it is left out."""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

from deepprooflog.kg.walk.hops.profile import Profile, amounts, presence
from deepprooflog.kg.walk.hops.weighted import LeftOut


class OwnFact:
    """The two entities of each query, with their counts when its fact is left out."""

    def __init__(
        self,
        profile: Profile,
        head: Int[Tensor, " batch"],
        relation: Int[Tensor, " batch"],
        tail: Int[Tensor, " batch"],
        without: LeftOut,
    ) -> None:
        there = without.there[: len(head)].to(profile.counts.dtype)
        self.entity, self.query = torch.cat([head, tail]), without.query
        counts = [profile.without(e, head, relation, tail, there) for e in (head, tail)]
        self.counts = torch.cat(counts)
        self.presence, self.amounts = presence(self.counts), amounts(self.counts)

    def put(self, values: Tensor, found: Tensor) -> Tensor:
        """Values of all entities, with those of the two replaced; of a loop the second counts."""
        for part in self._parts():
            values = values.index_put_((self.entity[part], self.query[part]), found[part])
        return values

    def taken(self, values: Tensor) -> Tensor:
        """The values of the two, which are 0 afterwards: the gradient of what is put."""
        found = values.new_empty(len(self.entity), *values.shape[2:])
        none = values.new_zeros(())
        for part in reversed(self._parts()):
            place = self.entity[part], self.query[part]
            found[part] = values[place]
            values.index_put_(place, none)
        return found

    def _parts(self) -> tuple[slice, slice]:
        half = len(self.entity) // 2
        return slice(0, half), slice(half, 2 * half)
