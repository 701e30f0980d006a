"""The calls of a tabling as a goal graph: what a scorer that reads only the leftmost atom is asked.

A call is a goal of one atom. Wherever it stands in a derivation its steps are weighed alike, so
that each call is asked about once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from deepprooflog.graph.goalgraph import GoalGraph, Ints
from deepprooflog.logic.choice import Choice
from deepprooflog.logic.goal import Goal
from deepprooflog.logic.program import Program


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
