"""Predicates whose calls weigh 1 at most: no step from them, nor behind it, weighs more.

Labels and networks are distributions, and a builtin may have one solution. A clause of an
unlabelled predicate weighs 1, so its clauses must exclude each other by their heads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from typing import TypeAlias

from deepprooflog.logic.builtins.registry import is_single
from deepprooflog.logic.clause import Clause, Frame, instantiate
from deepprooflog.logic.head import unify_head
from deepprooflog.logic.program import Predicate, PredicateKind, Program
from deepprooflog.logic.unify import Trail, undo
from deepprooflog.syntax.terms import Functor, functor_of

Exclusive: TypeAlias = Callable[[Program, Predicate], bool]

# Pairs of heads are compared one by one; larger predicates count as overlapping.
MOST_CLAUSES = 64


def weighs_one_at_most(
    program: Program, functors: Iterable[Functor | None], exclusive: Exclusive
) -> bool:
    """True when no step of calls of some predicates, nor behind them, weighs more than 1.

    >>> program = Program("p(X) :- q(X), X > 1. 0.5 :: q(1). 0.5 :: q(2). r(X) :- member(X, [a]).")
    >>> [weighs_one_at_most(program, [Functor(n, 1)], exclusive_heads) for n in ("p", "r")]
    [True, False]
    """
    todo = list(functors)
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
            if not is_single(functor):
                return False
            continue
        if predicate.kind is PredicateKind.PLAIN and not exclusive(program, predicate):
            return False
        for clause in predicate.entries.explicit():
            todo.extend(functor_of(atom) for atom in clause.body)
    return True


def exclusive_heads(program: Program, predicate: Predicate) -> bool:
    """True when no two heads of a predicate's clauses unify."""
    return _exclusive(program, predicate, predicate.functor.arity)


def by_first_argument(program: Program, predicate: Predicate) -> bool:
    """True when the clauses of a predicate are told apart by their first argument alone."""
    return _exclusive(program, predicate, 1)


def _exclusive(program: Program, predicate: Predicate, arguments: int) -> bool:
    if len(predicate.entries) > MOST_CLAUSES:
        return False
    pairs = combinations(predicate.entries, 2)
    return not any(_unify(a, b, arguments, program.occurs_check) for a, b in pairs)


def _unify(a: Clause, b: Clause, arguments: int, occurs_check: bool) -> bool:
    """True when the first arguments of two heads unify."""
    trail: Trail = []
    own: Frame = [None] * a.size
    other: Frame = [None] * b.size
    met = all(
        unify_head(pattern, instantiate(argument, own), other, trail, occurs_check)
        for pattern, argument in zip(b.args[:arguments], a.args[:arguments], strict=True)
    )
    undo(trail, 0)
    return met
