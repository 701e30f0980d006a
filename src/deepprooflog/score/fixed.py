"""Weights of programs without parameters: labels as they stand, 1 for unlabelled clauses (SLP)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from deepprooflog.errors import ModelError
from deepprooflog.graph.calls import CallGraph
from deepprooflog.graph.goalgraph import GoalGraph
from deepprooflog.logic.choice import Choice
from deepprooflog.logic.clause import at
from deepprooflog.logic.fraction import log_fraction
from deepprooflog.logic.program import Program
from deepprooflog.score.edges import edge_table
from deepprooflog.score.trainable import trainable_groups

Weigh = Callable[[GoalGraph | CallGraph, Sequence[Choice]], NDArray[np.float64]]
"""Log weights of the edges of a graph, or of tabled productions."""


def fixed_weights(program: Program) -> Weigh:
    """Log weights by labels alone; trainable labels have their initial values."""
    initial: dict[int, float] = {}

    def weigh(graph: GoalGraph | CallGraph, choices: Sequence[Choice]) -> NDArray[np.float64]:
        table = edge_table(choices)
        if table.networks:
            clause = table.networks[0].clause
            raise ModelError(
                f"{clause.functor} is weighed by the network {table.networks[0].network}",
                **at(clause.place),
                hint="dpl.Model(program, networks={...}) brings programs and networks together",
            )
        if len(table.trainable):
            if not initial:
                for group in trainable_groups(program):
                    total = math.log(math.fsum([*map(float, group.initial), group.spare]))
                    for clause, value in zip(group.clauses, group.initial, strict=True):
                        initial[id(clause)] = log_fraction(value) - total
            table.constant[table.trainable] = [initial[id(c)] for c in table.clauses]
        return table.constant

    return weigh
