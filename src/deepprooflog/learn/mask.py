"""Masks by logic: a program says which values of a choice are valid, and its answers are kept.

The plain solver runs the program, `findall` and all. A mask depends on few values, so that a data
set asks for few masks however long it is.
"""

from __future__ import annotations

from deepprooflog.errors import ProgramError
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import goal
from deepprooflog.logic.solver.solver import Solver
from deepprooflog.syntax.terms import Term, deref, iter_list

MaskKey = tuple[object, ...]


class LogicMask:
    """The lists that a predicate of a program gives in its last argument, each computed once.

    >>> even = Program("even(Max, M) :- findall(F, (between(0, Max, D), F is 1 - D mod 2), M).")
    >>> mask = LogicMask(even, "even")
    >>> mask(4), mask(4), mask.computed
    ((1, 0, 1, 0, 1), (1, 0, 1, 0, 1), 1)
    """

    def __init__(self, program: Program, predicate: str) -> None:
        self.program = program
        self.predicate = predicate
        self._known: dict[MaskKey, tuple[object, ...]] = {}

    @property
    def computed(self) -> int:
        """How many different masks were asked for."""
        return len(self._known)

    def __call__(self, *values: object) -> tuple[object, ...]:
        """The list that the predicate answers for these values; lists may be given as tuples."""
        found = self._known.get(values)
        if found is None:
            found = self._known[values] = self._solve(values)
        return found

    def _solve(self, values: MaskKey) -> tuple[object, ...]:
        names = [f"A{i}" for i in range(len(values))]
        text = f"{self.predicate}({', '.join([*names, 'Mask'])})"
        query = goal(text, **dict(zip(names, values, strict=True)))
        answer = query.variables["Mask"]
        solver = Solver(self.program, occurs_check=self.program.occurs_check)
        for _ in solver.run(query.atoms[0]):
            return tuple(map(_value, iter_list(answer)))
        raise ProgramError(f"{query} has no answer", hint="a mask is a list for every choice")


def _value(term: Term) -> object:
    """A term of a mask as a Python value: an integer, or a list of them as a tuple."""
    inner = deref(term)
    return inner if isinstance(inner, int) else tuple(map(deref, iter_list(inner)))
