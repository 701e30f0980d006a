"""Clauses of one unlabelled predicate that may both apply, so that their weights add up.

    q(X) :- digit(X, 1).   q(X) :- digit(X, 2).       one draw, two outcomes: at most one of them
    q(X) :- digit(X, 1).   q(X) :- even(X).           both may hold: p + p' is no probability

Two clauses exclude each other where their heads do not unify, where the first of them commits by a
cut, or where nothing satisfies both bodies. Of the last only simple cases are seen: what is drawn
by one call has one outcome, equal expressions have equal values, and equations, comparisons, type
tests and facts are compared. A pair that is reported may still exclude each other; one that is not
reported may still overlap where calls are made that a predicate of the program answers twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deepprooflog.errors import ProofLogError
from deepprooflog.logic.analysis.compatible import comparisons_hold, types_hold, value_of
from deepprooflog.logic.analysis.exclusive import by_first_argument, mentioned, weighs_one_at_most
from deepprooflog.logic.body import CUT, conjunction, has_nested_cut
from deepprooflog.logic.clause import (
    Bernoulli,
    Clause,
    Constant,
    Frame,
    Neural,
    Trainable,
    clause_text,
    instantiate,
)
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.program import Predicate, PredicateKind, Program
from deepprooflog.logic.solver.solver import Solver
from deepprooflog.logic.unify import Trail, enter, undo, unify
from deepprooflog.syntax.terms import (
    CONS,
    Float,
    Functor,
    Struct,
    Term,
    Var,
    args_of,
    deref,
    functor_of,
    is_ground,
    variables,
)

# Pairs of a predicate's clauses that are compared, and steps for the facts of one pair.
MOST_PAIRS = 2_000
FACT_STEPS = 2_000
TOLERANCE = 1e-9

EQUAL = frozenset({Functor("=", 2), Functor("==", 2), Functor("unify_with_occurs_check", 2)})
UNEQUAL = frozenset({Functor("\\=", 2), Functor("\\==", 2)})
IS = Functor("is", 2)
FAIL = frozenset({Functor("fail", 0), Functor("false", 0)})
NOT = frozenset({Functor("\\+", 1), Functor("not", 1)})


@dataclass(frozen=True)
class Overlap:
    """Two clauses of a predicate, in source order, that may both apply to one call."""

    first: Clause
    second: Clause

    def text(self, program: Program) -> str:
        """Both clauses with their lines."""
        shown = []
        for clause in (self.first, self.second):
            line = f" (line {clause.place.line})" if clause.place else ""
            shown.append(f"`{clause_text(clause, program.operators)}`{line}")
        return " and ".join(shown)


def overlaps(program: Program) -> Iterator[Overlap]:
    """A pair for each unlabelled predicate whose clauses may overlap on the way to a random choice.

    >>> text = "q(X) :- p(X). q(a). r(X) :- p(X), X == a. r(X) :- p(X), X \\\\== a. 0.5 :: p(a)."
    >>> program = Program(text)
    >>> [pair.text(program) for pair in overlaps(program)]
    ['`q(X) :- p(X).` (line 1) and `q(a).` (line 1)']
    """
    for functor, predicate in program.predicates.items():
        if predicate.kind is PredicateKind.PLAIN and program.reaches_choice(functor):
            pair = next(_pairs(program, predicate), None)
            if pair is not None:
                yield pair


def _pairs(program: Program, predicate: Predicate) -> Iterator[Overlap]:
    left = MOST_PAIRS
    for clause in predicate.entries.explicit():
        called = [f for atom in clause.body for f in mentioned(atom)]
        if not any(program.reaches_choice(f) for f in called):
            continue
        others = program.candidates(
            clause.functor, args_of(instantiate(clause.head, _frame(clause)))
        )
        earlier = True
        for other in others:
            if other is clause:
                earlier = False
                continue
            left -= 1
            if left < 0:
                return
            pair = Overlap(other, clause) if earlier else Overlap(clause, other)
            if may_both_apply(program, pair.first, pair.second):
                yield pair


def may_both_apply(program: Program, first: Clause, second: Clause) -> bool:
    """False when two clauses of a predicate, in source order, are seen to exclude each other."""
    if any(atom is CUT or has_nested_cut(atom) for atom in first.body):
        return False
    if _ends_elsewhere(first, second) or _ends_elsewhere(second, first):
        return False
    trail: Trail = []
    try:
        own = _frame(first)
        head = instantiate(first.head, own)
        other = enter(second, args_of(head), trail, program.occurs_check)
        if other is None:
            return False
        bodies = _Bodies(
            program,
            [instantiate(atom, own) for atom in first.body],
            [instantiate(atom, other) for atom in second.body],
            trail,
        )
        return bodies.may_hold()
    finally:
        undo(trail, 0)


def _ends_elsewhere(empty: Clause, other: Clause) -> bool:
    """True of a grammar's empty production and one that begins with a token.

    What is left of a list is the whole of it after the one, and never after the other.
    """
    if empty.functor.arity < 2 or empty.body or empty.args[-2] is not empty.args[-1]:
        return False
    begins, ends = other.args[-2:]
    return (
        type(begins) is Struct
        and begins.functor is CONS
        and type(ends) is Var
        and ends is not begins.args[-1]
    )


def _frame(clause: Clause) -> Frame:
    return [None] * clause.size


@dataclass(frozen=True)
class _Bodies:
    """Two bodies after their heads were unified: may all their atoms hold at once?"""

    program: Program
    one: list[Term]
    two: list[Term]
    trail: Trail

    def may_hold(self) -> bool:
        known = -1
        while len(self.trail) != known:
            known = len(self.trail)
            if not (self._equate() and self._same_draws()):
                return False
        atoms = [*self.one, *self.two]
        return (
            self._none_denied(atoms)
            and comparisons_hold(atoms)
            and types_hold(atoms)
            and self._some_clause(atoms)
            and self._facts_hold(atoms)
        )

    def _equate(self) -> bool:
        """Unify what equations and arithmetic make equal; False when they cannot be."""
        for atom in (*self.one, *self.two):
            functor = functor_of(atom)
            if functor in EQUAL or functor is IS:
                left, right = args_of(atom)
                if functor is IS:
                    value = value_of(right)
                    if value is None:
                        continue
                    right = Float(value) if isinstance(value, float) else value
                if not unify(left, right, self.trail):
                    return False
        return True

    def _same_draws(self) -> bool:
        """Unify calls that are one draw, or one function of equal arguments."""
        free = list(self.two)
        for atom in self.one:
            for place, other in enumerate(free):
                if functor_of(atom) is functor_of(other) and self._is_one(atom, other):
                    del free[place]
                    if not unify(atom, other, self.trail):
                        return False
                    break
        return True

    def _is_one(self, a: Term, b: Term) -> bool:
        functor = functor_of(a)
        pairs = list(zip(args_of(a), args_of(b), strict=True))
        same = [self._identical(x, y) for x, y in pairs]
        if functor is IS:
            return same[1]
        predicate = self.program.predicates.get(functor) if functor is not None else None
        if predicate is None:
            return False
        if predicate.kind is PredicateKind.PLAIN:
            open_ = all(equal or _is_open(x, y) for equal, (x, y) in zip(same, pairs, strict=True))
            return open_ or weighs_one_at_most(self.program, [functor], by_first_argument)
        # Learned labels change: rows of several softmaxes are told apart by what they begin with.
        if predicate.kind is PredicateKind.TRAINABLE and not all(same[:1]):
            same = [False] * len(same)
        call = [x if equal else Var() for equal, (x, _) in zip(same, pairs, strict=True)]
        return self._is_distribution(predicate, call, same)

    def _is_distribution(
        self, predicate: Predicate, call: Sequence[Term], known: Sequence[bool]
    ) -> bool:
        """True when what a call draws adds up to 1 at most, for each value of its known arguments.

        A variable that both bodies share is bound when the call is made.
        """
        sums: dict[tuple[Term, ...], float] = {}
        fresh = [argument for argument, own in zip(call, known, strict=True) if not own]
        for clause in self.program.candidates(predicate.functor, call):
            mark = len(self.trail)
            frame = enter(clause, call, self.trail)
            if frame is not None:
                row = tuple(a for a, own in zip(clause.args, known, strict=True) if own)
                key = row if all(map(is_ground, row)) else ()
                sums[key] = sums.get(key, 0.0) + _mass(clause, frame, fresh)
            undo(self.trail, mark)
        every = sums.pop((), 0.0)
        return every + max(sums.values(), default=0.0) <= 1 + TOLERANCE

    def _identical(self, x: Term, y: Term) -> bool:
        mark = len(self.trail)
        same = unify(x, y, self.trail) and len(self.trail) == mark
        undo(self.trail, mark)
        return same

    def _none_denied(self, atoms: Sequence[Term]) -> bool:
        """No failure, no inequality of equal terms, and no negation of what is asked for."""
        for atom in atoms:
            functor, args = functor_of(atom), args_of(atom)
            if functor in FAIL:
                return False
            if functor in UNEQUAL and self._identical(*args):
                return False
            if functor in NOT and any(self._identical(args[0], other) for other in atoms):
                return False
        return True

    def _some_clause(self, atoms: Sequence[Term]) -> bool:
        """Every call of a predicate of the program unifies with the head of a clause."""
        for atom in atoms:
            functor = functor_of(atom)
            if functor is None or functor not in self.program.predicates:
                continue
            if not any(
                self._matches(clause, args_of(atom))
                for clause in self.program.candidates(functor, args_of(atom))
            ):
                return False
        return True

    def _matches(self, clause: Clause, args: Sequence[Term]) -> bool:
        mark = len(self.trail)
        met = enter(clause, args, self.trail, self.program.occurs_check) is not None
        undo(self.trail, mark)
        return met

    def _facts_hold(self, atoms: Sequence[Term]) -> bool:
        """The calls of predicates that are only facts have a solution in common."""
        facts = [atom for atom in atoms if self._is_facts(functor_of(atom))]
        if not facts:
            return True
        budget = Budget(max_steps=FACT_STEPS)
        solver = Solver(self.program, occurs_check=self.program.occurs_check, budget=budget)
        search = solver.run(conjunction(facts))
        try:
            return any(True for _ in search)
        except ProofLogError:
            return True
        finally:
            search.close()

    def _is_facts(self, functor: Functor | None) -> bool:
        predicate = self.program.predicates.get(functor) if functor is not None else None
        return (
            predicate is not None
            and predicate.kind is PredicateKind.PLAIN
            and not any(clause.body for clause in predicate.entries.explicit())
        )


def _mass(clause: Clause, frame: Frame, fresh: Sequence[Term]) -> float:
    """How much a clause may draw: its label; of a network 1, if its inputs are not left open."""
    label = clause.label
    if isinstance(label, Constant):
        return label.number
    if isinstance(label, Trainable):
        return float(label.initial or 0)
    assert isinstance(label, Neural | Bernoulli)
    inputs = variables(*[instantiate(t, frame) for t in label.inputs])
    several = bool(fresh) if isinstance(label, Bernoulli) else any(v in fresh for v in inputs)
    return math.inf if several else 1.0


def _is_open(x: Term, y: Term) -> bool:
    return type(deref(x)) is Var and type(deref(y)) is Var
