"""What was worked out for a goal graph, kept as long as the graph is."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

import torch
from torch import Tensor

from deepprooflog.graph.goalgraph import GoalGraph

Kept = TypeVar("Kept")
MemoArgument = TypeVar("MemoArgument")


class GraphMemo(Generic[Kept]):
    """One result for each living graph; a copy of a memo, in memory or on disk, begins empty."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[weakref.ref[GoalGraph], Tensor, torch.device, Kept]] = {}

    def __len__(self) -> int:
        return len(self._found)

    def get(
        self,
        graph: GoalGraph,
        key: tuple[Tensor, torch.device],
        make: Callable[[MemoArgument], Kept],
        argument: MemoArgument,
    ) -> Kept:
        """The result for this graph under this key, made where there is none."""
        steps, device = key
        entry = self._found.get(id(graph))
        if entry is not None:
            of, same_steps, same_device, kept = entry
            if (
                of() is graph
                and same_device == device
                and (same_steps is steps or torch.equal(same_steps, steps))
            ):
                return kept
        kept = make(argument)
        found, number = self._found, id(graph)
        of = weakref.ref(graph, lambda _: found.pop(number, None))
        self._found[number] = (of, steps, device, kept)
        return kept

    def __reduce__(self) -> tuple[type[GraphMemo[Kept]], tuple[()]]:
        return type(self), ()
