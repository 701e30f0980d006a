"""Clauses as integers, and a clear refusal of those the relational engine has no form for.

A rule is a head and a body over numbered symbols, its variables numbered as in `Clause`. Four
kinds differ in when they are offered:

    PLAIN      head :- body.                     whenever the head unifies
    BELIEF     r(X,Y) :- believe(r,X,Y).         when what it believes is ground
    NEURAL     nn(kge, […]) :: believe(R,X,Y).   at a ground atom; a step that fails with 1 − p
    GUARD      X \\= Y, X == Y, X < Y, …          where it holds; a step of weight 1

For plain resolution a belief says itself when it is offered, as the last clause of its predicate:
`r(X,Y) :- ground(X), ground(Y), !, believe(r,X,Y).` It is the same rule here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import takewhile
from typing import NoReturn

from deepprooflog.errors import ProgramError
from deepprooflog.logic.body import CUT
from deepprooflog.logic.builtins import is_builtin
from deepprooflog.logic.clause import Bernoulli, Clause, Place, at
from deepprooflog.logic.program import PredicateKind, Program
from deepprooflog.logic.solver.link import unknown_predicate
from deepprooflog.relational.goals import variable
from deepprooflog.relational.guards import GUARDS, guard_clause
from deepprooflog.relational.symbols import Symbols
from deepprooflog.syntax.terms import (
    Functor,
    Slot,
    Struct,
    Term,
    Var,
    args_of,
    functor_of,
    variables,
)
from deepprooflog.syntax.writer import write_term

GROUND = Functor("ground", 1)

# Call patterns are numbered by factorials: (arity + 1)! must fit into 63 bits.
WIDEST_ARITY = 19


class Offer(Enum):
    """When a rule is offered."""

    PLAIN = "plain"
    BELIEF = "belief"
    NEURAL = "neural"
    GUARD = "guard"


@dataclass(frozen=True)
class EncodedRule:
    """A clause over numbers: constants from 0, variable i as −2 − i."""

    clause: Clause
    offer: Offer
    head: tuple[int, ...]  # predicate and arguments
    body: tuple[tuple[int, ...], ...]

    @property
    def nests(self) -> bool:
        """Whether using it counts as one more nested rule."""
        return self.offer is Offer.PLAIN and bool(self.body)


def read_rules(program: Program, symbols: Symbols) -> list[EncodedRule]:
    """The clauses that are not plain ground facts, in the order of `program.clauses()`."""
    rules = []
    for functor in symbols.predicates:
        if functor.arity > WIDEST_ARITY:
            raise ProgramError(
                f"{functor} has more arguments than the relational engine takes ({WIDEST_ARITY})",
                file=program.file,
                hint="the plain engine takes it: dpl.Model(program)",
            )
    for predicate in program.predicates.values():
        for clause in predicate.entries.explicit():
            if not is_fact(clause):
                if not clause.body and _left_out(program, clause):
                    continue
                rules.append(_rule(clause, program, symbols))
    return rules + [_guard(f, symbols) for f in symbols.predicates if is_guard(program, f)]


def is_guard(program: Program, functor: Functor) -> bool:
    """True for a guard that the relational engine decides; a program's own predicate is none."""
    return functor in GUARDS and not program.defines(functor)


def _guard(functor: Functor, symbols: Symbols) -> EncodedRule:
    head = (symbols.predicate(functor), variable(0), variable(1))
    return EncodedRule(guard_clause(functor), Offer.GUARD, head, ())


def is_fact(clause: Clause) -> bool:
    """True for a plain ground fact, which is a row of a table and no rule."""
    return not clause.body and clause.label is None and clause.size == 0


def read_facts(program: Program, symbols: Symbols, functor: Functor) -> Iterator[list[int]]:
    """The arguments of a predicate's plain ground facts, those left out by a view skipped."""
    constant = symbols.constant_numbers
    predicate = program.predicates[functor]
    left_out = {args_of(f) for f in program.left_out(functor)}
    for item in predicate.entries.items():
        if isinstance(item, tuple):
            args, line = item
            place = Place(predicate.entries.file, line)
        elif is_fact(item):
            args, place = item.args, item.place or Place(program.file, 1)
        else:
            continue
        if left_out and args in left_out:
            continue
        try:
            yield [constant[a] for a in args]
        except KeyError:
            bad = next(a for a in args if a not in constant)
            _refuse_term(bad, place)


def _left_out(program: Program, clause: Clause) -> bool:
    return clause.head in program.left_out(clause.functor)


def _rule(clause: Clause, program: Program, symbols: Symbols) -> EncodedRule:
    head = _atom(clause.head, clause, symbols)
    if clause.label is not None:
        return _neural(clause, head)
    body = _unguarded(clause, program)
    for atom in body:
        _check_call(atom, clause, program, symbols)
    atoms = tuple(_atom(a, clause, symbols) for a in body)
    believes = len(body) == 1 and _is_neural(program, body[0])
    return EncodedRule(clause, Offer.BELIEF if believes else Offer.PLAIN, head, atoms)


def _unguarded(clause: Clause, program: Program) -> tuple[Term, ...]:
    """The body of a belief that waits for its arguments, without what says so; other bodies."""
    guards = list(takewhile(lambda a: functor_of(a) is GROUND, clause.body))
    if not guards or program.defines(GROUND):
        return clause.body
    cut, *body = clause.body[len(guards) :] or (None,)
    last = list(program.predicates[clause.functor].entries.items())[-1]
    if (
        cut is not CUT
        or len(body) != 1
        or not _is_neural(program, body[0])
        or {args_of(g)[0] for g in guards} != set(variables(body[0]))
        or last is not clause
    ):
        _refuse(
            clause,
            "ground/1 that does not guard one neural fact",
            "a belief is the last clause of its predicate: "
            "r(X, Y) :- ground(X), ground(Y), !, believe(r, X, Y)",
        )
    return tuple(body)


def _neural(clause: Clause, head: tuple[int, ...]) -> EncodedRule:
    if not isinstance(clause.label, Bernoulli):
        _refuse(clause, "a labelled clause", "only neural facts, nn(net, [X]) :: p(X), have a form")
    if clause.body:
        _refuse(clause, "a neural fact with a body")
    arguments = head[1:]
    if any(a >= 0 for a in arguments) or len(set(arguments)) < len(arguments):
        _refuse(clause, "a neural fact whose arguments are not distinct variables")
    return EncodedRule(clause, Offer.NEURAL, head, ())


def _is_neural(program: Program, atom: Term) -> bool:
    functor = functor_of(atom)
    assert functor is not None
    predicate = program.predicates.get(functor)
    return predicate is not None and predicate.kind is PredicateKind.NEURAL


def _check_call(atom: Term, clause: Clause, program: Program, symbols: Symbols) -> None:
    functor = functor_of(atom)
    assert functor is not None
    if symbols.has_predicate(functor):
        return
    if atom is CUT:
        _refuse(clause, "a cut")
    if is_builtin(functor):
        _refuse(clause, f"the builtin {functor}")
    raise unknown_predicate(program, functor, clause)


def _atom(atom: Term, clause: Clause, symbols: Symbols) -> tuple[int, ...]:
    functor = functor_of(atom)
    assert functor is not None
    numbers = [symbols.predicate(functor)]
    for a in args_of(atom):
        if type(a) is Var:
            numbers.append(variable(a.index))
        elif isinstance(a, Struct | Slot):
            _refuse_term(a, clause.place)
        else:
            numbers.append(symbols.constant(a))
    return tuple(numbers)


def _refuse(
    clause: Clause, what: str, hint: str = "the plain engine takes it: dpl.Model(program)"
) -> NoReturn:
    raise ProgramError(
        f"{what} in {write_term(clause.head)}: the relational engine takes rules and facts only",
        **at(clause.place),
        column=clause.place.column if clause.place else None,
        hint=hint,
    )


def _refuse_term(term: Term, place: Place | None) -> NoReturn:
    raise ProgramError(
        f"{write_term(term)} is a compound term: the relational engine takes constants and "
        "variables only",
        **at(place),
        hint="the plain engine takes it: dpl.Model(program)",
    )
