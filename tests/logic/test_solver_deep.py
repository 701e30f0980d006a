"""Long lists, deep terms and long loops: no recursion limit, no leak of choices or bindings."""

from __future__ import annotations

import pytest

from deepprooflog.logic.limits.budget import Spending
from deepprooflog.logic.program import Program
from deepprooflog.logic.solver.link import code_for
from deepprooflog.logic.solver.machine import Machine
from deepprooflog.logic.solver.solver import Solver
from deepprooflog.syntax.reader import read_term
from deepprooflog.syntax.writer import write_term

both = pytest.mark.parametrize("compiled", [False, True], ids=["interpreted", "compiled"])

PROGRAM = """
app([], L, L).
app([H|T], L, [H|R]) :- app(T, L, R).
len([], 0).
len([_|T], N) :- len(T, M), N is M + 1.
total([], S, S).
total([X|T], A, S) :- B is A + X, total(T, B, S).
s(0, z) :- !.
s(N, s(T)) :- M is N - 1, s(M, T).
peel(z, 0).
peel(s(T), N) :- peel(T, M), N is M + 1.
count(0) :- !.
count(N) :- M is N - 1, count(M).
slow(0) :- !.
slow(N) :- plus(M, 1, N), X = f(M), X = f(K), slow(K).
win(0) :- !, fail.
win(N) :- M is N - 1, \\+ win(M).
each(0) :- !.
each(N) :- findall(X, member(X, [1, 2]), L), L = [_, _], M is N - 1, each(M).
catcher(0) :- !.
catcher(N) :- catch(true, _, true), M is N - 1, catcher(M).
"""


def first(goal: str, variable: str, compiled: bool) -> str:
    read = read_term(goal, end_optional=True)
    run = Solver(Program(PROGRAM), compiled=compiled).run(read.term)
    next(run)
    text = write_term(read.variables[variable])
    run.close()
    return text


@both
@pytest.mark.parametrize(
    ("goal", "value"),
    [
        ("numlist(1, 30000, L), app(L, [x], M), len(M, X)", "30001"),
        ("numlist(1, 30000, L), append(L, L, M), length(M, X)", "60000"),
        ("numlist(1, 30000, L), reverse(L, [X|_])", "30000"),
        ("numlist(1, 30000, L), total(L, 0, X)", "450015000"),
        ("numlist(1, 30000, L), maplist(succ, L, M), last(M, X)", "30001"),
        ("numlist(1, 30000, L), foldl(plus, L, 0, X)", "450015000"),
        ("numlist(1, 30000, L), msort(L, M), M == L, nth1(30000, M, X)", "30000"),
        ("length(L, 30000), maplist(=(a), L), sort(L, X)", "[a]"),
        ("s(30000, T), copy_term(T, U), T == U, peel(U, X)", "30000"),
        ("s(30000, T), findall(T, true, [U]), T = U, ground(U), X = yes", "yes"),
        ("win(3001), X = yes", "yes"),
        ("each(3000), X = yes", "yes"),
    ],
)
def test_deep(goal: str, value: str, compiled: bool) -> None:
    assert first(goal, "X", compiled) == value


def test_deep_expression() -> None:
    goal = "numlist(1, 30000, L), foldl(plus_term, L, 0, E), X is E"
    read = read_term(goal, end_optional=True)
    run = Solver(Program("plus_term(X, E, E + X).")).run(read.term)
    next(run)
    assert read.variables["X"].ref == 450015000
    run.close()


@pytest.mark.parametrize("goal", ["count(300000)", "slow(100000)", "catcher(100000)"])
def test_a_long_loop_keeps_nothing(goal: str) -> None:
    program = Program(PROGRAM)
    code = code_for(program, guarded=False, compiled=True, occurs_check=False)
    machine = Machine(code, Spending(None), None, None)
    run = machine.solutions(read_term(goal, end_optional=True).term)
    next(run)
    assert machine.choices == []
    assert len(machine.trail) < 2 * Machine.TIDY
    run.close()  # type: ignore[attr-defined]
