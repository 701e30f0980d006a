"""N(G) as a set: the distinct successors among a scene's steps, and the softmax over them.

Two clauses that give the same goal with the same answer are one choice. The first of their edges
carries it; the others weigh nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from deepprooflog.graph.goalgraph import GoalGraph, Ints
from deepprooflog.score.embedding.layout import Layout
from deepprooflog.score.segments import Gather, gather, segment_logsumexp


@dataclass(frozen=True)
class DistinctSteps:
    """The distinct successors: which steps stand for them, and the goals on either side."""

    steps: Ints  # [choices] positions among the scene's steps
    source: Ints  # [choices] node
    target: Ints  # [choices] node


@dataclass(frozen=True)
class Choices:
    """The choices of some source goals, all of which hold tensors or none of which do."""

    steps: Int[Tensor, " choices"]  # positions among the scene's steps
    source: Int[Tensor, " choices"]  # into `sources`
    sources: Gather  # e_G of each source
    targets: Gather  # e_G' of each choice
    count: int  # of sources
    slotted: bool


def distinct_successors(graph: GoalGraph, steps: Ints) -> DistinctSteps:
    """The first of the steps to each successor."""
    first = np.sort(np.unique(graph.twin[steps], return_index=True)[1])
    edges = steps[first]
    return DistinctSteps(first, graph.source[edges], graph.target[edges])


def choices(
    distinct: DistinctSteps, goal: Ints, layout: Layout, device: torch.device
) -> tuple[Choices, ...]:
    """The choices with and without tensors; `goal[n]` is the number of node n in the layout."""
    source, target = goal[distinct.source], goal[distinct.target]
    holds = np.zeros(len(layout.slotted), dtype=bool)
    np.logical_or.at(holds, source, layout.slotted[source] | layout.slotted[target])
    result = []
    for slotted in (False, True):
        mine = np.flatnonzero(holds[source] == slotted)
        if len(mine):
            own, index = np.unique(source[mine], return_inverse=True)
            result.append(
                Choices(
                    steps=_tensor(distinct.steps[mine], device),
                    source=_tensor(index, device),
                    sources=gather(layout.address, own, device),
                    targets=gather(layout.address, target[mine], device),
                    count=len(own),
                    slotted=slotted,
                )
            )
    return tuple(result)


def log_softmax(
    logits: Float[Tensor, "choices batch"],
    source: Int[Tensor, " choices"],
    count: int,
    false: Float[Tensor, "sources batch"] | None,
) -> Float[Tensor, "choices batch"]:
    """f(G, G') − log Σ exp f(G, G'') over the choices of each source, and False where it is one.

    >>> logits = torch.zeros(2, 1, dtype=torch.float64)
    >>> log_softmax(logits, torch.tensor([0, 0]), 1, logits[:1]).exp().flatten().tolist()
    [0.333..., 0.333...]
    """
    return logits - segment_logsumexp(logits, source, count, also=false)[source]


def _tensor(values: NDArray[np.int64], device: torch.device) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values)).to(device)
