"""How many facts of each relation every entity has, as numbers that a policy may read.

An entity's profile counts the edges that leave it by each relation and by each inverse. Nothing in
it is particular to one graph's entities, so that what is learned of profiles holds on another graph
with the same relations.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepprooflog.kg.walk.hops.edges import BLOCK, Edges


@dataclass(frozen=True, eq=False)
class Profile:
    """Counts of edges, with or without the fact that a query leaves out.

    >>> import numpy as np
    >>> edges = Edges.of(np.array([[0, 0, 1], [0, 0, 2]]), entities=3, relations=1)
    >>> Profile.of(edges, edges.degree, torch.float32).counts.tolist()
    [[2.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    """

    counts: Float[Tensor, "entities directed"]

    @classmethod
    def of(cls, edges: Edges, degree: Float[Tensor, " pairs"], dtype: torch.dtype) -> Profile:
        """The profile of every entity, from how many edges each pair has."""
        counts = torch.zeros(edges.entities, 2 * edges.relations, dtype=dtype,
                             device=edges.source.device)  # fmt: skip
        real = edges.real
        counts[edges.source[real], edges.block[real // BLOCK]] = degree[real].to(dtype)
        return cls(counts)

    def without(
        self,
        entity: Int[Tensor, " batch"],
        head: Int[Tensor, " batch"],
        relation: Int[Tensor, " batch"],
        tail: Int[Tensor, " batch"],
        there: Float[Tensor, " batch"],
    ) -> Float[Tensor, "batch directed"]:
        """The counts of one entity a query without its fact r(h, t), where `there` is 1."""
        directed = self.counts.shape[1]
        inverse = (relation + directed // 2) % directed
        counts, query = self.counts[entity].clone(), torch.arange(len(entity), device=entity.device)
        counts[query, relation] -= there * (entity == head)
        counts[query, inverse] -= there * (entity == tail)
        return counts


def presence(counts: Float[Tensor, "entities directed"]) -> Float[Tensor, "entities numbers"]:
    """Which relations an entity has, and the logarithm of how many facts in all."""
    return torch.cat([counts.clamp_max(1), counts.sum(1, keepdim=True).log1p() / 4], 1)


def amounts(counts: Float[Tensor, "entities directed"]) -> Float[Tensor, "entities numbers"]:
    """The same with logarithms of how many facts of each relation, and a flag for none at all."""
    total = counts.sum(1, keepdim=True)
    return torch.cat([counts.clamp_max(1), counts.log1p() / 2, total.log1p() / 4,
                      (total == 0).to(counts.dtype)], 1)  # fmt: skip
