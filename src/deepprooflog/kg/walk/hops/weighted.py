"""What each edge of a graph weighs, d^−power, and the fact that each query leaves out.

weight(x –r→ y) = d(x, r)^−power(r), where d(x, r) edges leave x by r
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from deepprooflog.kg.walk.hops.edges import BLOCK, Edges


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The two edges of the fact that each query leaves out, the one along its relation first.

    Where a query's triple is no fact nothing is left out, and the pair is padding.
    """

    pair: Int[Tensor, " two_batch"]
    query: Int[Tensor, " two_batch"]
    target: Int[Tensor, " two_batch"]
    degree: Float[Tensor, " two_batch"]
    relation: Int[Tensor, " two_batch"]
    there: Bool[Tensor, " two_batch"]


@dataclass(frozen=True, eq=False)
class Weighted:
    """The edges with what each weighs: d^−power, or 0 where it is not kept.

    `degree` counts the edges of a pair that are kept, and is 1 where there are none.
    """

    edges: Edges
    degree: Float[Tensor, " pairs"]
    kept: Float[Tensor, " edges"] | None
    power: Float[Tensor, " directed"]
    weight: Float[Tensor, " edges"]
    into: Float[Tensor, " edges"]  # the same, in the order of targets


def degrees(edges: Edges, kept: Float[Tensor, " edges"] | None) -> Float[Tensor, " pairs"]:
    """How many edges each pair has when some are not kept; 0 for padding."""
    if kept is None:
        none = torch.zeros_like(edges.degree)
        return none.index_put((edges.real,), edges.degree[edges.real])
    return torch.zeros_like(edges.degree).index_add(0, edges.pair_of, kept.to(edges.degree.dtype))


def weighted(
    edges: Edges,
    power: Float[Tensor, " directed"],
    degree: Float[Tensor, " pairs"],
    kept: Float[Tensor, " edges"] | None = None,
) -> Weighted:
    """The edges under powers of the degree; `kept` is 0 for edges to do without."""
    own = power.detach()[edges.block].repeat_interleave(BLOCK, output_size=edges.pairs)
    degree = degree.clamp_min(1).to(power.dtype)
    pair = (-own * degree.log()).exp()
    weight = pair[edges.pair_of] if kept is None else pair[edges.pair_of] * kept
    return Weighted(edges, degree, kept, power, weight, weight[edges.in_edge])


def left_out(
    weights: Weighted,
    head: Int[Tensor, " batch"],
    relation: Int[Tensor, " batch"],
    tail: Int[Tensor, " batch"],
) -> LeftOut:
    """The edges of the facts r(h, t), in both directions."""
    edges = weights.edges
    source, target = torch.cat([head, tail]), torch.cat([tail, head])
    inverse = (relation + edges.relations) % (2 * edges.relations)
    both = torch.cat([relation, inverse])
    edge, there = edges.find(source, both, target)
    if edges.count:
        if weights.kept is not None:
            there = there & (weights.kept[edge] > 0)
        pair = torch.where(there, edges.pair_of[edge], edges.pairs - 1)
    else:
        pair = torch.full_like(edge, edges.pairs - 1)
    query = torch.arange(len(head), device=head.device).repeat(2)
    return LeftOut(pair, query, target, weights.degree[pair], both, there)


def rest_of(weights: Weighted, without: LeftOut) -> Float[Tensor, " two_batch"]:
    """By how much the rest of a pair grows when its degree falls by one.

    An only edge leaves nothing behind.
    """
    degree, power = without.degree, weights.power.detach()[without.relation]
    grown = (power * (degree.log() - (degree - 1).clamp_min(1).log())).exp()
    return torch.where(without.there, torch.where(degree > 1, grown, 0.0), 1.0)
