"""When found plus open mass bounds a probability from above.

It does when no step's weights exceed 1, neither those explored nor those behind the open goals.
Explored steps are added up. Behind an open goal, labels and networks are distributions; a clause of
an unlabelled predicate weighs 1, so its clauses must exclude each other: no two heads unify (and no
explored call of the predicate matched two). Builtins with several solutions weigh 1 each and
exclude an upper bound as well.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from deepprooflog.graph.goalgraph import GoalGraph
from deepprooflog.logic.clause import Clause, instantiate
from deepprooflog.logic.head import enter
from deepprooflog.logic.program import Kind, Predicate, Program
from deepprooflog.logic.unify import Trail, undo
from deepprooflog.syntax.terms import Functor, args_of, functor_of

# Builtins that have one solution at most, whatever their arguments.
DETERMINISTIC = frozenset(
    {"is", "=", "\\=", "==", "\\==", "<", ">", "=<", ">=", "=:=", "=\\=", "@<", "@>", "@=<", "@>=",
     "true", "fail", "false", "\\+", "once", "findall", "forall", "var", "nonvar", "atom", "number",
     "integer", "float", "atomic", "compound", "callable", "ground", "functor", "=..", "copy_term",
     "memberchk", "msort", "sort", "sum_list", "max_list", "min_list", "reverse", "succ", "plus"}
)  # fmt: skip

# Pairs of heads are compared one by one; larger predicates count as overlapping.
MOST_CLAUSES = 64


def at_most_one(graph: GoalGraph, weights: NDArray[np.float64]) -> bool:
    """True when no step of the graph, nor any behind its open goals, weighs more than 1."""
    sums = np.zeros(graph.nodes)
    np.add.at(sums, graph.source, np.exp(weights))
    if (sums > 1 + 1e-9).any():
        return False
    program = graph.program
    todo = [functor_of(a) for n in graph.open.tolist() for a in graph.goals[n].atoms]
    seen: set[Functor] = set()
    while todo:
        functor = todo.pop()
        if functor is None:
            return False
        if functor in seen:
            continue
        seen.add(functor)
        predicate = program.predicates.get(functor)
        if predicate is None:
            if functor.name not in DETERMINISTIC:
                return False
            continue
        if predicate.kind is Kind.PLAIN and not _exclusive(program, predicate):
            return False
        for clause in predicate.entries.explicit():
            todo.extend(functor_of(atom) for atom in clause.body)
    return True


def _exclusive(program: Program, predicate: Predicate) -> bool:
    if len(predicate.entries) > MOST_CLAUSES:
        return False
    return not any(_unify(a, b, program) for a, b in combinations(predicate.entries, 2))


def _unify(a: Clause, b: Clause, program: Program) -> bool:
    trail: Trail = []
    head = instantiate(a.head, [None] * a.size)
    met = enter(b, args_of(head), trail, program.occurs_check) is not None
    undo(trail, 0)
    return met
