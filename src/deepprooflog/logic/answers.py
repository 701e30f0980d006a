"""Answers as Prolog text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from deepprooflog.errors import ProgramError
from deepprooflog.logic.clause import abstract, instantiate
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.syntax.terms import Term, Var, is_acyclic
from deepprooflog.syntax.writer import Names, write_term


def bindings_text(query: Query, program: Program) -> dict[str, str]:
    """The current bindings of a query's variables as text; variables left open keep one name."""
    shown = {n: v for n, v in query.variables.items() if not n.startswith("_")}
    for name, var in shown.items():
        if not is_acyclic(var):
            raise ProgramError(
                f"the answer for {name} is a term that contains itself",
                hint="Program(..., occurs_check=True) makes such unifications fail",
            )
    names = Names()
    return {
        name: write_term(var, operators=program.operators, variable_names=names, priority=699)
        for name, var in shown.items()
    }


def log_answers(
    query: Query, program: Program, weights: Mapping[tuple[Term, ...], float]
) -> dict[str, float]:
    """Answers as text with the logarithms of their probabilities, most probable first.

    `weights` are logarithms.
    """
    found = {answer_text(query, program, a): log for a, log in weights.items()}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def probability(log: float) -> float:
    """exp(log); where a short decimal is within the rounding of logarithms, that decimal.

    Labels that add up to a little more than 1 by rounding make no probability above 1.

    >>> probability(math.log(0.3) + math.log(0.3)), probability(math.log(1 / 3))
    (0.09, 0.3333333333333333)
    """
    p = math.exp(min(log, 0.0))
    short = float(f"{p:.12g}")
    return short if math.isclose(p, short, rel_tol=5e-15, abs_tol=0.0) else p


def answer_text(query: Query, program: Program, answer: Sequence[Term]) -> str:
    """The query under an answer, as Prolog text."""
    numbers: dict[Var, int] = {}
    atoms = [abstract(a, numbers) for a in query.atoms]
    values = list(answer)
    assert len(values) == len(numbers)
    return ", ".join(
        write_term(instantiate(a, values), operators=program.operators, priority=999)  # type: ignore[arg-type]
        for a in atoms
    )
