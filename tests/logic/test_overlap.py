"""Clauses that may both apply are told; those that exclude each other are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprooflog.logic.analysis.overlap import overlaps
from deepprooflog.logic.program import Program

DIGIT = "nn(net, [X], D, 0..9) :: digit(X, D). 0.6 :: coin(h). 0.4 :: coin(t). "


def told(text: str) -> list[str]:
    return [pair.first.functor.name for pair in overlaps(Program(DIGIT + text))]


@pytest.mark.parametrize(
    "text",
    [
        "q(X) :- digit(X, 1). q(X) :- coin(h).",
        "q(X) :- digit(X, 1). q(_).",
        "q(X) :- digit(X, A), A > 2. q(X) :- digit(X, A), A < 5.",
        "q(X) :- digit(X, A), A > 2. q(X) :- digit(X, A), 0 is A mod 2.",
        "q(X, Y) :- digit(X, 1). q(X, Y) :- digit(Y, 2).",
        "nn(e, [X, Y]) :: edge(X, Y). q(X, Y) :- edge(X, Y). q(X, Y) :- edge(X, Z), q(Z, Y).",
        "nn(e, [X, Y]) :: edge(X, Y). q(X) :- edge(X, a). q(X) :- edge(X, b).",
        "link(a, b, 1). link(a, c, 2). edge(X, Y) :- link(X, Y, I), digit(I, 1). "
        "q :- edge(a, b). q :- edge(a, c).",
        "0.5 :: row(a, x). 0.5 :: row(a, y). 0.9 :: row(b, x). q :- row(a, x). q :- row(b, x).",
        "t(0.5) :: row(a, x). t(0.5) :: row(a, y). t(0.5) :: row(b, x). t(0.5) :: row(b, y). "
        "q :- row(a, x). q :- row(b, x).",
        "q(X) :- digit(X, 1). q(X) :- coin(h), !.",
        "q(X) :- atom(X), coin(h). q(X) :- callable(X), coin(_).",
        "likes(a, b). likes(a, c). q(X) :- likes(X, b), coin(h). q(X) :- likes(X, c), coin(_).",
    ],
)
def test_overlapping_clauses(text: str) -> None:
    assert told(text) == ["q"]


@pytest.mark.parametrize(
    "text",
    [
        "q(X, []) :- digit(X, 1). q(X, [Y|_]) :- digit(X, Y).",
        "q(X) :- digit(X, 1). q(X) :- digit(X, 2).",
        "q(X) :- digit(X, A), A < 5. q(X) :- digit(X, A), A >= 5, coin(h).",
        "q(X) :- digit(X, A), 5 > A. q(X) :- coin(h), digit(X, A), A > 4 + 2.",
        "q(X, Y) :- digit(X, A), digit(Y, B), A < B. q(X, Y) :- digit(X, A), digit(Y, B), B =< A.",
        "q(X, Y) :- digit(X, A), digit(Y, B), S is A + B, S =:= 9. "
        "q(X, Y) :- digit(X, A), digit(Y, B), T is A + B, T > 9.",
        "q(X) :- coin(h), digit(X, 1). q(X) :- coin(t).",
        "q(X) :- digit(X, 1), !. q(X) :- coin(h).",
        "q(X) :- X = a, coin(h). q(X) :- X = b, coin(h).",
        "q(X, Y) :- X == Y, coin(h). q(X, Y) :- X \\== Y, coin(h).",
        "q(0) :- coin(h). q(N) :- N > 0, coin(h), M is N - 1, q(M).",
        "q(200). q(N) :- N > 0, N < 200, coin(_), M is N + 1, q(M).",
        "q([X], D) :- digit(X, D). q([_|Xs], D) :- q(Xs, D).",
        "q(X) :- atom(X), coin(h). q(X) :- number(X), coin(h).",
        "q(a) :- coin(h). q(X) :- number(X), coin(h).",
        "q(X) :- \\+ X = a, coin(h). q(X) :- X = a, coin(h).",
        "kind(1, cat). kind(2, dog). q(X) :- kind(X, cat), coin(h). q(X) :- kind(X, dog), coin(h).",
        "sum(X, Y, S) :- digit(X, A), digit(Y, B), S is A + B. "
        "q(X, Y) :- sum(X, Y, 17). q(X, Y) :- sum(X, Y, 18).",
        "sum(X, Y, S) :- digit(X, A), digit(Y, B), S is A + B. "
        "q(X, Y) :- sum(X, Y, S), S > 9. q(X, Y) :- sum(X, Y, S), S =< 9.",
        "0.5 :: row(a, x). 0.5 :: row(a, y). 0.5 :: row(b, x). q :- row(a, x). q :- row(a, y).",
        "t(0.5) :: row(a, x). t(0.5) :: row(a, y). t(0.5) :: row(b, x). t(0.5) :: row(b, y). "
        "q(A) :- row(A, x). q(A) :- row(A, y).",
        "t(_) :: face(1). t(_) :: face(2). q :- face(1). q :- face(2).",
        "q(V) --> [+], {coin(h)}, q(V). q(_) --> [].",
        "q(X, Y) :- Y = 1, X = 2. q(_, Y) :- Y > 5, Y < 3. r :- coin(h), q(a, 1).",
    ],
)
def test_clauses_that_exclude_each_other(text: str) -> None:
    assert told(text) == []


def test_clauses_that_reach_no_choice_are_not_looked_at() -> None:
    assert told("p(a). p(X) :- r(X). r(a). s :- p(a), coin(h).") == []


def test_the_clauses_are_named() -> None:
    program = Program("0.5 :: p(a).\nq(X) :- p(X).\nr.\nq(a).\n")
    (pair,) = overlaps(program)
    assert pair.text(program) == "`q(X) :- p(X).` (line 2) and `q(a).` (line 4)"


@given(st.lists(st.sampled_from(["<", "=<", ">", ">=", "=:=", "=\\="]), min_size=2, max_size=2),
       st.lists(st.integers(-2, 2), min_size=2, max_size=2))  # fmt: skip
def test_comparisons_with_constants(names: list[str], values: list[int]) -> None:
    """Against trying numbers out: integers and halves between the constants and around them."""
    relations = {
        "<": float.__lt__, "=<": float.__le__, ">": float.__gt__, ">=": float.__ge__,
        "=:=": float.__eq__, "=\\=": float.__ne__,
    }  # fmt: skip
    tried = [n / 2 for n in range(-8, 9)]
    both = any(
        all(relations[n](x, float(v)) for n, v in zip(names, values, strict=True)) for x in tried
    )
    (a, b), (x, y) = names, values
    text = f"q(X) :- digit(X, A), A {a} {x}. q(X) :- digit(X, A), {y} {turned(b)} A."
    assert told(text) == (["q"] if both else [])


def turned(name: str) -> str:
    return {"<": ">", "=<": ">=", ">": "<", ">=": "=<"}.get(name, name)
