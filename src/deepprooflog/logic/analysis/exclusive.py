"""Predicates whose calls weigh 1 at most: no step from them, nor behind it, weighs more.

Reachability of random choices and nested calls is by predicate, through bodies, control constructs
and the closures handed to `call/N`, `maplist` and the like; what a variable will be bound to is not
known here and is caught when it is called.

Labels and networks are distributions, and a builtin may have one solution. A clause of an
unlabelled predicate weighs 1, so its clauses must exclude each other by their heads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from typing import TypeAlias

from deepprooflog.logic.builtins.registry import META, is_single
from deepprooflog.logic.clause import Clause, Frame, instantiate
from deepprooflog.logic.program import Predicate, PredicateKind, Program
from deepprooflog.logic.unify import Trail, undo, unify_head
from deepprooflog.syntax.terms import CURLY, Atom, Functor, Struct, Term, deref, functor_of

# As many arguments as `call/8` can add to a closure.
MAX_EXTRA = 7


def reaching(predicates: Mapping[Functor, Predicate]) -> frozenset[Functor]:
    """The predicates from which a labelled, trainable or neural predicate can be reached."""
    return callers_of({f for f, p in predicates.items() if p.stochastic}, predicates)


def nesting(predicates: Mapping[Functor, Predicate]) -> frozenset[Functor]:
    """The predicates from which a clause can be reached that nests calls.

    Such a clause has atoms that wait while a predicate with rules of its own is called, so that
    goals may grow: grammars, recursion that is not last, a call of one long computation after
    another.
    """
    ruled = {f for f, p in predicates.items() if any(c.body for c in p.entries.explicit())}
    nested = {
        functor
        for functor, predicate in predicates.items()
        for clause in predicate.entries.explicit()
        if any(callee in ruled for atom in clause.body[:-1] for callee in mentioned(atom))
    }
    return callers_of(nested, predicates)


def callers_of(
    wanted: Iterable[Functor], predicates: Mapping[Functor, Predicate]
) -> frozenset[Functor]:
    """The predicates from which one of some predicates can be reached, these among them."""
    callers: dict[Functor, set[Functor]] = {}
    for functor, predicate in predicates.items():
        for clause in predicate.entries.explicit():
            for atom in clause.body:
                for callee in mentioned(atom):
                    if callee in predicates:
                        callers.setdefault(callee, set()).add(functor)
    found = set(wanted)
    todo = list(found)
    while todo:
        for caller in callers.get(todo.pop(), ()):
            if caller not in found:
                found.add(caller)
                todo.append(caller)
    return frozenset(found)


def mentioned(atom: Term) -> Iterator[Functor]:
    """Every predicate a body atom may call: itself, and what it names as goals or closures."""
    atom = deref(atom)
    if type(atom) is Atom or type(atom) is Struct:
        yield atom.functor
    todo = [atom]
    while todo:
        t = todo.pop()
        if type(t) is not Struct or not (t.functor.name in META or _is_lambda(t)):
            continue
        for a in t.args:
            closure = deref(a)
            if type(closure) is Atom or type(closure) is Struct:
                name, arity = closure.functor.name, closure.functor.arity
                for extra in range(MAX_EXTRA + 1):
                    yield Functor(name, arity + extra)
                todo.append(closure)


def _is_lambda(term: Struct) -> bool:
    """True for `{Shared}/Body`; what else a slash joins are no goals."""
    if term.functor.name != "/" or len(term.args) < 2:
        return False
    shared = deref(term.args[0])
    return shared is Atom("{}") or (type(shared) is Struct and shared.functor is CURLY)


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
