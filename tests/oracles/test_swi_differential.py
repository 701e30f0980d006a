"""Random programs in SWI-Prolog and in `dpl.solve`: the same answers, in order, and errors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deepprooflog as dpl
from deepprooflog.syntax.terms import Struct
from deepprooflog.syntax.writer import write_term
from oracles.library_calls import library_queries
from oracles.swi import CYCLIC, LIMITED, TOO_LONG, Reply, Swi, normal_form
from programs.cases import Case, Query, Record
from programs.moded import moded_cases
from programs.relations import relational_cases

LIMIT = 25
RANDOM = settings(
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def swi(swipl: str) -> Iterator[Swi]:
    with Swi(swipl) as process:
        yield process


def solve(program: dpl.Program, query: Query) -> Reply:
    """The reply of `dpl.solve`, in the form of the oracle's."""
    answers: list[str] = []
    try:
        for bindings in dpl.solve(program, query.goal):
            values = [str(bindings.get(name, name)) for name in query.variables]
            answers.append(normal_form(f"[{','.join(values)}]"))
            if len(answers) == LIMIT:
                return Reply(tuple(answers), "more")
    except dpl.PrologError as error:
        return Reply(tuple(answers), f"error {normal_form(_formal(error))}")
    return Reply(tuple(answers), "done")


def _formal(error: dpl.PrologError) -> str:
    """The first argument of error(Formal, Context)."""
    term = error.term
    assert isinstance(term, Struct), error
    assert repr(term.functor) == "error/2", error
    return write_term(term.args[0])


class Comparison:
    """Compares cases once each and counts them."""

    def __init__(self, swi: Swi) -> None:
        self.swi = swi
        self.seen: set[tuple[str, str]] = set()
        self.compared = 0
        self.answered = 0

    def check(self, case: Case) -> None:
        """Put every query that was not yet asked to both."""
        self.swi.load(case.program)
        program = dpl.Program(case.program)
        for query in case.queries:
            if (case.program, query.goal) in self.seen:
                continue
            expected = self.swi.query(query.goal, LIMIT)
            if expected.ending in (CYCLIC, LIMITED, TOO_LONG):
                continue
            found = solve(program, query)
            assert found == expected, f"{case.program}\n?- {query.goal}."
            self.seen.add((case.program, query.goal))
            self.compared += 1
            self.answered += bool(expected.answers)


def _run(swi: Swi, cases: st.SearchStrategy[Case], examples: int, record: Record) -> Comparison:
    comparison = Comparison(swi)

    @settings(RANDOM, max_examples=examples)
    @given(cases)
    def compare(case: Case) -> None:
        comparison.check(case)

    compare()
    record("cases", comparison.compared)
    print(f"{comparison.compared} cases compared, {comparison.answered} with answers")
    return comparison


def test_moded_programs(swi: Swi, record_property: Record) -> None:
    """Arithmetic, lists, cut, negation, conditionals, findall, recursion, errors."""
    done = _run(swi, moded_cases(), 400, record_property)
    assert done.compared >= 1000
    assert done.answered >= 400


def test_relational_programs(swi: Swi, record_property: Record) -> None:
    """Open queries, aliased variables, negation and cut on goals that are not ground."""
    done = _run(swi, relational_cases(), 500, record_property)
    assert done.compared >= 800
    assert done.answered >= 300


def test_library_calls(swi: Swi, record_property: Record) -> None:
    """Builtins and library predicates one by one, errors included."""
    cases = st.builds(lambda query: Case("unused.\n", (query,)), library_queries())
    done = _run(swi, cases, 1200, record_property)
    assert done.compared >= 500
    assert done.answered >= 200
