"""The plain depth-first solver: SLD resolution in source order, as Prolog runs a program.

It answers `solve`, runs the guards of stochastic derivations, and runs builtins one solution at a
time. Labels are ignored (a labelled clause is a clause) and a neural predicate takes each value of
its domain in turn, unless `guard` says that a random choice may not be reached.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TextIO

from deepprooflog.logic.limits.budget import Budget, BudgetExceeded, Spending
from deepprooflog.logic.solver.link import ClauseStore, code_for, unknown_predicate
from deepprooflog.logic.solver.machine import Machine
from deepprooflog.syntax.terms import Term

__all__ = ["Budget", "BudgetExceeded", "Solver", "Spending", "unknown_predicate"]


class Solver:
    """Solves goals against a program.

    `guard` is the text of the construct the goal stands in, e.g. `\\+`; reaching a labelled or
    neural predicate is then an error that names it. `compiled=False` interprets every clause.
    A `Spending` as budget is shared by all searches it is given to.

    >>> from deepprooflog.logic.program import Program
    >>> from deepprooflog.syntax.terms import Functor, Struct, Var
    >>> x = Var("X")
    >>> goal = Struct(Functor("p", 1), (x,))
    >>> [x.ref for _ in Solver(Program("p(1). p(2).")).run(goal)]
    [1, 2]
    """

    def __init__(
        self,
        program: ClauseStore,
        *,
        occurs_check: bool = False,
        guard: str | None = None,
        budget: Budget | Spending | None = None,
        output: TextIO | None = None,
        compiled: bool = True,
    ) -> None:
        self.program = program
        self.guard = guard
        self.budget = budget
        self.output = output
        self._code = code_for(
            program, guarded=guard is not None, compiled=compiled, occurs_check=occurs_check
        )

    def run(self, goal: Term) -> Generator[bool, None, None]:
        """Each `next` leaves the bindings of one solution in place; resuming backtracks.

        It gives True with a solution that is known to be the last: no choice is left open.
        When the generator is exhausted or closed all bindings are undone.
        """
        budget = self.budget
        spending = budget if isinstance(budget, Spending) else Spending(budget)
        machine = Machine(self._code, spending, self.guard, self.output)
        yield from machine.solutions(goal)
