"""The goal graph: every goal a query can reach, and every step between two of them.

    nodes  0 … N−1    goals (a node whose goal has no atoms is True)
    edges  0 … E−1    steps, grouped by source: `source[e] → target[e]` by `choices[e]`

Nodes are goals up to renaming. In a graph that tracks answers a node also remembers the bindings of
the query's variables, so that each answer has a True node of its own; otherwise only those query
variables count that are still open in the goal.

The calls of a tabling are a goal graph, too, for scorers that read only the leftmost atom: a call
is a goal of one atom, and wherever it stands its steps are weighed alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepprooflog.logic.choice import Choice
from deepprooflog.logic.goal import Goal
from deepprooflog.logic.program import Program
from deepprooflog.syntax.terms import Term
from deepprooflog.syntax.writer import write_term

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class GoalGraph:
    """Goals and steps as arrays."""

    program: Program
    goals: list[Goal]
    source: Ints  # [E]
    target: Ints  # [E]
    choices: list[Choice]  # [E]
    twin: Ints  # [E] the first edge of the same source with the same successor; itself if none
    roots: Ints  # [R]
    open: Ints  # nodes met but not expanded when the budget ended
    first: Ints  # [N + 1] edges of node n are first[n] … first[n + 1] − 1
    stopped: str | None  # which limit ended the exploration; None when it is complete
    # [E] what a step makes of its source's open query variables (over its target's), if kept
    bound: list[tuple[Term, ...]] | None = None

    @property
    def complete(self) -> bool:
        return self.stopped is None

    @property
    def nodes(self) -> int:
        return len(self.goals)

    @property
    def edges(self) -> int:
        return len(self.choices)

    def true_nodes(self) -> list[int]:
        """The nodes that are True, one for each answer where answers are tracked."""
        return [n for n, goal in enumerate(self.goals) if goal.is_true]

    @classmethod
    def of_steps(
        cls,
        program: Program,
        goals: list[Goal],
        source: list[int],
        target: list[int],
        choices: list[Choice],
    ) -> GoalGraph:
        """A graph of given steps, those of a goal consecutive, for a scorer to weigh."""
        met: dict[tuple[int, int], int] = {}
        twin = [met.setdefault(pair, e) for e, pair in enumerate(zip(source, target, strict=True))]
        first = np.zeros(len(goals) + 1, dtype=np.int64)
        np.cumsum(np.bincount(_ints(source), minlength=len(goals)), out=first[1:])
        none = np.zeros(0, dtype=np.int64)
        return cls(
            program, goals, _ints(source), _ints(target), choices, _ints(twin), none, none, first,
            None,
        )  # fmt: skip

    def __repr__(self) -> str:
        state = "complete" if self.complete else f"stopped by {self.stopped}"
        return f"GoalGraph({self.nodes} goals, {self.edges} steps, {state})"


def _ints(values: list[int]) -> Ints:
    return np.asarray(values, dtype=np.int64)


def goal_text(goal: Goal, most: int = 8) -> str:
    """A goal as Prolog text; a long one says how many atoms follow."""
    if goal.is_true:
        return "true"
    shown = [write_term(a) for a in goal.atoms[:most]]
    if len(goal.atoms) > most:
        shown.append(f"… ({len(goal.atoms) - most} more)")
    return ", ".join(shown)


def ragged_ranges(begin: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Whose each item is, and its number.

    >>> [part.tolist() for part in ragged_ranges(np.array([5, 0, 8]), np.array([2, 0, 1]))]
    [[0, 0, 2], [5, 6, 8]]
    """
    owner = np.repeat(np.arange(len(count)), count)
    shift = begin - (np.cumsum(count) - count)
    return owner, np.arange(len(owner)) + shift[owner]


class CallStep(NamedTuple):
    """A step out of a call, and the number of the production that it is."""

    production: int
    call: Goal
    goal: Goal
    choice: Choice


@dataclass(frozen=True)
class CallGraph:
    """The steps out of calls, those of a call consecutive; made a graph where one is asked for."""

    program: Program
    steps: list[CallStep]  # by production

    @cached_property
    def graph(self) -> GoalGraph:
        """A node for each call and for what it leads to; edge e is `steps[e]`."""
        number: dict[Goal, int] = {}
        source = [number.setdefault(s.call, len(number)) for s in self.steps]
        target = [number.setdefault(s.goal, len(number)) for s in self.steps]
        choices = [s.choice for s in self.steps]
        return GoalGraph.of_steps(self.program, list(number), source, target, choices)

    def edges_of(self, productions: Ints) -> Ints:
        """The edges that some productions are."""
        known = np.asarray([s.production for s in self.steps], dtype=np.int64)
        return np.searchsorted(known, productions)
