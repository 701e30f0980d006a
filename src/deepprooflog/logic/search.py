"""The answers of a query in plain SLD order, one by one, each with whether it is the last."""

from __future__ import annotations

import time
import warnings
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace

from deepprooflog.errors import Notice
from deepprooflog.logic.answers import bindings_text
from deepprooflog.logic.body import conjunction
from deepprooflog.logic.limits.budget import Budget, Spending
from deepprooflog.logic.limits.watch import resident, watched
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.logic.solver.solver import Solver
from deepprooflog.syntax.terms import variables


@dataclass(frozen=True)
class PlainAnswer:
    """One answer: what the query's variables are, as Prolog text.

    `last` says that no choice is left open, so that there are no further answers; where it is
    False there may be none either.
    """

    bindings: Mapping[str, str] = field(hash=False)
    last: bool


def search(
    program: Program, query: str | Query, budget: Budget | None = None
) -> Generator[PlainAnswer, None, None]:
    """The answers in plain SLD order, labels ignored.

    Of the budget's seconds only those count in which an answer is searched for. A warning says
    where the query reaches a predicate with a `table` directive: here there are no tables.

    >>> [(one.bindings["X"], one.last) for one in search(Program("p(a). p(b)."), "p(X)")]
    [('a', False), ('b', True)]
    """
    limits = budget or Budget()
    spending = Spending(limits)
    since = resident() if limits.max_memory is not None else None
    began = time.monotonic()
    with watched(limits, since):
        parsed = program.query(query)
        _say_untabled(program, parsed)
        solver = Solver(program, occurs_check=program.occurs_check, budget=spending)
        found = solver.run(conjunction(parsed.atoms))
        open_ = variables(*parsed.atoms)
    left = None if limits.max_seconds is None else limits.max_seconds - time.monotonic() + began
    try:
        while True:
            began = time.monotonic()
            # A budget whose clock was started elsewhere has its own deadline.
            if left is not None and limits.deadline is None:
                spending.resume(began + left)
                watch = watched(replace(limits, deadline=began + left), since)
            else:
                watch = watched(limits, since)
            with watch:
                solution = None
                for last in found:
                    solution = PlainAnswer(bindings_text(parsed, program), last)
                    break
            if solution is None:
                return
            if left is not None:
                left -= time.monotonic() - began
            yield solution
    finally:
        # However the search was ended, the query's own variables are free again.
        found.close()
        for var in open_:
            var.ref = None


def _say_untabled(program: Program, query: Query) -> None:
    untabled = program.table_below(query.atoms)
    if untabled is not None:
        place = program.tabled[untabled]
        warnings.warn(
            f"{place.file}:{place.line}: solve has no tables: it takes {untabled} as it is written",
            Notice,
            stacklevel=4,
        )
