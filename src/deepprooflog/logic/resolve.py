"""The step: the one definition of `res(G, C, θ)`.

    G = ← A₁, A₂, …, Aₙ       G' = res(G, C, θ) = ← (B₁, …, Bₘ, A₂, …, Aₙ)θ

`successors(program, goal)` looks at the leftmost atom only; its kind decides what follows:

    builtin or guard          one successor for each solution, in order, weight 1
    labelled predicate        each clause that unifies, weight its label
    neural predicate          each value of the domain that unifies, weight p(value)
    neural Bernoulli          one, weight p; the rest of the mass fails
    any other predicate       each clause that unifies, weighed by the model's scorer

Every engine derives from `resolvents` or is proven equal to `successors` by the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import add, eq, ge, gt, le, lt, mod, mul, ne, sub
from typing import NamedTuple

from deepprooflog.logic.body import CUT, after_cut, conjunction
from deepprooflog.logic.body_order import bound_first
from deepprooflog.logic.builtins import is_builtin
from deepprooflog.logic.choice import Choice, WeightSource
from deepprooflog.logic.clause import Bernoulli, Clause, Constant, Frame, Neural, instantiate
from deepprooflog.logic.control_steps import (
    cut_around_choice,
    labels_exceed_one,
    not_callable,
    open_control,
    opens,
    two_networks,
    unbound_input,
)
from deepprooflog.logic.goal import Goal, Interner, enter_goal
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.long_body import LONG
from deepprooflog.logic.program import Predicate, PredicateKind, Program
from deepprooflog.logic.solver.solver import Solver, unknown_predicate
from deepprooflog.logic.unify import Trail, enter, undo, unify
from deepprooflog.syntax.terms import (
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

IS = Functor("is", 2)
SUMS: dict[Functor, Callable[[int, int], int]] = {
    Functor("+", 2): add,
    Functor("-", 2): sub,
    Functor("*", 2): mul,
    Functor("mod", 2): mod,
}
COMPARISONS: dict[Functor, Callable[[int, int], bool]] = {
    Functor("<", 2): lt,
    Functor(">", 2): gt,
    Functor("=<", 2): le,
    Functor(">=", 2): ge,
    Functor("=:=", 2): eq,
    Functor("=\\=", 2): ne,
}
# Sums of integers below this are quick, and take no memory.
WORD = 1 << 62
HOLDS = Choice(WeightSource.ONE, None, 0)

# The labels of one call may exceed 1 by rounding only.
TOLERANCE = 1e-9


class Step(NamedTuple):
    """An edge out of a goal: the next goal and the choice that leads there."""

    goal: Goal
    choice: Choice


def start(query: Sequence[Term], interner: Interner, track_answers: bool = True) -> Goal:
    """The goal a query begins with; its answer is the tuple of the query's variables."""
    answer = variables(*query) if track_answers else []
    return interner.goal(query, answer)


def successors(
    program: Program,
    goal: Goal,
    interner: Interner | None = None,
    budget: Budget | None = None,
) -> Iterator[Step]:
    """N(G): the next goals from resolving the leftmost atom of G, lazily, in order.

    >>> from deepprooflog.syntax.reader import read_term
    >>> program = Program("p(X) :- q(X). p(b). q(a).")
    >>> goal = start([read_term("p(X).").term], Interner())
    >>> [step.goal.answer for step in successors(program, goal)]
    [(_0,), (Atom('b'),)]
    """
    interner = interner if interner is not None else Interner()
    atom, frame = enter_goal(goal)
    trail: Trail = []
    in_pieces = interner.in_pieces
    for choice, body in resolvents(program, atom, trail, budget):
        if in_pieces and len(body) > LONG and _as_written(program, choice, body):
            assert choice.clause is not None
            body = interner.pieces.split(choice.clause, body)
        yield Step(interner.resolvent(body, goal, frame), choice)


def _as_written(program: Program, choice: Choice, body: Sequence[Term]) -> bool:
    """True when a body is its clause's, atom by atom: nothing cut off, nothing reordered."""
    clause = choice.clause
    return clause is not None and len(body) == len(clause.body) and program.order == "written"


def resolvents(
    program: Program, atom: Term, trail: Trail, budget: Budget | None = None
) -> Iterator[tuple[Choice, Sequence[Term]]]:
    """The choices at a run-time atom, each with the body that replaces it.

    While a pair is out its bindings are in place; asking for the next one takes them back.
    """
    atom = deref(atom)
    functor = functor_of(atom)
    if functor is None:
        raise not_callable(atom)
    predicate = program.predicates.get(functor)
    if predicate is not None:
        return _predicate(program, predicate, atom, trail, budget)
    if functor is IS or functor in COMPARISONS:
        step = _in_words(atom, functor, trail)
        if step is not None:
            return step
    if opens(program, atom):
        return open_control(program, atom, trail, budget)
    if is_builtin(functor):
        return _solutions(program, atom, budget, f"{functor}")
    raise unknown_predicate(program, functor)


def _predicate(
    program: Program, predicate: Predicate, atom: Term, trail: Trail, budget: Budget | None
) -> Iterator[tuple[Choice, Sequence[Term]]]:
    if predicate.kind is PredicateKind.NEURAL:
        return _neural(program, predicate, atom, trail)
    if predicate.kind is not PredicateKind.PLAIN:
        return _labelled(program, predicate, atom, trail)
    if predicate.has_nested_cut:
        if program.reaches_choice(predicate.functor):
            raise cut_around_choice(predicate.functor)
        return _solutions(program, atom, budget, "!")
    if predicate.has_cut:
        return _committed(program, predicate, atom, trail, budget)
    return _plain(program, predicate, atom, trail)


def _body(program: Program, clause: Clause, frame: Frame) -> list[Term]:
    body = [instantiate(b, frame) for b in clause.body]
    return bound_first(program, body) if program.order == "bound_first" else body


def _plain(
    program: Program, predicate: Predicate, atom: Term, trail: Trail
) -> Iterator[tuple[Choice, Sequence[Term]]]:
    args = args_of(atom)
    mark = len(trail)
    for clause in program.candidates(predicate.functor, args):
        frame = enter(clause, args, trail, program.occurs_check)
        if frame is not None:
            yield Choice(WeightSource.SCORER, clause), _body(program, clause, frame)
        undo(trail, mark)


def _labelled(
    program: Program, predicate: Predicate, atom: Term, trail: Trail
) -> Iterator[tuple[Choice, Sequence[Term]]]:
    constant = predicate.kind is PredicateKind.LABELLED
    weigher = WeightSource.LABEL if constant else WeightSource.TRAINABLE
    args = args_of(atom)
    mark = len(trail)
    total = 0.0
    for clause in program.candidates(predicate.functor, args):
        frame = enter(clause, args, trail, program.occurs_check)
        if frame is not None:
            if constant:
                assert isinstance(clause.label, Constant)
                total += clause.label.number
                if total > 1 + TOLERANCE:
                    undo(trail, mark)
                    raise labels_exceed_one(atom, clause, total)
            yield Choice(weigher, clause), _body(program, clause, frame)
        undo(trail, mark)


def _neural(
    program: Program, predicate: Predicate, atom: Term, trail: Trail
) -> Iterator[tuple[Choice, Sequence[Term]]]:
    args = args_of(atom)
    mark = len(trail)
    met: Clause | None = None
    for clause in program.candidates(predicate.functor, args):
        frame = enter(clause, args, trail, program.occurs_check)
        if frame is not None:
            if met is not None:
                undo(trail, mark)
                raise two_networks(atom, met, clause)
            met = clause
            label = clause.label
            assert isinstance(label, Neural | Bernoulli)
            inputs = tuple(deref(instantiate(i, frame)) for i in label.inputs)
            for term in inputs:
                if not is_ground(term):
                    raise unbound_input(atom, clause, label.network)
            body = _body(program, clause, frame)
            if isinstance(label, Bernoulli):
                yield Choice(WeightSource.BERNOULLI, clause, 0, inputs), body
            else:
                output = instantiate(label.output, frame)
                inner = len(trail)
                for number, value in enumerate(label.domain):
                    if unify(output, value, trail, program.occurs_check):
                        yield Choice(WeightSource.NEURAL, clause, number, inputs), body
                    undo(trail, inner)
        undo(trail, mark)


def _committed(
    program: Program, predicate: Predicate, atom: Term, trail: Trail, budget: Budget | None
) -> Iterator[tuple[Choice, Sequence[Term]]]:
    """Cut as committed choice: the first clause whose part before `!` succeeds drops the rest."""
    guard = Solver(program, occurs_check=program.occurs_check, guard="!", budget=budget)
    args = args_of(atom)
    mark = len(trail)
    for clause in program.candidates(predicate.functor, args):
        frame = enter(clause, args, trail, program.occurs_check)
        if frame is None:
            undo(trail, mark)
            continue
        if CUT not in clause.body:
            yield Choice(WeightSource.SCORER, clause), _body(program, clause, frame)
            undo(trail, mark)
            continue
        cut = clause.body.index(CUT)
        body = [instantiate(b, frame) for b in clause.body]
        test = guard.run(conjunction(body[:cut]))
        if next(test, _FAILED) is not _FAILED:
            yield Choice(WeightSource.SCORER, clause), after_cut(body[cut + 1 :])
            test.close()
            undo(trail, mark)
            return
        undo(trail, mark)


_FAILED = object()


def _in_words(
    atom: Term, functor: Functor, trail: Trail
) -> Iterator[tuple[Choice, Sequence[Term]]] | None:
    """The step of `X is Sum` or of a comparison of sums; None for what is not that simple.

    Walks and counters consist of little else: such a step is not worth a machine of its own.
    """
    left, right = args_of(atom)
    b = _word(right)
    if b is None:
        return None
    if functor is IS:
        left = deref(left)
        return _assign(left, b, trail) if type(left) is Var or type(left) is int else None
    a = _word(left)
    return None if a is None else iter([(HOLDS, ())] if COMPARISONS[functor](a, b) else [])


def _assign(left: Term, value: int, trail: Trail) -> Iterator[tuple[Choice, Sequence[Term]]]:
    mark = len(trail)
    if unify(left, value, trail):
        yield HOLDS, ()
    undo(trail, mark)


def _word(term: Term, depth: int = 3) -> int | None:
    """The value of a small sum of integers of a word's size; None for any other term."""
    term = deref(term)
    if type(term) is int:
        return term if -WORD < term < WORD else None
    if type(term) is not Struct or not depth:
        return None
    operation = SUMS.get(term.functor)
    if operation is None:
        return None
    a, b = _word(term.args[0], depth - 1), _word(term.args[1], depth - 1)
    if a is None or b is None or (not b and operation is mod):
        return None
    return operation(a, b)


def _solutions(
    program: Program, atom: Term, budget: Budget | None, guard: str
) -> Iterator[tuple[Choice, Sequence[Term]]]:
    solver = Solver(program, occurs_check=program.occurs_check, guard=guard, budget=budget)
    for number, _ in enumerate(solver.run(atom)):
        yield Choice(WeightSource.ONE, None, number), ()
