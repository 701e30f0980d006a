"""The solver as its callers use it: bindings, closing, guards, budgets, errors and their places."""

from __future__ import annotations

import gc
import io
import weakref

import pytest

from deepprooflog.errors import ProgramError, PrologError
from deepprooflog.logic.builtins import CONTROL, PROTECTED, is_builtin, library_clauses
from deepprooflog.logic.program import Program
from deepprooflog.logic.solver.solver import Budget, BudgetExceeded, Solver, Spending
from deepprooflog.syntax.reader import ReadTerm, read_term
from deepprooflog.syntax.terms import Functor, Term, Var
from deepprooflog.syntax.writer import write_term

both = pytest.mark.parametrize("compiled", [False, True], ids=["interpreted", "compiled"])


def query(text: str) -> ReadTerm:
    return read_term(text, end_optional=True)


def answers(program: str, goal: str, variable: str = "X", **options: bool) -> list[str]:
    read = query(goal)
    solver = Solver(Program(program), **options)  # type: ignore[arg-type]
    return [write_term(read.variables[variable]) for _ in solver.run(read.term)]


@both
def test_closing_undoes_all_bindings(compiled: bool) -> None:
    read = query("member(X, [1, 2]), Y = f(X, Z)")
    run = Solver(Program(""), compiled=compiled).run(read.term)
    next(run)
    assert read.variables["X"].ref is not None
    run.close()
    assert [v.ref for v in read.variables.values()] == [None, None, None]


@both
def test_exhausting_undoes_all_bindings(compiled: bool) -> None:
    read = query("member(X, [1, 2])")
    assert len(list(Solver(Program(""), compiled=compiled).run(read.term))) == 2
    assert read.variables["X"].ref is None


@both
def test_an_error_undoes_all_bindings(compiled: bool) -> None:
    read = query("X = 1, Y is X + a")
    with pytest.raises(PrologError):
        next(Solver(Program(""), compiled=compiled).run(read.term))
    assert read.variables["X"].ref is None


def test_searches_interleave() -> None:
    program = Program("p(1). p(2). p(3). q(X) :- p(X), X > 1.")
    solver = Solver(program)
    first, second = query("p(X)"), query("q(Y)")
    one, two = solver.run(first.term), solver.run(second.term)
    seen: list[tuple[object, object]] = []
    for _ in range(2):
        next(one)
        next(two)
        seen.append((_value(first, "X"), _value(second, "Y")))
    assert seen == [(1, 2), (2, 3)]


def _value(read: ReadTerm, name: str) -> Term | None:
    return read.variables[name].ref


def test_a_program_is_forgotten_with_its_code() -> None:
    program = Program("p(1).")
    list(Solver(program).run(query("p(X)").term))
    ghost = weakref.ref(program)
    del program
    gc.collect()
    assert ghost() is None


def test_a_view_without_a_fact_has_its_own_answers() -> None:
    program = Program("p(a). p(b).")
    view = program.without(query("p(a)").term)  # type: ignore[arg-type]
    for solved, expected in ((program, ["a", "b"]), (view, ["b"])):
        read = query("p(X)")
        run = Solver(solved).run(read.term)
        assert [write_term(read.variables["X"]) for _ in run] == expected


def test_own_clauses_override_the_library_but_not_for_the_library() -> None:
    program = "append(_, _, mine). memberchk(_, _) :- fail."
    assert answers(program, "append([1], [2], X)") == ["mine"]
    assert answers(program, "subtract([1, 2], [2], X)") == ["[1]"]
    assert answers("succ(X, y(X)).", "maplist(succ, [1], X)") == ["[y(1)]"]


@both
def test_labels_are_ignored_and_domains_enumerated(compiled: bool) -> None:
    program = "0.3 :: p(a). 0.7 :: p(b). nn(net, [I], D, [x, y]) :: d(I, D)."
    goal = "p(A), d(image, B), X = A-B"
    assert answers(program, goal, compiled=compiled) == ["a-x", "a-y", "b-x", "b-y"]
    assert answers(program, "d(image, y), X = yes", compiled=compiled) == ["yes"]


@both
def test_occurs_check(compiled: bool) -> None:
    program = "p(Y, f(Y))."
    assert answers(program, "p(X, X)", compiled=compiled, occurs_check=True) == []
    assert answers(program, "X = f(X)", compiled=compiled, occurs_check=True) == []


@both
@pytest.mark.parametrize("goal", ["t(X)", "forall(member(X, [1]), t(X))", "call(p, X)"])
def test_a_guard_refuses_random_choices(goal: str, compiled: bool) -> None:
    program = Program("0.5 :: p(1).\n\nt(X) :- true,\n  p(X).", file="f.pl")
    with pytest.raises(ProgramError, match=r"p/1 .* inside \\\+: .*random choice") as caught:
        list(Solver(program, guard="\\+", compiled=compiled).run(query(goal).term))
    if "t(" in goal:
        assert (caught.value.file, caught.value.line) == ("f.pl", 3)


def test_a_budget_of_steps_and_of_seconds() -> None:
    program = Program("loop :- loop. count(N) :- M is N + 1, count(M). q(1). q(2).")
    for goal in ("loop", "count(0)", "repeat, fail"):
        with pytest.raises(BudgetExceeded, match="10,000 steps") as caught:
            list(Solver(program, budget=Budget(max_steps=10_000)).run(query(goal).term))
        assert caught.value.hint is not None
        assert "max_steps" in caught.value.hint
    with pytest.raises(BudgetExceeded, match="max_seconds"):
        list(Solver(program, budget=Budget(max_seconds=0.05)).run(query("loop").term))
    assert len(list(Solver(program, budget=Budget(max_steps=50)).run(query("q(X)").term))) == 2


def test_a_spending_is_shared() -> None:
    spending = Spending(Budget(max_steps=100))
    solver = Solver(Program("p(1). p(2)."), budget=spending)
    counts: list[int] = []
    with pytest.raises(BudgetExceeded):
        counts.extend(len(list(solver.run(query("p(X)").term))) for _ in range(100))
    assert spending.steps == 100


ERRORS = [
    ("a.\n\np(X) :-\n  X is foo + 1.", "p(X)", 3, "'foo' is not a function in  X is foo+1"),
    ("p(X) :- q(X), Y is X + Z, r(Y).\nq(b).", "p(X)", 1, "'b' is not a function in  Y is b+Z"),
    ("p(X) :- ( X = a, X > 1 -> true ; true ).", "p(X)", 1, "'a' is not a function in  a>1"),
    ("q.\np(X) :- findall(Y, (member(Y, [1]), X is Y + a), _).", "p(X)", 2, "in  X is 1+a"),
    ("q.\np(X) :- atom_length(X, N).", "p(X)", 2, "instantiation_error: .* in  atom_length(X,N)"),
    ("p :- call((true, 1)).", "p", 1, "'true,1' is not a goal in  call((true,1))"),
    ("p :- throw(my(ball)).", "p", 1, "uncaught exception: my(ball)"),
    ("p :- assertz(q).", "p", 1, "a program is immutable"),
    ("p :- halt.", "p", 1, "cannot end the process"),
    ("q.\np(X) :- q(X).", "p(1)", 2, "no clause defines q/1 in  q(1)"),
    ("q.\np(X) :- maplist(r, [X]).", "p(1)", 2, "no clause defines r/1 in  r(1)"),
]


@both
@pytest.mark.parametrize(("program", "goal", "line", "message"), ERRORS)
def test_errors_name_goal_and_line(
    program: str, goal: str, line: int, message: str, compiled: bool
) -> None:
    loaded = Program(program, file="f.pl")
    for _ in range(4):
        with pytest.raises(PrologError) as caught:
            list(Solver(loaded, compiled=compiled).run(query(goal).term))
        assert (caught.value.file, caught.value.line) == ("f.pl", line)
        *parts, last = message.split(".*")
        assert all(part in str(caught.value) for part in [*parts, last])


@pytest.mark.parametrize(
    ("program", "goal", "hint"),
    [
        ("parent(a, b).", "parent(X)", "parent/2"),
        ("parent(a, b).", "parnet(X, Y)", "parent/2"),
        ("", "lenght(X, Y)", "length/2"),
        ("", "append(X)", "append/2 or append/3"),
    ],
)
def test_unknown_predicates_are_guessed(program: str, goal: str, hint: str) -> None:
    with pytest.raises(ProgramError) as caught:
        list(Solver(Program(program)).run(query(goal).term))
    assert caught.value.hint == f"did you mean {hint}?"
    assert isinstance(caught.value, PrologError)


def test_error_terms_are_iso() -> None:
    read = query("catch(atom_length(X, Y), E, true)")
    next(run := Solver(Program("")).run(read.term))
    expected = "error(instantiation_error,context(atom_length/2,_G1))"
    assert write_term(read.variables["E"]) == expected
    run.close()


def test_a_thrown_term_is_not_completed() -> None:
    read = query("catch(throw(error(foo, C)), error(foo, D), true)")
    for _ in Solver(Program("")).run(read.term):
        assert type(read.variables["D"].ref) in (Var, type(None))


def test_output_goes_where_it_is_sent() -> None:
    out = io.StringIO()
    goal = (
        "X = f('A b', [1, 'B'|T], \"s\", {x}, 1 + 2), write(X), nl, writeq(g('A b', 'B')), tab(2),"
        " print(a - 'B'), put_char(c), write_canonical([a, 1 + 'B']), writeln(done),"
        " write_term(f('A', 1 + 2), [quoted(true), ignore_ops(true)])"
    )
    assert len(list(Solver(Program(""), output=out).run(query(goal).term))) == 1
    assert out.getvalue() == (
        "f(A b,[1,B|T],s,{x},1+2)\ng('A b','B')  a-'B'c'.'(a,'.'(+(1,'B'),[]))done\nf('A',+(1,2))"
    )


def test_operators_change_for_one_search_only() -> None:
    program = Program("")
    out = io.StringIO()
    goal = "op(700, xfx, ===>), writeq('===>'(a, b)), current_op(P, T, ===>), writeq(P-T)"
    assert len(list(Solver(program, output=out).run(query(goal).term))) == 1
    assert out.getvalue() == "a===>b700-xfx"
    assert list(Solver(program).run(query("current_op(_, _, ===>)").term)) == []


def test_what_the_system_defines() -> None:
    assert Functor(";", 2) in CONTROL
    assert Functor("findall", 3) in CONTROL
    assert Functor("is", 2) not in CONTROL
    assert {Functor("is", 2), Functor(",", 2), Functor("=", 2)} <= PROTECTED
    assert Functor("append", 3) not in PROTECTED
    assert Functor("length", 2) not in PROTECTED
    assert is_builtin(Functor("foldl", 6))
    assert not is_builtin(Functor("foo", 2))
    assert library_clauses(Functor("foo", 2)) is None
    maplist = library_clauses(Functor("maplist", 3))
    assert maplist is not None
    assert [c.functor for c in maplist] == [Functor("maplist", 3)]
