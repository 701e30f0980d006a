"""When found plus open mass bounds a probability from above.

It does when no step's weights exceed 1, neither those explored nor those behind the open goals.
Explored steps are added up. Behind an open goal, labels and networks are distributions; a clause of
an unlabelled predicate weighs 1, so its clauses must exclude each other: no two heads unify (and no
explored call of the predicate matched two). Builtins with several solutions weigh 1 each and
exclude an upper bound as well.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deepprooflog.graph.goalgraph import GoalGraph
from deepprooflog.logic.analysis.exclusive import exclusive_heads, weighs_one_at_most
from deepprooflog.syntax.terms import functor_of


def steps_are_subprobabilities(graph: GoalGraph, weights: NDArray[np.float64]) -> bool:
    """True when no step of the graph, nor any behind its open goals, weighs more than 1."""
    sums = np.zeros(graph.nodes)
    np.add.at(sums, graph.source, np.exp(weights))
    if (sums > 1 + 1e-9).any():
        return False
    behind = [functor_of(a) for n in graph.open.tolist() for a in graph.goals[n].atoms]
    return weighs_one_at_most(graph.program, behind, exclusive_heads)
