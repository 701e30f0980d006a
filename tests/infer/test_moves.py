"""Moves: what the next steps bind, and how probable an answer below a goal can be."""

from __future__ import annotations

import math

import pytest

from deepprooflog.infer.answers.moves import BindsNothing, Moves, agree, log_add
from deepprooflog.syntax.reader import read_term
from infer.weighed import DRAWS, weighed


def test_a_move_is_a_run_of_steps_that_ends_in_a_binding() -> None:
    """sum(S): three draws for X, then three for Y, then `is` binds S: nine runs, five moves."""
    moves = Moves(*weighed(DRAWS, "sum(S)"))
    found = {bound[0]: math.exp(weight) for weight, bound, _ in moves.moves(moves.root)}
    assert found == {
        2: pytest.approx(0.25),
        3: pytest.approx(0.30),
        4: pytest.approx(0.29),
        5: pytest.approx(0.12),
        6: pytest.approx(0.04),
    }


def test_the_bound_is_of_one_answer_not_of_all() -> None:
    """All pairs have 1 together; none has more than 0.5 · 0.5, which [1, 1] has."""
    moves = Moves(*weighed(DRAWS, "pair(P)"))
    assert moves.value[moves.root] == pytest.approx(0.0)
    assert math.exp(moves.best[moves.root]) == pytest.approx(0.25)


def test_answers_that_agree_are_added_up() -> None:
    """open(_) answers everything: b has 0.6 by itself and 0.4 besides."""
    moves = Moves(*weighed(DRAWS, "open(b)"))
    assert math.exp(moves.value[moves.root]) == pytest.approx(1.0)
    opened = Moves(*weighed(DRAWS, "open(X)"))
    assert math.exp(opened.best[opened.root]) <= 1.0 + 1e-12
    assert math.exp(opened.best[opened.root]) >= 0.6


def test_a_cycle_that_binds_nothing_has_no_moves() -> None:
    with pytest.raises(BindsNothing):
        Moves(*weighed("0.5 :: p(X) :- p(X). 0.5 :: p(a).", "p(X)"))


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("f(a, X)", "f(Y, b)", True),
        ("f(a, X)", "f(b, Y)", False),
        ("[1|_]", "[]", False),
        ("[1|_]", "[1, 2]", True),
        ("1", "1.0", False),
        ("g(X)", "f(X)", False),
    ],
)
def test_bindings_that_one_answer_can_have(one: str, other: str, both: bool) -> None:
    terms = [read_term(text, end_optional=True).term for text in (one, other)]
    assert agree(terms[:1], terms[1:]) == both == agree(terms[1:], terms[:1])


def test_adding_logarithms() -> None:
    assert log_add(-math.inf, -3.0) == log_add(-3.0, -math.inf) == -3.0
    assert log_add(-math.inf, -math.inf) == -math.inf
    assert log_add(-1000.0, -1000.0) == pytest.approx(-1000.0 + math.log(2))
