"""Weights of programs without parameters: labels as they stand, 1 for unlabelled clauses (SLP).

Trainable labels stand at where they start:

    t(0.3) :: p(a).   t(0.7) :: p(b).        one softmax over both, starting at 0.3 and 0.7

The trainable clauses of a predicate share one softmax. Where their initial values add up to more
than 1 they are several distributions in one predicate (the rows of an HMM): they are told apart by
the first argument, or pair of arguments, whose constants split them into sums of at most 1. Where
they add up to less than 1, failing is one more entry of the softmax, with the mass that is left.
`t(_)` takes an equal share of what the others leave. A value of 0, or a share of nothing, begins at
a millionth, since a softmax never leaves 0.

The mass that a goal's labels leave over, 1 − Σ, comes from the fractions as written: found from the
sum of float64 weights it would be lost where it matters, beside a loop of weight 1 − 10⁻¹⁶.

Found plus open mass bounds a probability from above (`steps_are_subprobabilities`) when no step's
weights exceed 1, neither those explored nor those behind the open goals.
Explored steps are added up. Behind an open goal, labels and networks are distributions; a clause of
an unlabelled predicate weighs 1, so its clauses must exclude each other: no two heads unify (and no
explored call of the predicate matched two). Builtins with several solutions weigh 1 each and
exclude an upper bound as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from deepprooflog.errors import ModelError, ProgramError
from deepprooflog.graph.goalgraph import CallGraph, GoalGraph
from deepprooflog.logic.analysis.exclusive import exclusive_heads, weighs_one_at_most
from deepprooflog.logic.choice import Choice, WeightSource
from deepprooflog.logic.clause import Clause, Constant, Label, Neural, Trainable, at
from deepprooflog.logic.program import PredicateKind, Program
from deepprooflog.score.edges import edge_table
from deepprooflog.syntax.numerals import log_fraction
from deepprooflog.syntax.terms import Term, functor_of, is_ground

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
