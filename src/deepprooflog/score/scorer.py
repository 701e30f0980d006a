"""What a model's scorer is asked: log-weights of the steps that no label decides.

    p_λ(G' | G) = exp f_λ(G, G') / Σ over G'' in N(G) of exp f_λ(G, G'')

A scorer weighs the edges of plain predicates. A *local* scorer reads only the leftmost atom and the
clause: p(C | A₁) instead of p(G' | G). Its calls can be tabled, and clauses that lead to the same
goal add up. A scorer on whole goals is not local.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from deepprooflog.graph.goalgraph import GoalGraph
from deepprooflog.score.transitions import Numbering, Transitions


@dataclass(frozen=True)
class Scene:
    """A goal graph with a batch of tensors in its slots.

    Slot k of the graph's goals stands for `bank[slots[b, k]]` in query b of the batch. `steps` are
    the edges to weigh; the edges of one source are consecutive, and an edge whose `graph.twin` is
    another edge leads to the same successor and is the same choice.
    """

    graph: GoalGraph
    steps: Int[Tensor, "steps"]
    slots: Int[Tensor, "batch slots"]
    bank: Sequence[Tensor]


class Scorer(nn.Module, ABC):
    """Weighs the steps of plain predicates; no step weighs more than 1.

    A scorer that is `local` may read of a scene's graph the leftmost atom of each source and the
    clause of each step, no more: in tables a goal is its leftmost atom alone. One that `weighs_one`
    is not asked, and runs of its steps are followed as if they were one.
    """

    local: bool = False
    weighs_one: bool = False

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return next((p.device for p in self.parameters()), torch.device("cpu"))

    def transitions(self, database: Numbering) -> Transitions[Any] | None:
        """This scorer on the goals of a database, for graphs and PPO.

        Without a form of its own (None) it is asked `log_weights` about the goals as terms.
        """
        return None

    def take_encoders(self, encoders: Mapping[str, nn.Module]) -> None:
        """Get to know the encoders of a model's networks; a scorer without tensors needs none."""

    @abstractmethod
    def log_weights(self, scene: Scene) -> Float[Tensor, "steps batch"]:
        """Log-weights of `scene.steps`, for each query of the batch (or one column for all)."""


class Unit(Scorer):
    """Each clause of an unlabelled predicate weighs 1, as in a stochastic logic program."""

    local = True
    weighs_one = True

    def log_weights(self, scene: Scene) -> Float[Tensor, "steps batch"]:
        return torch.zeros((len(scene.steps), 1), dtype=torch.float64, device=scene.steps.device)


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
