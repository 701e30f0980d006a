"""Unification against SWI-Prolog's answers, the occurs check, and clause heads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprooflog.logic.clause import Clause, instantiate
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.load import make_clause
from deepprooflog.logic.query import parse_query
from deepprooflog.logic.unify import Trail, enter, undo, unify
from deepprooflog.syntax.reader import read_term
from deepprooflog.syntax.terms import Atom, Float, Slot, Struct, Term, Var, args_of, struct
from logic.stepping import goal_text

# Left, right, and the pair as SWI-Prolog prints it after `=`; None where it fails.
CASES = [
    ("a", "a", "a"),
    ("a", "b", None),
    ("X", "a", "a"),
    ("f(X, b)", "f(a, Y)", "f(a,b)"),
    ("f(X, X)", "f(a, b)", None),
    ("f(X, Y)", "f(Y, c)", "f(c,c)"),
    ("f(X)", "f(X, Y)", None),
    ("f(a)", "g(a)", None),
    ("1", "1.0", None),
    ("0.0", "-0.0", None),
    ("'1'", "1", None),
    ('"s"', '"s"', '"s"'),
    ("[A, B|T]", "[1, 2, 3]", "[1,2,3]"),
    ("[A|T]", "[]", None),
    ("[]", "'[]'", "[]"),
    ("f(g(X, Y), Y)", "f(Z, a)", "f(g(A,a),a)"),
    ("100000000000000000000", "100000000000000000000", "100000000000000000000"),
]


def pair(left: str, right: str) -> tuple[Term, Term]:
    """Two terms that share their variables."""
    term = read_term(f"{left} = {right}.").term
    assert isinstance(term, Struct)
    return term.args[0], term.args[1]


def shown(term: Term) -> str:
    """A term under its bindings, without the predicate it is wrapped in."""
    return goal_text(Interner().goal([struct("w", term)]))[2:-1]


@pytest.mark.parametrize(("left", "right", "expected"), CASES)
@pytest.mark.parametrize("occurs_check", [False, True])
def test_unify(left: str, right: str, expected: str | None, occurs_check: bool) -> None:
    for a, b in (pair(left, right), pair(right, left)):
        trail: Trail = []
        assert unify(a, b, trail, occurs_check) is (expected is not None)
        if expected is not None:
            assert shown(a) == shown(b) == expected
        undo(trail, 0)
        assert trail == []


@pytest.mark.parametrize(("left", "right", "expected"), CASES)
def test_entering_a_clause_unifies_as_well(left: str, right: str, expected: str | None) -> None:
    """A head is unified while it is renamed apart, with the same result."""
    a, b = pair(left, right)
    clause = make_clause(struct("p", a, a))
    call = struct("p", b, x := Var())
    trail: Trail = []
    # The two sides share no variables here, so only the ground verdicts carry over.
    if expected is not None or not {"X", "Y"} & {*left} & {*right}:
        entered = enter(clause, args_of(call), trail) is not None
        assert entered is (expected is not None)
        if entered:
            assert shown(x) == shown(args_of(call)[0])


@pytest.mark.parametrize(
    ("left", "right"),
    [("X", "f(X)"), ("f(X, Y)", "f(g(Y), g(X))"), ("[X|T]", "[a, b|[T|X]]"), ("X", "[a|X]")],
)
def test_occurs_check(left: str, right: str) -> None:
    a, b = pair(left, right)
    assert not unify(a, b, [], occurs_check=True)


def test_a_variable_unifies_with_itself_under_the_occurs_check() -> None:
    x = Var()
    trail: Trail = []
    assert unify(x, x, trail, occurs_check=True)
    assert unify(struct("f", x), struct("f", x), trail, occurs_check=True)
    assert trail == []


def test_undo_takes_back_to_the_mark_only() -> None:
    x, y = Var(), Var()
    trail: Trail = []
    assert unify(x, Atom("a"), trail)
    mark = len(trail)
    assert unify(y, Atom("b"), trail)
    undo(trail, mark)
    assert (x.ref, y.ref) == (Atom("a"), None)


def test_slots_unify_by_number() -> None:
    assert unify(Slot(1), Slot(1), [])
    assert not unify(Slot(1), Slot(2), [])


def test_interned_ground_terms_that_differ_fail_at_once() -> None:
    interner = Interner()
    one = interner.goal([parse_query("p([1, 2, 3])").atoms[0]]).atoms[0]
    other = interner.goal([parse_query("p([1, 2, 4])").atoms[0]]).atoms[0]
    assert not unify(one, other, [])
    assert unify(one, parse_query("p([1, 2, X])").atoms[0], [])


leaves = st.sampled_from(["a", "b", "1", "1.5", "X", "Y", "Z"])
terms = st.recursive(
    leaves,
    lambda inner: st.tuples(st.sampled_from("fg"), st.lists(inner, min_size=1, max_size=2)).map(
        lambda t: f"{t[0]}({', '.join(t[1])})"
    ),
    max_leaves=8,
)


def reference(a: Term, b: Term, bound: dict[Var, Term]) -> dict[Var, Term] | None:
    """Robinson's algorithm with the occurs check, as in a textbook: recursive, by substitution."""

    def walk(t: Term) -> Term:
        while isinstance(t, Var) and t in bound:
            t = bound[t]
        return t

    def inside(v: Var, t: Term) -> bool:
        t = walk(t)
        return v is t or (isinstance(t, Struct) and any(inside(v, x) for x in t.args))

    a, b = walk(a), walk(b)
    if a is b:
        return bound
    if isinstance(a, Var):
        return None if inside(a, b) else {**bound, a: b}
    if isinstance(b, Var):
        return reference(b, a, bound)
    if isinstance(a, Struct) and isinstance(b, Struct):
        if (a.name, len(a.args)) != (b.name, len(b.args)):
            return None
        found: dict[Var, Term] | None = bound
        for x, y in zip(a.args, b.args, strict=True):
            if found is None:
                return None
            found = reference(x, y, found)
        return found
    same = a == b if not isinstance(a, Float | int) else repr(a) == repr(b)
    return bound if same else None


@given(terms, terms)
def test_unify_agrees_with_the_textbook(left: str, right: str) -> None:
    a, b = pair(left, right)
    expected = reference(a, b, {})
    trail: Trail = []
    assert unify(a, b, trail, occurs_check=True) is (expected is not None)
    if expected is not None:
        assert shown(a) == shown(b)
        assert {v for v in trail} == set(expected) or len(trail) == len(expected)


@given(terms, terms)
def test_heads_agree_with_unify(left: str, right: str) -> None:
    head, call = read_term(f"p({left}, {left}).").term, read_term(f"p({right}, {right}).").term
    clause: Clause = make_clause(head)
    renamed = instantiate(clause.head, [None] * clause.size)
    plain: Trail = []
    expected = unify(renamed, call, plain, occurs_check=True)
    text = shown(call) if expected else None
    undo(plain, 0)
    trail: Trail = []
    entered = enter(clause, args_of(call), trail, occurs_check=True)
    assert (entered is not None) is expected
    if expected:
        assert shown(call) == text
