"""Goals as states: canonical, interned, equal exactly when they are variants."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprooflog import ProgramError
from deepprooflog.logic.goal import Goal, Interner, rename
from deepprooflog.logic.query import parse_query
from deepprooflog.logic.resolve import start
from deepprooflog.syntax.terms import (
    Atom,
    Float,
    Functor,
    Slot,
    Struct,
    Term,
    Var,
    canonical_var,
    make_list,
    struct,
)
from logic.stepping import goal_text


def state(query: str, interner: Interner | None = None) -> Goal:
    """The goal a query starts with."""
    return start(parse_query(query).atoms, Interner() if interner is None else interner)


def test_the_empty_goal_is_true() -> None:
    assert Goal(()).is_true
    assert not state("p").is_true


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("p(X, Y)", "p(A, B)", True),
        ("p(X, X)", "p(A, A)", True),
        ("p(X, Y)", "p(A, A)", False),
        ("p(X, Y), q(Y)", "p(A, B), q(B)", True),
        ("p(X, Y), q(Y)", "p(A, B), q(A)", False),
        ("p(_, _)", "p(X, Y)", True),
        ("p(1)", "p(1.0)", False),
        ("p(a)", 'p("a")', False),
        ("p(f(X), X)", "p(f(Z), Z)", True),
        ("p, q", "q, p", False),
    ],
)
def test_goals_are_equal_exactly_when_they_are_variants(one: str, other: str, same: bool) -> None:
    interner = Interner()
    assert (state(one, interner) == state(other, interner)) is same
    # Also between interners, where terms are compared in full.
    assert (state(one) == state(other)) is same
    if same:
        assert hash(state(one)) == hash(state(other))


def test_variables_are_numbered_by_first_occurrence_over_atoms_then_answer() -> None:
    goal = Interner().goal(
        [struct("p", y := Var(), x := Var()), struct("q", x)], [z := Var(), x, y, z]
    )
    assert goal_text(goal) == "p(A,B), q(B)"
    assert [v.index for v in goal.answer if type(v) is Var] == [2, 1, 0, 2]
    assert goal.size == 3


def test_equal_terms_of_one_interner_are_one_object() -> None:
    interner = Interner()
    one = state("p(f(g(1)), X, [a, b])", interner).atoms[0]
    other = state("p(f(g(1)), Z, [a, b])", interner).atoms[0]
    assert one is other
    inner = state("q(g(1))", interner).atoms[0]
    assert isinstance(one, Struct) and isinstance(inner, Struct)
    f = one.args[0]
    assert isinstance(f, Struct) and f.args[0] is inner.args[0]


def test_ground_flags_are_exact() -> None:
    interner = Interner()
    for query, ground in (("p(f(a))", True), ("p(f(X))", False), ("p([1, 2|T])", False)):
        atom = state(query, interner).atoms[0]
        assert isinstance(atom, Struct) and atom.ground is ground


def test_bindings_are_followed() -> None:
    x, y = Var("X"), Var("Y")
    x.ref = struct("f", y)
    y.ref = Atom("a")
    assert goal_text(Interner().goal([struct("p", x, y)])) == "p(f(a),a)"


def test_a_cyclic_term_is_refused_with_its_remedy() -> None:
    x = Var("X")
    x.ref = Struct(Functor("f", 1), (x,))
    with pytest.raises(ProgramError, match="a term contains itself") as caught:
        Interner().goal([Struct(Functor("p", 1), (x,))])
    assert "occurs_check=True" in (caught.value.hint or "")


def test_a_term_that_occurs_twice_is_not_cyclic() -> None:
    shared = Struct(Functor("f", 1), (Var("X"),))
    goal = Interner().goal([Struct(Functor("p", 2), (shared, shared))])
    assert goal_text(goal) == "p(f(A),f(A))"


def test_renaming_gives_fresh_variables_shared_between_atoms_and_answer() -> None:
    goal = state("p(X, f(Y)), q(Y)")
    (p, q), (x, y) = rename(goal)
    assert isinstance(p, Struct) and isinstance(q, Struct)
    assert p.args[0] is x and q.args[0] is y
    assert type(x) is Var and x.index == -1
    again = rename(goal)[1]
    assert again[0] is not x


def test_slots_are_kept() -> None:
    goal = Interner().goal([struct("p", Slot(3), Slot(3), Slot(1))])
    assert goal == Interner().goal([struct("p", Slot(3), Slot(3), Slot(1))])
    assert goal != Interner().goal([struct("p", Slot(1), Slot(1), Slot(3))])


def test_long_lists_share_their_tails() -> None:
    """The tail of an interned list costs nothing: a list folded element by element stays linear."""
    interner = Interner()
    whole = interner.goal([struct("p", make_list(range(1000)))]).atoms[0]
    count = len(interner)
    assert isinstance(whole, Struct)
    cell = whole.args[0]
    while isinstance(cell, Struct):
        interner.goal([struct("p", cell)])
        cell = cell.args[1]
    assert len(interner) == count + 999


leaves = st.sampled_from([Atom("a"), Atom("b"), 1, Float(1.0), canonical_var(0), canonical_var(1)])
terms = st.recursive(
    leaves,
    lambda inner: st.builds(
        lambda name, args: struct(name, *args), st.sampled_from("fg"), st.lists(inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.lists(terms, min_size=1, max_size=3))
def test_canonical_goals_are_fixed_points(found: list[Term]) -> None:
    """Renaming a goal and making it canonical again gives the goal."""
    interner = Interner()
    goal = interner.goal([struct("p", t) for t in found], found)
    atoms, answer = rename(goal)
    again = interner.goal(atoms, answer)
    assert again == goal
    assert again.size == goal.size
    assert all(a is b for a, b in zip(again.atoms, goal.atoms, strict=True))
