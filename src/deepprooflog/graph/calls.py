"""The calls of a tabling as a goal graph: what a scorer that reads only the leftmost atom is asked.

A call is a goal of one atom. Wherever it stands in a derivation its steps are weighed alike, so
that each call is asked about once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
    """The steps out of calls; edge e is production `production[e]` of the tabled system."""

    graph: GoalGraph
    production: Ints  # [E] ascending

    def edges_of(self, productions: Ints) -> Ints:
        """The edges that some productions are."""
        return np.searchsorted(self.production, productions)


def call_graph(program: Program, steps: Sequence[CallStep]) -> CallGraph:
    """The graph of some calls; the steps of each call are consecutive."""
    number: dict[Goal, int] = {}
    source = [number.setdefault(s.call, len(number)) for s in steps]
    target = [number.setdefault(s.goal, len(number)) for s in steps]
    met: dict[tuple[int, int], int] = {}
    twin = [met.setdefault(pair, e) for e, pair in enumerate(zip(source, target, strict=True))]
    first = np.zeros(len(number) + 1, dtype=np.int64)
    np.cumsum(np.bincount(source, minlength=len(number)), out=first[1:])
    none = np.zeros(0, dtype=np.int64)
    graph = GoalGraph(
        program=program,
        goals=list(number),
        source=np.asarray(source, dtype=np.int64),
        target=np.asarray(target, dtype=np.int64),
        choices=[s.choice for s in steps],
        twin=np.asarray(twin, dtype=np.int64),
        roots=none,
        open=none,
        first=first,
        stopped=None,
    )
    return CallGraph(graph, np.asarray([s.production for s in steps], dtype=np.int64))
