"""Goals and successors as Prolog text, for tests that read like the contract they check."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from deepprooflog import Program
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.query import Query, parse_query
from deepprooflog.logic.resolve import Step, start, successors
from deepprooflog.syntax.terms import Term, canonical_var
from deepprooflog.syntax.writer import Names, write_term

NAMES = Names({canonical_var(i): chr(ord("A") + i) for i in range(26)})


def text(term: Term) -> str:
    """A canonical term as text, variable number i as the i-th letter."""
    return write_term(term, variable_names=NAMES, priority=999)


def goal_text(goal: Goal) -> str:
    """A goal's atoms as text; `true` for the empty goal."""
    return ", ".join(text(a) for a in goal.atoms) or "true"


def steps(program: Program, query: str | Query) -> Iterator[Step]:
    """N(G) of a query, lazily."""
    parsed = parse_query(query, program.operators)
    interner = Interner()
    return successors(program, start(parsed.atoms, interner), interner)


def rows(
    program: str | Program, query: str | Query, first: int | None = None, **options: Any
) -> list[str]:
    """N(G) as rows `goal | answer | weigher | line of the clause`, the first few or all."""
    if isinstance(program, str):
        program = Program(program, **options)
    parsed = parse_query(query, program.operators)
    found = []
    for step in islice(steps(program, parsed), first):
        clause = step.choice.clause
        place = "-" if clause is None or clause.place is None else str(clause.place.line)
        answer = ", ".join(
            f"{name} = {text(value)}"
            for name, value in zip(parsed.variables, step.goal.answer, strict=True)
        )
        shown = [goal_text(step.goal), answer or "-", step.choice.weigher.value, place]
        found.append(" | ".join(shown))
    return found


def atom(source: str) -> Any:
    """One atom as a run-time term."""
    return parse_query(source).atoms[0]
