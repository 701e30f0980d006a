"""Prefixes: whole answers come up in the order of their probabilities, each once."""

from __future__ import annotations

import math
from itertools import islice, product

import pytest

from deepprooflog.infer.answers.moves import Moves
from deepprooflog.infer.answers.prefixes import Decision, PrefixSearch, Spent, answer_of, substitute
from deepprooflog.syntax.terms import Functor, Struct, Var
from deepprooflog.syntax.writer import write_term
from infer.weighed import DRAWS, LISTS, weighed

DRAWN = {1: 0.5, 2: 0.3, 3: 0.2}


def search(text: str, query: str, states: int = 10_000) -> PrefixSearch:
    return PrefixSearch(Moves(*weighed(text, query)), states)


def test_all_answers_best_first() -> None:
    """The nine pairs, in the order of the products of their draws."""
    found = [(write_term(answer[0]), math.exp(log)) for answer, log in search(DRAWS, "pair(P)")]
    expected = {f"[{x},{y}]": DRAWN[x] * DRAWN[y] for x, y in product(DRAWN, repeat=2)}
    assert dict(found) == pytest.approx(expected)
    weights = [p for _, p in found]
    assert weights == sorted(weights, reverse=True) and len(found) == 9


def test_answers_without_end() -> None:
    """Bit lists of any length: [] 1/2, then [0] 7/40, [1] 3/40, [0, 0] 49/800, …"""
    found = list(islice(search(LISTS, "bits(B)"), 4))
    assert [write_term(answer[0]) for answer, _ in found] == ["[]", "[0]", "[1]", "[0,0]"]
    assert [math.exp(log) for _, log in found] == pytest.approx([1 / 2, 7 / 40, 3 / 40, 49 / 800])


def test_what_has_not_come_up_is_no_better() -> None:
    looking = search(DRAWS, "pair(P)")
    answers = iter(looking)
    for _ in range(9):
        _, log = next(answers)
        looking.listed()
        assert looking.others <= log + 1e-9
    assert looking.others == -math.inf and next(answers, None) is None


def test_no_answer_comes_twice_by_two_derivations() -> None:
    """4 = 1 + 3 = 2 + 2 = 3 + 1."""
    found = {answer[0]: math.exp(log) for answer, log in search(DRAWS, "sum(S)")}
    assert found == pytest.approx({2: 0.25, 3: 0.30, 4: 0.29, 5: 0.12, 6: 0.04})


def test_the_steps_are_limited_and_a_dive_answers_in_haste() -> None:
    looking = search(DRAWS, "pair(P)", states=2)
    with pytest.raises(Spent):
        list(looking)
    hasty = looking.dive(1000)
    assert hasty is not None
    assert write_term(hasty[0][0]) == "[1,1]" and math.exp(hasty[1]) == pytest.approx(0.25)


def test_decisions_make_the_answer() -> None:
    """f(X, [1]) decided place by place: the functor, its first argument, the list's two parts."""
    x, f, cell = Var(), Functor("f", 2), Functor("c", 2)
    last = Decision(None, 0, f)
    last = Decision(last, 0, x)
    last = Decision(last, 0, cell)
    last = Decision(Decision(last, 0, 1), 0, 2)
    (answer,) = answer_of(last)
    assert isinstance(answer, Struct) and answer.functor is f
    assert answer.args[0] is x
    inner = answer.args[1]
    assert isinstance(inner, Struct) and inner.args == (1, 2) and inner.ground
    replaced = substitute(answer, {x: 7})
    assert isinstance(replaced, Struct) and replaced.args[0] == 7 and replaced.ground
