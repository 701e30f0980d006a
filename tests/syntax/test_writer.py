"""Written forms that the conformance table does not fix: variables, tensors, clauses, options."""

from __future__ import annotations

import pytest

from deepprooflog.syntax.operators import Operators
from deepprooflog.syntax.reader import read_term
from deepprooflog.syntax.terms import Atom, Slot, Term, Var, canonical_var, struct
from deepprooflog.syntax.writer import Names, write_clause, write_term


def test_tensors() -> None:
    assert write_term(struct("digit", Slot(3), 7)) == "digit(<tensor 3>,7)"


def test_canonical_variables_show_their_number() -> None:
    term = struct("p", canonical_var(1), canonical_var(0), canonical_var(1))
    assert write_term(term) == "p(_1,_0,_1)"


def test_two_variables_never_share_a_name() -> None:
    x, other, unnamed = Var("X"), Var("X"), Var()
    assert write_term(struct("p", x, other, unnamed, x)) == "p(X,_G1,_G2,X)"
    taken = struct("p", Var("_G1"), Var(), Var("_G2"))
    assert write_term(taken) == "p(_G1,_G2,_G3)"


def test_names_carry_over() -> None:
    x, names = Var(), Names()
    assert write_term(struct("p", Var(), x), variable_names=names) == "p(_G1,_G2)"
    assert write_term(struct("q", x), variable_names=names) == "q(_G2)"
    assert write_term(struct("q", x), variable_names={x: "Answer"}) == "q(Answer)"


def test_bound_variables_are_followed() -> None:
    x, y = Var("X"), Var("Y")
    x.ref = struct("f", y)
    y.ref = Atom("Q")
    assert write_term(struct("p", x, y)) == "p(f('Q'),'Q')"
    assert write_term(struct("p", x, y), quoted=False) == "p(f(Q),Q)"


def test_long_integers() -> None:
    for digits in (5, 599, 601, 4301, 20_000):
        assert write_term(10**digits) == "1" + "0" * digits
        assert write_term(-(10**digits) - 7) == "-1" + "0" * (digits - 1) + "7"


@pytest.mark.parametrize(("number", "text"), [(0, "A"), (25, "Z"), (26, "A1"), (53, "B2")])
def test_numbervars(number: int, text: str) -> None:
    term = struct("$VAR", number)
    assert write_term(term, numbervars=True) == text
    assert write_term(term) == f"'$VAR'({number})"


@pytest.mark.parametrize(("priority", "text"), [(1200, "a:-b"), (999, "(a:-b)"), (1199, "(a:-b)")])
def test_priority(priority: int, text: str) -> None:
    assert write_term(read_term("a :- b.").term, priority=priority) == text


@pytest.mark.parametrize(
    ("head", "body", "label", "text"),
    [
        ("p(a)", [], None, "p(a)."),
        ("p(X)", ["q", "a > 1"], None, "p(X) :- q, a>1."),
        ("p(X)", ["(a;b)", "(a,b)"], "1/6", "1/6 :: p(X) :- (a;b), (a,b)."),
        ("+", [], None, "+ ."),
        ("(-)", ["(+)"], None, "(-) :- (+)."),
    ],
)
def test_clauses(head: str, body: list[str], label: str | None, text: str) -> None:
    def term(source: str) -> Term:
        return read_term(source, end_optional=True).term

    assert write_clause(term(head), [term(goal) for goal in body], label) == text


def test_variables_of_a_clause_are_named_together() -> None:
    x = Var()
    assert write_clause(struct("p", Var(), x), [struct("q", x)]) == "p(_G1,_G2) :- q(_G2)."


def test_operators_are_the_caller_s() -> None:
    operators = Operators()
    operators.add(700, "xfx", "likes")
    term = struct("likes", Atom("ada"), Atom("Bob"))
    assert write_term(term, operators=operators) == "ada likes 'Bob'"
    assert write_term(term) == "likes(ada,'Bob')"
