"""Cut as committed choice, guards that must be deterministic, control opened into steps."""

from __future__ import annotations

import pytest

import deepprooflog as dpl
from deepprooflog import Program, ProgramError, PrologError
from logic.stepping import rows

# -- cut -------------------------------------------------------------------------------------------

SIGN = """\
sign(X, minus) :- X < 0, !.
sign(0, zero) :- !, note.
sign(_, plus).
note.
"""


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("sign(-1, S)", ["true | S = minus | scorer | 1"]),
        ("sign(0, S)", ["note | S = zero | scorer | 2"]),
        ("sign(1, S)", ["true | S = plus | scorer | 3"]),
        # The head decides first: as in Prolog, a bound second argument gets past the cut.
        ("sign(-1, plus)", ["true | - | scorer | 3"]),
    ],
)
def test_cut_is_committed_choice(query: str, expected: list[str]) -> None:
    assert rows(SIGN, query) == expected


def test_clauses_before_the_cut_are_alternatives() -> None:
    program = "p(1).\np(2) :- q.\np(3) :- !.\np(4).\nq."
    assert rows(program, "p(X)") == [
        "true | X = 1 | scorer | 1",
        "q | X = 2 | scorer | 2",
        "true | X = 3 | scorer | 3",
    ]


def test_the_part_before_a_cut_gives_its_first_solution_only() -> None:
    program = "p(X, Y) :- member(X, [a, b]), member(Y, [1, 2]), !, q(X, Y).\nq(_, _)."
    assert rows(program, "p(X, Y)") == ["q(a,1) | X = a, Y = 1 | scorer | 1"]
    assert rows(program, "p(b, Y)") == ["q(b,1) | Y = 1 | scorer | 1"]


def test_what_follows_a_cut_stays_in_the_goal_and_a_second_cut_is_once() -> None:
    program = "p(X, Y) :- !, q(X), !, q(Y).\nq(1). q(2)."
    assert rows(program, "p(X, Y)") == ["once(q(A)), q(B) | X = A, Y = B | scorer | 1"]
    assert [a["X"] + a["Y"] for a in dpl.solve(Program(program), "p(X, Y)")] == ["11", "12"]
    assert dpl.answers(Program(program), "p(X, Y)") == {"p(1,1)": 1.0, "p(1,2)": 1.0}


def test_a_labelled_predicate_may_follow_a_cut() -> None:
    program = Program("p(X) :- X > 0, !, coin(H).\np(_).\n0.3 :: coin(h). 0.7 :: coin(t).")
    assert dpl.prob(program, "p(1)") == 1.0
    assert dpl.answers(program, "p(1), coin(C)") == {"p(1), coin(t)": 0.7, "p(1), coin(h)": 0.3}


def test_a_labelled_predicate_may_not_stand_before_a_cut() -> None:
    program = Program("p :- coin(h), !.\n0.3 :: coin(h).")
    with pytest.raises(ProgramError, match=r"coin/1 is labelled or neural and is reached inside !"):
        dpl.prob(program, "p")


@pytest.mark.parametrize(
    "clause", ["0.5 :: p :- q, !.", "t(_) :: p :- !.", "0.5 :: p :- (q -> ! ; r).",
               "nn(net, [X], D, 0..1) :: p(X, D) :- !."]
)  # fmt: skip
def test_a_cut_in_a_labelled_predicate_is_an_error(clause: str) -> None:
    with pytest.raises(ProgramError, match="a cut in the labelled predicate p/") as caught:
        Program(f"q. r.\n{clause}")
    assert (caught.value.line, caught.value.column) == (2, 1)


def test_a_cut_inside_control_cuts_the_clause() -> None:
    """As in SWI-Prolog: `!` in a branch commits the clause around it."""
    program = "p(X) :- (X = 1 ; X = 2, ! ; X = 3).\np(4)."
    assert [a["X"] for a in dpl.solve(Program(program), "p(X)")] == ["1", "2"]
    assert rows(program, "p(X)") == ["true | X = 1 | one | -", "true | X = 2 | one | -"]


def test_a_cut_inside_control_that_reaches_a_choice_is_refused() -> None:
    program = Program("p :- (coin(h), ! ; true).\n0.3 :: coin(h).")
    with pytest.raises(ProgramError, match="p/0 has a cut inside a control construct"):
        dpl.prob(program, "p")


def test_a_cut_in_a_query_commits_it() -> None:
    program = Program("p(1). p(2). q(1). q(2). 0.5 :: coin.")
    assert rows(program, "p(X), !, q(Y)") == ["q(A) | X = 1, Y = A | one | -"]
    assert rows(program, "(p(X), ! ; p(X))") == ["true | X = 1 | one | -"]
    with pytest.raises(ProgramError, match="coin/0 is labelled or neural"):
        rows(program, "coin, !")
    with pytest.raises(ProgramError, match="coin/0 is labelled or neural"):
        rows(program, "(coin, ! ; p(_))")


# -- guards ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("goal", "guard"),
    [
        (r"\+ coin(h)", r"\\\+"),
        ("findall(X, coin(X), L)", "findall"),
        ("forall(coin(X), X = h)", "forall"),
        ("once(coin(X))", "once"),
        ("ignore(coin(X))", "ignore"),
        ("(coin(X) -> true ; fail)", "->"),
        ("(coin(X) -> true)", "->"),
        ("(coin(X) *-> true ; fail)", r"\*->"),
        ("aggregate_all(count, coin(_), N)", "aggregate_all"),
        ("bagof(X, coin(X), L)", "bagof"),
        ("setof(X, coin(X), L)", "setof"),
        ("catch(coin(X), _, true)", "catch"),
        (r"\+ toss(h)", r"\\\+"),
        ("once((coin(X), X = h))", "once"),
    ],
)
def test_a_random_choice_inside_a_guard_is_an_error_that_says_why(goal: str, guard: str) -> None:
    program = Program(f"0.4 :: coin(h). 0.6 :: coin(t). toss(X) :- coin(X).\np :- {goal}.")
    message = rf"coin/1 is labelled or neural and is reached inside {guard}.*must be deterministic"
    with pytest.raises(ProgramError, match=message) as caught:
        dpl.prob(program, "p")
    assert caught.value.line == (1 if "toss" in goal else 2)
    assert "in the body itself" in (caught.value.hint or "")


def test_a_neural_predicate_inside_a_guard_is_an_error() -> None:
    program = Program("nn(net, [X], D, 0..1) :: d(X, D).\np(X) :- \\+ d(X, 1).")
    with pytest.raises(ProgramError, match=r"d/2 is labelled or neural .* inside \\\+"):
        rows(program, r"\+ d(a, 1)")


def test_a_guard_may_test_what_a_choice_gave() -> None:
    program = Program("0.4 :: coin(h). 0.6 :: coin(t). p :- coin(X), \\+ X = h.")
    assert dpl.prob(program, "p") == 0.6


# -- control opened into steps where it leads to a random choice -----------------------------------

COIN = "0.4 :: coin(h). 0.6 :: coin(t). two(X, Y) :- coin(X), coin(Y). sure(h).\n"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("(coin(X) ; sure(X))", ["coin(A) | X = A | one | -", "sure(A) | X = A | one | -"]),
        ("call(coin, X)", ["coin(A) | X = A | one | -"]),
        ("call(two(h), X), q", ["two(h,A), q | X = A | one | -"]),
        ("call((coin(X), sure(X)))", ["coin(A), sure(A) | X = A | one | -"]),
        ("(sure(X) -> coin(X) ; coin(Y))", ["coin(h) | X = h, Y = A | one | -"]),
        ("(fail -> coin(X) ; coin(Y))", ["coin(A) | X = B, Y = A | one | -"]),
        ("(member(X, [a, b]) *-> coin(Y) ; true)",
         ["coin(A) | X = a, Y = A | one | -", "coin(A) | X = b, Y = A | one | -"]),
        ("(fail -> coin(X))", []),
    ],
)  # fmt: skip
def test_control_around_a_choice_becomes_steps_of_weight_one(
    query: str, expected: list[str]
) -> None:
    assert rows(COIN, query) == expected


@pytest.mark.parametrize(
    ("query", "probability"),
    [
        ("maplist(coin, [h, t, t])", 0.4 * 0.6 * 0.6),
        ("maplist(two, [h, t], [t, h])", (0.4 * 0.6) ** 2),
        ("foldl(pay, [1, 2], 0, S)", 1.0),
        ("foldl(pay, [1, 2], 0, 2)", 0.6 * 0.4),
        ("call(call, coin, h)", 0.4),
        ("(coin(h), coin(t) ; coin(t), coin(h))", 0.48),
        ("(sure(h) -> coin(h) ; coin(t))", 0.4),
        ("phrase(word, [a, b])", 0.4),
    ],
)
def test_library_predicates_over_choices(query: str, probability: float) -> None:
    program = COIN + (
        "pay(N, A, B) :- coin(X), (X = h -> B is A + N ; B = A).\n"
        "0.4 :: word --> [a], [b].\n0.6 :: word --> [a].\n"
    )
    assert dpl.prob(Program(program), query) == pytest.approx(probability, rel=1e-12)


def test_calling_what_is_not_bound_is_an_instantiation_error() -> None:
    with pytest.raises(PrologError, match="instantiation_error") as caught:
        dpl.prob(Program("p(X) :- q.\nq :- r(_).\nr(X) :- X."), "p(1)")
    assert caught.value.line == 3


def test_calling_what_is_no_goal_is_a_type_error() -> None:
    with pytest.raises(PrologError, match=r"type_error\(callable,\s*3\)") as caught:
        dpl.prob(Program("p(X) :- call(X)."), "p(3)")
    assert caught.value.line == 1


def test_a_cut_in_what_a_variable_is_bound_to_is_its_own() -> None:
    """As in SWI-Prolog, where a variable in a body is called: both answers."""
    program = Program("either(A, B) :- (A ; B).")
    assert [a["X"] for a in dpl.solve(program, "either((X = 1, !), X = 2)")] == ["1", "2"]
    assert [r.split(" | ")[1] for r in rows(program, "either((X = 1, !), X = 2)")] == ["X = A"]
    assert len(dpl.answers(program, "either((X = 1, !), X = 2)")) == 2


# -- where an error lies ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    ["Y is X + foo", "q(X), Y is X + foo", "q(X), (q(X) ; fail), X > a", "undefined(X)",
     "coin(_), (coin(_), atom_length(Z, N) ; fail)"],
)  # fmt: skip
def test_errors_carry_the_line_of_the_clause_they_happened_in(body: str) -> None:
    program = Program(f"{COIN}p(X) :- r(X), q(X).\nq(_).\nr(X) :-\n  {body}.")
    with pytest.raises(PrologError) as caught:
        dpl.prob(program, "p(1)")
    assert caught.value.line == 4
    assert caught.value.file == "<text>"
