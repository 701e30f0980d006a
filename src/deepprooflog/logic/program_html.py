"""A program in a notebook: its predicates, each with its clauses."""

from __future__ import annotations

from itertools import islice

from deepprooflog import markup
from deepprooflog.logic.clause import clause_text
from deepprooflog.logic.program import Predicate, Program
from deepprooflog.markup import Markup

PREDICATES, CLAUSES = 100, 50
UNFOLDED = 20  # clauses on the whole, up to which all are in sight


def program_html(program: Program) -> str:
    """The predicates of a program, and the first clauses of each.

    >>> "<code>0.5 :: heads.</code>" in program_html(Program("0.5 :: heads."))
    True
    """
    return markup.block(*program_parts(program))


def program_parts(program: Program) -> list[Markup]:
    """The same, to stand among other things."""
    found = list(program.predicates.values())
    total = sum(len(one.entries) for one in found)
    head = f"{program.file}: {len(found):,} predicates, {total:,} clauses"
    rows = [_predicate(program, one, total <= UNFOLDED) for one in found[:PREDICATES]]
    parts = [markup.line(head), *rows]
    if len(found) > PREDICATES:
        parts.append(markup.line(f"… and {len(found) - PREDICATES:,} more predicates"))
    return parts


def _predicate(program: Program, predicate: Predicate, unfolded: bool) -> Markup:
    count = len(predicate.entries)
    summary = f"{predicate.functor}, {predicate.kind.value}, {count:,} clause{'s' * (count != 1)}"
    some = islice(predicate.entries, CLAUSES)
    lines = [markup.code(clause_text(clause, program.operators)) for clause in some]
    if count > CLAUSES:
        lines.append(markup.text(f"… and {count - CLAUSES:,} more"))
    return markup.fold(summary, Markup("<br>".join(lines)), unfolded=unfolded)
