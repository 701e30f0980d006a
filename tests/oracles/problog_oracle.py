"""ProbLog as an oracle for stochastic logic programs.

ProbLog asks in which worlds a query holds; an SLP sums over derivations. The two agree once worlds
are derivations. So every predicate gets a step counter, p(Args…, Before, After), and the choice at
step n is one annotated disjunction of its own:

    0.4::pick(At, s, 1); 0.6::pick(At, s, 2).
    s(X, At, At2) :- pick(At, s, 1), At0 is At + 1, p(X, At0, At1), p(X, At1, At2).

A world fixes the clause taken at each step, and with it the whole derivation, provided that clauses
without labels exclude each other. A world in which the clause taken does not unify proves nothing:
the mass a failed unification loses.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

Atom: TypeAlias = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class Guard:
    """A builtin goal: no step of the derivation, no choice."""

    text: str


@dataclass(frozen=True)
class SlpClause:
    """`label :: head :- body`; clauses with the same predicate and row are one distribution.

    Variables named `At…` are the step counter's.
    """

    label: Fraction | None
    head: Atom
    body: tuple[Atom | Guard, ...] = ()
    row: str = ""

    def __str__(self) -> str:
        label = "" if self.label is None else f"{float(self.label)} :: "
        body = ", ".join(g.text if isinstance(g, Guard) else show(g) for g in self.body)
        return f"{label}{show(self.head)}{' :- ' if body else ''}{body}."


def show(atom: Atom) -> str:
    """The atom as Prolog text."""
    name, args = atom
    return f"{name}({', '.join(args)})" if args else name


def to_problog(clauses: list[SlpClause]) -> str:
    """The program with a step counter and one annotated disjunction for each row of labels."""
    rows: dict[tuple[str, str], list[Fraction]] = {}
    lines = []
    for clause in clauses:
        picked = None
        if clause.label is not None:
            labels = rows.setdefault((clause.head[0], clause.row), [])
            labels.append(clause.label)
            picked = (f"{clause.head[0]}_{clause.row}", len(labels))
        lines.append(_counted(clause, picked))
    for (name, row), labels in rows.items():
        heads = [f"{float(p)}::pick(At, {name}_{row}, {i})" for i, p in enumerate(labels, 1)]
        lines.append("; ".join(heads) + ".")
    return "\n".join(lines)


def _counted(clause: SlpClause, picked: tuple[str, int] | None) -> str:
    body = [] if picked is None else [f"pick(At, {picked[0]}, {picked[1]})"]
    body.append("At0 is At + 1")
    steps = 0
    for goal in clause.body:
        if isinstance(goal, Guard):
            body.append(goal.text)
        else:
            body.append(show((goal[0], (*goal[1], f"At{steps}", f"At{steps + 1}"))))
            steps += 1
    name, args = clause.head
    return f"{show((name, (*args, 'At', f'At{steps}')))} :- {', '.join(body)}."


def problog_answers(clauses: list[SlpClause], query: Atom) -> dict[tuple[str, ...], float]:
    """The probability of each answer, by the values of the query's variables in order."""
    # ProbLog raises it on import and later, which would hide recursion in what is tested next.
    limit = sys.getrecursionlimit()
    from problog import get_evaluatable  # type: ignore[import-untyped]
    from problog.program import PrologString  # type: ignore[import-untyped]

    name, args = query
    names = list(dict.fromkeys(re.findall(r"\b[A-Z]\w*", " ".join(args))))
    asked = f"asked({', '.join(names)})" if names else "asked"
    text = (
        f"{to_problog(clauses)}\n{asked} :- {show((name, (*args, '0', '_')))}.\nquery({asked}).\n"
    )
    # The plain d-DNNF compiler, which ProbLog brings along; others need a package of their own.
    try:
        found = get_evaluatable("ddnnf").create_from(PrologString(text)).evaluate()
    finally:
        sys.setrecursionlimit(limit)
    values = {tuple(str(a).replace(" ", "") for a in t.args): float(p) for t, p in found.items()}
    # ProbLog reports a query without a proof as itself, with probability 0.
    return {answer: p for answer, p in values.items() if p > 0.0}
