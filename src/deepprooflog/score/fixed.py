"""Weights of programs without parameters: labels as they stand, 1 for unlabelled clauses (SLP).

Trainable labels stand at where they start:

    t(0.3) :: p(a).   t(0.7) :: p(b).        one softmax over both, starting at 0.3 and 0.7

The trainable clauses of a predicate share one softmax. Where their initial values add up to more
than 1 they are several distributions in one predicate (the rows of an HMM): they are told apart by
the first argument, or pair of arguments, whose constants split them into sums of at most 1. Where
they add up to less than 1, failing is one more entry of the softmax, with the mass that is left.
`t(_)` takes an equal share of what the others leave. A value of 0, or a share of nothing, begins at
a millionth, since a softmax never leaves 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from deepprooflog.errors import ModelError, ProgramError
from deepprooflog.graph.goalgraph import CallGraph, GoalGraph
from deepprooflog.logic.choice import Choice
from deepprooflog.logic.clause import Clause, Trainable, at
from deepprooflog.logic.program import PredicateKind, Program
from deepprooflog.score.edges import edge_table
from deepprooflog.syntax.numerals import log_fraction
from deepprooflog.syntax.terms import Term, is_ground

TOLERANCE = 1e-9
# In place of an initial value of 0, which could never be trained away from it.
LEAST = Fraction(1, 10**6)


@dataclass(frozen=True)
class LabelGroup:
    """One softmax: its clauses, their initial values, and the initial mass of failing."""

    clauses: tuple[Clause, ...]
    initial: tuple[Fraction, ...]
    spare: float


def trainable_groups(program: Program) -> list[LabelGroup]:
    """The softmaxes of a program, in the order of its predicates."""
    result: list[LabelGroup] = []
    for predicate in program.predicates.values():
        if predicate.kind is PredicateKind.TRAINABLE:
            for clauses in _split(list(predicate.entries)):
                result.append(_group(clauses))
    return result


def _known(clauses: Sequence[Clause]) -> float:
    return math.fsum(float(_initial(c) or 0) for c in clauses)


def _initial(clause: Clause) -> Fraction | None:
    assert isinstance(clause.label, Trainable)
    return clause.label.initial


def _split(clauses: list[Clause]) -> list[list[Clause]]:
    if _known(clauses) <= 1 + TOLERANCE:
        return [clauses]
    arity = clauses[0].functor.arity
    for size in (1, 2):
        for positions in combinations(range(arity), size):
            if not all(is_ground(c.args[p]) for c in clauses for p in positions):
                continue
            rows: dict[tuple[Term, ...], list[Clause]] = {}
            for clause in clauses:
                rows.setdefault(tuple(clause.args[p] for p in positions), []).append(clause)
            if all(_known(row) <= 1 + TOLERANCE for row in rows.values()):
                return list(rows.values())
    place = clauses[0].place
    raise ProgramError(
        f"the initial values of {clauses[0].functor} add up to {_known(clauses):.12g}, and no "
        "argument splits its clauses into distributions",
        **at(place),
        hint="initial values of one distribution may not exceed 1",
    )


def _group(clauses: Sequence[Clause]) -> LabelGroup:
    known = _known(clauses)
    unknown = sum(1 for c in clauses if _initial(c) is None)
    left = 1 - known if 1 - known > TOLERANCE else 0.0
    share = Fraction(left) / unknown if unknown else Fraction(0)
    initial = tuple((share if (value := _initial(c)) is None else value) or LEAST for c in clauses)
    return LabelGroup(tuple(clauses), initial, 0.0 if unknown else left)


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
