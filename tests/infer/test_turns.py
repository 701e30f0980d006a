"""Searches that are interrupted and go on: the same graph and the same tables as in one go."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deepprooflog as dpl
from deepprooflog.graph.explore import Exploration, explore
from deepprooflog.infer.method import write_down
from deepprooflog.infer.tables.polynomial import solve
from deepprooflog.infer.tables.tabled import Tabulation, tabulate
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.resolve import start
from deepprooflog.score.fixed import fixed_weights
from programs.labelled import Labelled, chain_values, chains, layered
from programs.stochastic import SlpCase, slp_cases

GRAMMAR = (
    "0.4 :: s --> s, s. 0.3 :: s --> [a]. 0.2 :: s --> t, [b]. 0.5 :: t --> s. 0.5 :: t --> [b]."
)


def root(program: dpl.Program, query: str) -> tuple[Goal, Interner]:
    interner = Interner()
    return start(program.query(query).atoms, interner), interner


@settings(max_examples=15, deadline=None)
@given(case=slp_cases(), turn=st.integers(1, 40))
def test_an_interrupted_exploration_is_the_same(case: SlpCase, turn: int) -> None:
    program = dpl.Program(case.text)
    for name, args in case.queries:
        goal, interner = root(program, f"{name}({', '.join(args)})")
        search = Exploration(program, [goal], interner)
        work = 0
        while not search.ended:
            work += turn
            search.advance(work)
        whole = explore(program, [goal], interner)
        graph = search.graph()
        assert graph.goals == whole.goals
        assert graph.source.tolist() == whole.source.tolist()
        assert graph.target.tolist() == whole.target.tolist()
        assert graph.complete


@settings(max_examples=15, deadline=None)
@given(case=slp_cases(), turn=st.integers(1, 40))
def test_interrupted_tables_are_the_same(case: SlpCase, turn: int) -> None:
    program = dpl.Program(case.text)
    for name, args in case.queries:
        goal, interner = root(program, f"{name}({', '.join(args)})")
        search = Tabulation(program, goal, interner)
        work = 0
        while not search.complete:
            work += turn
            search.advance(work)
        whole = tabulate(program, goal, interner)
        assert search.tabled().answers == whole.answers
        assert search.system.target == whole.system.target
        assert search.system.left == whole.system.left
        assert search.system.right == whole.system.right


@settings(max_examples=25, deadline=None)
@given(program=st.one_of(chains(), layered()), first=st.sampled_from([1, 10, 100]))
def test_whoever_wins_the_value_is_one(program: Labelled, first: int) -> None:
    """However short the first turn, hence whichever method is complete first."""
    read = dpl.Program(program.text)
    goal, interner = root(read, "p0")
    weigh = fixed_weights(read)
    written = write_down(read, goal, interner, first=first)
    assert written.complete
    graph = dpl.prob(read, "p0", method="graph")
    if written.table is not None:
        log = solve(written.table.system, weigh(written.table.calls, written.table.system.choices))
        value = sum(float(log[u]) for u in written.table.answers.values())
        assert dpl.prob(read, "p0", method="tabled") == pytest.approx(graph, rel=1e-9)
        if graph > 0:
            assert value == pytest.approx(dpl.success(read, "p0").log_lower, rel=1e-9, abs=1e-9)
    else:
        assert written.graph is not None
        assert written.graph.complete


@settings(max_examples=15, deadline=None)
@given(program=chains())
def test_chains_have_the_value_of_their_linear_system(program: Labelled) -> None:
    read = dpl.Program(program.text)
    wanted = float(chain_values(program)[0])
    for method in ("auto", "graph", "tabled"):
        assert dpl.prob(read, "p0", method=method) == pytest.approx(wanted, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("first", [1, 10, 100, 1000])
def test_a_first_turn_of_any_length(first: int) -> None:
    """a: .3; ab: s → t b, t → s; a a: s s."""
    program = dpl.Program(GRAMMAR)
    for query, value in (("s([a], [])", 0.3), ("s([a,b], [])", 0.2 * 0.5 * 0.3),
                         ("s([a,a], [])", 0.4 * 0.3**2)):  # fmt: skip
        goal, interner = root(program, query)
        written = write_down(program, goal, interner, first=first)
        assert written.method == "tabled"
        table = written.table
        assert table is not None
        log = solve(table.system, fixed_weights(program)(table.calls, table.system.choices))
        assert float(log[next(iter(table.answers.values()))]) == pytest.approx(
            dpl.success(program, query).log_lower
        )
        assert dpl.prob(program, query) == pytest.approx(value, rel=1e-9)
