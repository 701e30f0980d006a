"""Goals from terms, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from deepprooflog.errors import ProgramError
from deepprooflog.logic.goal import Goal
from deepprooflog.logic.query import Query
from deepprooflog.relational.goals import NO_FACT, PAD, Goals, variable
from deepprooflog.relational.symbols import Symbols
from deepprooflog.relational.tables import AtomLayout
from deepprooflog.syntax.terms import (
    Slot,
    Struct,
    Term,
    Var,
    args_of,
    canonical_var,
    deref,
    functor_of,
    struct,
    variables,
)
from deepprooflog.syntax.writer import write_term


def encode(
    queries: Sequence[Query], symbols: Symbols, shape: AtomLayout, nesting: int | None
) -> Goals:
    """Queries as goals; their answers are their variables in order of first occurrence."""
    rows = [_row(query, symbols, shape, nesting) for query in queries]
    atoms = max((len(a) for a, _ in rows), default=0)
    answers = max((len(a) for _, a in rows), default=0)
    absent = [PAD] * shape.width
    padded = [[*a, *[absent] * (atoms - len(a))] for a, _ in rows]
    answer = [[*a, *[PAD] * (answers - len(a))] for _, a in rows]
    return Goals(
        torch.tensor(padded, dtype=torch.int32).reshape(len(rows), atoms, shape.width),
        torch.tensor(answer, dtype=torch.int32).reshape(len(rows), answers),
        torch.full((len(rows),), NO_FACT, dtype=torch.int32),
    )


def decode(goals: Goals, symbols: Symbols) -> list[Goal]:
    """The goals as terms, without the nesting that their atoms have left."""

    def term(number: int) -> Term:
        return symbols.constants[number] if number >= 0 else canonical_var(-2 - number)

    decoded = []
    for atoms, answer in zip(goals.atoms.tolist(), goals.answer.tolist(), strict=True):
        terms: list[Term] = []
        for row in atoms:
            if row[0] != PAD:
                functor = symbols.predicates[row[0]]
                terms.append(struct(functor.name, *map(term, row[1 : 1 + functor.arity])))
        answers = tuple(term(a) for a in answer if a != PAD)
        decoded.append(Goal(tuple(terms), answers, len(variables(*terms, *answers))))
    return decoded


def _row(
    query: Query, symbols: Symbols, shape: AtomLayout, nesting: int | None
) -> tuple[list[list[int]], list[int]]:
    numbers = {v: i for i, v in enumerate(variables(*query.atoms))}
    atoms = []
    for term in query.atoms:
        atom = deref(term)
        functor = functor_of(atom)
        assert functor is not None
        row = [symbols.predicate(functor)]
        row += [_argument(deref(a), symbols, numbers) for a in args_of(atom)]
        row += [PAD] * (1 + shape.arity - len(row))
        if nesting is not None:
            row.append(0 if row[0] in shape.ends else nesting)
        atoms.append(row)
    return atoms, [variable(n) for n in numbers.values()]


def _argument(term: Term, symbols: Symbols, numbers: Mapping[Var, int]) -> int:
    if type(term) is Var:
        return variable(numbers[term])
    if isinstance(term, Struct | Slot):
        raise ProgramError(
            f"{write_term(term)} in a query is no constant",
            hint="the relational engine takes constants and variables only",
        )
    return symbols.constant(term)
