"""Clauses as Python: which goals are written inline, what is too big, and what the text says."""

from __future__ import annotations

import pytest

from deepprooflog.logic.program import Program
from deepprooflog.logic.solver.compile import CutTo, conjuncts, generate, has_cut, locals_of
from deepprooflog.logic.solver.emit import Writer, arguments, expression, variable_counts
from deepprooflog.logic.solver.inline import inline, is_inline, is_pure
from deepprooflog.syntax.terms import Struct, Term


def term(text: str) -> Term:
    """A term whose variables are numbered as a clause's are."""
    (clause,) = Program(f"p({text}).").clauses()
    return clause.args[0]


def written(goal: str, seen: set[str]) -> list[str]:
    """The lines of an inline goal, where these locals have values; `0` where it fails."""
    parsed = term(goal)
    writer = Writer({i: 2 for i in variable_counts([parsed])})
    writer.begin("f", "m", seen)
    inline(writer, parsed, "return 0")
    writer.end()
    return writer.source()[0].splitlines()[1:]


@pytest.mark.parametrize(
    ("goal", "inline_", "pure"),
    [
        ("X is 1 + 2", True, False),
        ("X = f(Y)", True, False),
        ("X < 3", True, True),
        ("atom(X)", True, True),
        ("member(X, [1])", False, False),
        ("between(1, 3, X)", False, False),
        ("findall(X, q(X), L)", False, False),
    ],
)
def test_goals_with_one_solution_are_inline(goal: str, inline_: bool, pure: bool) -> None:
    assert is_inline(term(goal)) == inline_
    assert is_pure(term(goal)) == pure


def test_conjunctions_are_flat_and_cuts_know_their_height() -> None:
    body = term("((a, !), (true, b))")
    found = conjuncts(body)
    assert [g for g in found if not isinstance(g, CutTo)] == [term("a"), term("b")]
    assert found[1] == CutTo("h")


@pytest.mark.parametrize(
    ("body", "cuts"),
    [("(a, !)", True), ("(a ; !, b)", True), ("(a -> ! ; b)", True), ("\\+ !", False)],
)
def test_cuts_that_reach_the_clause(body: str, cuts: bool) -> None:
    """Through conjunction, disjunction and conditionals; not out of a negation."""
    assert has_cut(term(body)) == cuts


def test_the_locals_that_goals_read() -> None:
    assert locals_of([term("f(X, g(Y), X)")]) == {"v0", "v1"}
    assert locals_of([CutTo("h3")]) == {"h3"}
    assert locals_of([term("(X ; Y)")]) == {"h", "v0", "v1"}


def test_terms_are_built_once_where_they_are_ground() -> None:
    """Variables met first are made; ground parts are constants of the code; small integers text."""
    parsed = term("f(X, g(a), 3, X, Y)")
    assert isinstance(parsed, Struct)
    writer = Writer(variable_counts(parsed.args))
    writer.begin("f", "m", set())
    text = arguments(writer, parsed.args)
    writer.end()
    (name,) = [n for n, value in writer.constants.items() if value == parsed.args[1]]
    assert text == f"(v0, {name}, 3, v0, Var(), )"
    assert writer.source()[0].splitlines()[1:] == ["    v0 = Var()"]


def test_a_constant_has_one_name() -> None:
    writer = Writer({})
    writer.begin("f", "m", set())
    large = 10**20
    assert expression(writer, large) == expression(writer, large)
    assert expression(writer, 7) == "7"
    assert list(writer.constants.values()) == [large]


def test_the_text_of_a_comparison() -> None:
    """On integers Python's own; `evaluate` for everything else, so that errors are the same."""
    text = "\n".join(written("X < 3", {"v0"}))
    assert "if v0 >= (3): return 0" in text
    assert "evaluate" in text


def test_lines_know_their_goals() -> None:
    (clause,) = [c for c in Program("p(X, Y) :- X > 1, Y is X * 2.").clauses()]
    generated = generate(clause)
    assert generated is not None and "enter" in generated.code.co_names
    assert {str(g.functor) for g in generated.goals.values()} == {">/2", "is/2"}  # type: ignore[union-attr]
    assert generated.sites == {}


def test_calls_are_sites() -> None:
    (clause,) = [c for c in Program("p(X) :- q(X), r(X). :- dynamic([q/1, r/1]).").clauses()]
    generated = generate(clause)
    assert generated is not None
    assert sorted(str(f) for f in generated.sites.values()) == ["q/1", "r/1"]


def test_a_clause_that_is_too_big_is_not_compiled() -> None:
    goals = ", ".join(f"(X = {i} ; Y = {i})" for i in range(60))
    (clause,) = Program(f"p(X, Y) :- {goals}.").clauses()
    assert generate(clause) is None


def test_how_often_a_variable_occurs() -> None:
    """Ground parts are not looked into."""
    assert variable_counts([term("f(X, g(X, Y), h(a))")]) == {0: 2, 1: 1}
