"""The mass that a goal's labels leave over: 1 − Σ of the labels, from the fractions as written.

Found from the sum of float64 weights it would be lost where it matters: beside a loop of weight
1 − 10⁻¹⁶ there is nothing left of 10⁻¹⁶.

Found plus open mass bounds a probability from above (`steps_are_subprobabilities`) when no step's
weights exceed 1, neither those explored nor those behind the open goals.
Explored steps are added up. Behind an open goal, labels and networks are distributions; a clause of
an unlabelled predicate weighs 1, so its clauses must exclude each other: no two heads unify (and no
explored call of the predicate matched two). Builtins with several solutions weigh 1 each and
exclude an upper bound as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from deepprooflog.graph.goalgraph import GoalGraph
from deepprooflog.logic.analysis.exclusive import exclusive_heads, weighs_one_at_most
from deepprooflog.logic.choice import Choice, WeightSource
from deepprooflog.logic.clause import Constant, Label, Neural
from deepprooflog.logic.program import Program
from deepprooflog.score.fixed import trainable_groups
from deepprooflog.syntax.terms import functor_of

Floats = NDArray[np.float64]
Slack = Callable[[Sequence[int]], Floats]
"""For some goals of a graph, 1 − Σ of their steps' weights; nan where only the weights tell."""

# The slack of steps that are all of a learned distribution: 0 if their weights say so, too.
DISTRIBUTION = np.inf


def unknown_slack(nodes: Sequence[int]) -> Floats:
    """Nothing is known apart from the weights."""
    return np.full(len(nodes), np.nan)


def label_slack(first: NDArray[np.int64], choices: Sequence[Choice], program: Program) -> Slack:
    """The slack of goals whose steps are weighed by labels.

    The steps of goal n are choices[first[n]] … choices[first[n + 1] − 1].
    """
    known: dict[tuple[int, ...], float] = {}

    @cache
    def softmaxes() -> list[frozenset[int]]:
        return [frozenset(map(id, g.clauses)) for g in trainable_groups(program) if not g.spare]

    def of(steps: Sequence[Choice]) -> float:
        weigher = steps[0].weigher if steps else WeightSource.ONE
        if weigher is WeightSource.LABEL:
            key = tuple([id(c.clause) for c in steps])
            if key not in known:
                values = [label.value for c in steps if isinstance(label := label_of(c), Constant)]
                known[key] = float(1 - sum(values, Fraction(0)))
            return known[key]
        if weigher is WeightSource.TRAINABLE:
            clauses = [id(c.clause) for c in steps]
            whole = len(set(clauses)) == len(clauses) and frozenset(clauses) in softmaxes()
            return DISTRIBUTION if whole else np.nan
        if weigher is WeightSource.NEURAL:
            label = label_of(steps[0])
            whole = isinstance(label, Neural) and len(steps) == len(label.domain)
            return DISTRIBUTION if whole else np.nan
        return np.nan

    def slack(nodes: Sequence[int]) -> Floats:
        return np.asarray([of(choices[int(first[n]) : int(first[n + 1])]) for n in nodes])

    return slack


def label_of(choice: Choice) -> Label | None:
    """The label of the clause that was chosen."""
    return None if choice.clause is None else choice.clause.label


def steps_are_subprobabilities(graph: GoalGraph, weights: NDArray[np.float64]) -> bool:
    """True when no step of the graph, nor any behind its open goals, weighs more than 1."""
    sums = np.zeros(graph.nodes)
    np.add.at(sums, graph.source, np.exp(weights))
    if (sums > 1 + 1e-9).any():
        return False
    behind = [functor_of(a) for n in graph.open.tolist() for a in graph.goals[n].atoms]
    return weighs_one_at_most(graph.program, behind, exclusive_heads)
