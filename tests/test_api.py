"""The functions on programs: `prob`, `answers`, `bounds`, `solve`, and how they fail."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import islice

import pytest

import deepprooflog as dpl
from deepprooflog import Budget, Inexact, ModelError, Program, ProgramError, PrologError
from deepprooflog.infer.method import Method

CUSSENS = """\
0.4 :: s(X) :- p(X), p(X).
0.6 :: s(X) :- q(X).
0.3 :: p(a).  0.7 :: p(b).
0.2 :: q(a).  0.8 :: q(b).
"""


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("query", "value"), [("s(X)", 0.832), ("s(a)", 0.156), ("s(b)", 0.676)])
def test_a_stochastic_logic_program(query: str, value: float) -> None:
    """A failed unification loses mass: p(a), p(b) proves nothing."""
    program = Program(CUSSENS)
    assert dpl.prob(program, query) == value
    assert dpl.exact_fraction(program, query) == Fraction(str(value))
    assert dpl.bounds(program, query) == pytest.approx((value, value), abs=1e-15)


def test_answers_are_most_probable_first() -> None:
    assert list(dpl.answers(Program(CUSSENS), "s(X)").items()) == [("s(b)", 0.676), ("s(a)", 0.156)]


@pytest.mark.parametrize("method", ["graph", "tabled"])
def test_cycles(method: Method) -> None:
    program = Program("0.5 :: a :- b. 0.5 :: a. 0.5 :: b :- a. 0.5 :: b :- fail.")
    assert dpl.prob(program, "a", method=method) == pytest.approx(2 / 3, abs=1e-12)
    assert dpl.prob(program, "b", method=method) == pytest.approx(1 / 3, abs=1e-12)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.45, 0.7, 0.9])
def test_a_branching_process_dies_out(share: float) -> None:
    program = Program(f"{share} :: p :- p, p. {1 - share} :: p.")
    result = dpl.success(program, "p")
    assert result.method == "tabled"
    assert result.lower == pytest.approx(min(1.0, (1 - share) / share), rel=1e-9)


@pytest.mark.parametrize(("n", "value"), [(1, 0.6), (2, 0.144), (3, 0.06912), (4, 0.041472)])
def test_an_ambiguous_grammar(n: int, value: float) -> None:
    program = Program("0.4 :: s --> s, s. 0.6 :: s --> [a].")
    assert dpl.prob(program, dpl.goal("s(L, [])", L=["a"] * n)) == pytest.approx(value, rel=1e-12)


def test_exclusive_plain_rules_weigh_one() -> None:
    """Blood types as in PRISM: the rules exclude each other, so they need no labels."""
    program = Program(
        "0.5 :: gene(a). 0.2 :: gene(b). 0.3 :: gene(o).\n"
        "type(T) :- gene(X), gene(Y), pheno(X, Y, T).\n"
        "pheno(X, X, X). pheno(a, o, a). pheno(o, a, a). pheno(b, o, b). pheno(o, b, b).\n"
        "pheno(a, b, ab). pheno(b, a, ab)."
    )
    found = dpl.answers(program, "type(T)")
    expected = {"type(a)": 0.55, "type(b)": 0.16, "type(ab)": 0.2, "type(o)": 0.09}
    assert found == pytest.approx(expected)
    assert dpl.prob(program, "type(T)") == pytest.approx(1.0)


def test_what_fails_has_probability_zero() -> None:
    program = Program("0.5 :: p(a). q :- p(b). loop :- loop.")
    assert dpl.prob(program, "q") == 0.0
    assert dpl.prob(program, "loop") == 0.0
    assert dpl.answers(program, "p(b)") == {}
    assert not dpl.provable(program, "q")
    assert not dpl.provable(program, "loop")


def test_provable() -> None:
    program = Program("p :- p. p :- q. 0.5 :: q. 0 :: never.")
    assert dpl.provable(program, "p")
    assert not dpl.provable(program, "never")


# -- answers as Prolog text ------------------------------------------------------------------------


def test_answers_are_prolog_text() -> None:
    program = Program(
        ":- op(700, xfx, ===>).\n"
        "0.1 :: v('New York'). 0.1 :: v([a, 'B', \"c\"]). 0.1 :: v(1 + 2 * 3).\n"
        "0.1 :: v((1 + 2) * 3).\n"
        "0.1 :: v(a ===> b). 0.1 :: v({x}). 0.1 :: v(-(1)). 0.1 :: v(- 1). 0.1 :: v(f(X, Y, X)).\n"
        "0.1 :: v('it''s')."
    )
    assert set(dpl.answers(program, "v(X)")) == {
        "v('New York')", "v([a,'B',\"c\"])", "v(1+2*3)", "v((1+2)*3)", "v(a===>b)", "v({x})",
        "v(- (1))", "v(-1)", "v(f(_0,_1,_0))", r"v('it\'s')",
    }  # fmt: skip


def test_the_text_of_an_answer_is_a_query_with_its_probability() -> None:
    """What `answers` prints can be asked again, and comes to the same under labels."""
    program = Program("0.25 :: v('a b', 1). 0.25 :: v([x|Y], Y). 0.5 :: v(f(-1), 1.0e10).")
    for text, value in dpl.answers(program, "v(X, Y)").items():
        assert dpl.prob(program, text) == value


def test_answers_to_a_conjunction() -> None:
    program = Program("0.5 :: p(1). 0.5 :: p(2). q(X, Y) :- Y is X * X.")
    assert dpl.answers(program, "p(X), q(X, Y)") == {"p(1), q(1,1)": 0.5, "p(2), q(2,4)": 0.5}


def test_solve_gives_bindings_in_prolog_order() -> None:
    program = Program("p(b). p('A'). p(X) :- member(X, [1, f(2)]).")
    assert [a["X"] for a in dpl.solve(program, "p(X)")] == ["b", "'A'", "1", "f(2)"]
    (open_answer,) = dpl.solve(Program("p(f(A, B, A))."), "p(X)")
    assert re.fullmatch(r"f\((_\w+),(_\w+),\1\)", open_answer["X"])
    assert [a["X"] for a in islice(dpl.solve(program, "between(5, inf, X)"), 3)] == ["5", "6", "7"]
    assert list(dpl.solve(program, "p(zzz)")) == []
    assert list(dpl.solve(program, "p(b)")) == [{}]


def test_solve_ignores_labels() -> None:
    assert [a["X"] for a in dpl.solve(Program(CUSSENS), "s(X)")] == ["a", "b", "a", "b"]


# -- failing ---------------------------------------------------------------------------------------


def test_a_weight_above_one_is_an_error_that_names_the_goal() -> None:
    program = Program("p(a). p(b). p(c).")
    with pytest.raises(ProgramError, match=r"p\(_\w+\) has weight 3, more than 1"):
        dpl.prob(program, "p(X)")
    assert dpl.prob(program, "p(a)") == 1.0


def test_a_cycle_that_loses_no_weight_is_an_error_that_names_goal_and_clauses() -> None:
    program = Program("start :- p.\np :- q.\nq :- p.\np.")
    with pytest.raises(ProgramError, match=r"derivations of [pq] .*\(clauses at lines 2, 3\)"):
        dpl.prob(program, "start")


def test_a_cycle_whose_weight_reaches_one_only_together() -> None:
    """0.5 + 0.5 back to itself: spectral radius 1, though each clause is below."""
    program = Program("0.5 :: p :- p. 0.5 :: p :- r. r :- p. r.")
    with pytest.raises(ProgramError, match="has no limit"):
        dpl.prob(program, "p")


def test_inexact_has_bounds_and_says_what_to_raise() -> None:
    program = Program("0.5 :: walk(N) :- M is N + 1, walk(M). 0.5 :: walk(_).")
    budget = Budget(max_goals=40)
    with pytest.raises(Inexact, match="max_goals") as caught:
        dpl.prob(program, "walk(0)", budget=budget)
    error = caught.value
    assert error.upper is not None
    assert 0.99 < error.lower < 1.0 <= error.upper + 1e-12
    assert "max_goals" in (error.hint or "")
    lower, upper = dpl.bounds(program, "walk(0)", budget)
    assert (lower, upper) == (error.lower, error.upper)


def test_bounds_close_in_on_the_value() -> None:
    """A walk that ends with 1/3 and dies with 1/6: success is 2/3."""
    program = Program(
        "1/2 :: walk(N) :- M is N + 1, walk(M). 1/3 :: walk(_). 1/6 :: walk(_) :- fail."
    )
    width = 1.0
    for goals in (10, 20, 40, 80):
        lower, upper = dpl.bounds(program, "walk(0)", Budget(max_goals=goals))
        assert upper is not None
        assert lower <= 2 / 3 + 1e-12
        assert upper >= 2 / 3 - 1e-12
        assert upper - lower < width
        width = upper - lower
    assert width < 1e-4


def test_no_upper_bound_where_plain_alternatives_overlap() -> None:
    program = Program("walk(N) :- M is N + 1, walk(M). walk(_) :- coin. 0.001 :: coin.")
    lower, upper = dpl.bounds(program, "walk(0)", Budget(max_goals=100))
    assert upper is None
    assert 0 < lower < 1


def test_answers_raise_inexact_when_some_may_miss() -> None:
    program = Program("0.5 :: n(N, N). 0.5 :: n(N, X) :- M is N + 1, n(M, X).")
    with pytest.raises(Inexact) as caught:
        dpl.answers(program, "n(0, X)", budget=Budget(max_goals=50))
    assert 0 < caught.value.lower < 1


def test_a_builtin_without_an_end_stays_within_the_budget() -> None:
    program = Program("0.5 :: q(1). p :- between(1, inf, X), q(X).")
    with pytest.raises(Inexact, match="max_goals"):
        dpl.prob(program, "p", budget=Budget(max_goals=2000))


def test_solve_has_a_budget() -> None:
    program = Program("loop(N) :- M is N + 1, loop(M).")
    with pytest.raises(dpl.BudgetExceeded) as caught:
        list(dpl.solve(program, "loop(0)", budget=Budget(max_steps=10_000)))
    assert "max_steps" in (caught.value.hint or "")


def test_a_network_needs_a_model() -> None:
    program = Program("nn(net, [X], D, 0..1) :: d(X, D).")
    with pytest.raises(ModelError, match="weighed by the network net") as caught:
        dpl.prob(program, "d(a, 1)")
    assert "dpl.Model" in (caught.value.hint or "")


def test_exact_fractions_need_constant_labels_and_a_finite_graph() -> None:
    with pytest.raises(ProgramError, match="its label is learned"):
        dpl.exact_fraction(Program("t(0.5) :: p. t(0.5) :: p."), "p")
    with pytest.raises(ProgramError, match="not finite"):
        dpl.exact_fraction(Program("0.4 :: p :- p, p. 0.6 :: p."), "p")


def test_exact_fractions() -> None:
    program = Program("1/3 :: p :- p. 1/3 :: p. 1/3 :: p :- q, p. 1/7 :: q.")
    assert dpl.exact_fraction(program, "p") == Fraction(7, 13)
    assert dpl.prob(program, "p") == pytest.approx(7 / 13, rel=1e-12)


@pytest.mark.parametrize(
    ("query", "kind"),
    [("nothing(X)", ProgramError), ("X is foo", PrologError), ("p(", dpl.SyntaxProblem),
     ("", ProgramError)],
)  # fmt: skip
def test_every_error_is_a_prooflog_error(query: str, kind: type[Exception]) -> None:
    program = Program("p(a).")
    for ask in (dpl.prob, dpl.answers, dpl.bounds, dpl.success, dpl.provable, dpl.exact_fraction):
        with pytest.raises(kind) as caught:
            ask(program, query)
        assert isinstance(caught.value, dpl.ProofLogError)
    with pytest.raises(dpl.ProofLogError):
        list(dpl.solve(program, query))


def test_a_trainable_label_counts_with_its_initial_value() -> None:
    program = Program("t(0.3) :: p(a). t(0.7) :: p(b).")
    assert dpl.prob(program, "p(a)") == pytest.approx(0.3, rel=1e-9)


def test_probabilities_below_the_smallest_float_are_kept_as_logarithms() -> None:
    program = Program("0.5 :: c. p([]). p([_|T]) :- c, p(T).")
    result = dpl.success(program, dpl.goal("p(L)", L=[0] * 5000))
    assert result.log_lower == pytest.approx(5000 * math.log(0.5), rel=1e-12)
