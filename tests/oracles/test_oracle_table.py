"""Values from outside, row by row: closed forms, published examples, nltk and hmmlearn."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import deepprooflog as dpl
from oracles.hmm_oracle import Hmm, as_query, as_slp, hmmlearn_scores
from oracles.nltk_oracle import Production, as_dcg, parse_probability

TWO_WAYS = """
0.4 :: s(X) :- p(X), p(X).
0.6 :: s(X) :- q(X).
0.3 :: p(a).  0.7 :: p(b).
0.2 :: q(a).  0.8 :: q(b).
"""
WORDS = [
    Production(Fraction(3, 10), "s", ("'a'", "s")),
    Production(Fraction(2, 10), "s", ("'b'", "s")),
    Production(Fraction(4, 10), "s", ("'a'",)),
    Production(Fraction(1, 10), "s", ("'b'",)),
]
CYCLE = "1/2 :: a :- b. 1/2 :: a. 1/2 :: b :- a. 1/2 :: b :- fail."
CASINO = Hmm(
    start=np.array([0.5, 0.5]),
    transition=np.array([[0.95, 0.05], [0.1, 0.9]]),
    emission=np.array([[1 / 6] * 6, [0.1] * 5 + [0.5]]),
)


@pytest.mark.parametrize(("query", "value"), [("s(X)", 0.832), ("s(a)", 0.156), ("s(b)", 0.676)])
def test_two_ways(query: str, value: float) -> None:
    assert dpl.prob(dpl.Program(TWO_WAYS), query) == pytest.approx(value, rel=1e-12)


def test_two_ways_answers() -> None:
    found = dpl.answers(dpl.Program(TWO_WAYS), "s(X)")
    assert found == pytest.approx({"s(a)": 0.156, "s(b)": 0.676}, rel=1e-12)


@pytest.mark.parametrize("sentence", ["a", "b", "ab", "bba", "abab", "aaaaaaaa", "babbabba"])
def test_right_linear_grammar(sentence: str) -> None:
    pytest.importorskip("nltk", reason="nltk is not installed")
    program = dpl.Program(as_dcg(WORDS))
    expected = parse_probability(WORDS, "s", list(sentence))
    found = dpl.prob(program, f"s([{','.join(sentence)}], [])")
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n", range(1, 9))
def test_ambiguous_grammar(n: int) -> None:
    """S → S S (.4) | a (.6): Catalan(n−1) parses of aⁿ, each 0.4ⁿ⁻¹ 0.6ⁿ."""
    program = dpl.Program("0.4 :: s --> s, s.  0.6 :: s --> [a].")
    catalan = math.comb(2 * n - 2, n - 1) // n
    found = dpl.prob(program, f"s([{','.join('a' * n)}], [])")
    assert found == pytest.approx(catalan * 0.4 ** (n - 1) * 0.6**n, rel=1e-9)


def test_ambiguous_grammar_as_published() -> None:
    program = dpl.Program("0.4 :: s --> s, s.  0.6 :: s --> [a].")
    found = [dpl.prob(program, f"s([{','.join('a' * n)}], [])") for n in (1, 2, 3, 4)]
    assert found == pytest.approx([0.6, 0.144, 0.06912, 0.041472], rel=1e-9)


@pytest.mark.parametrize("rolls", ["1", "6", "66", "123456", "3151166661", "66664666" * 6])
def test_casino(rolls: str) -> None:
    """The occasionally dishonest casino of Durbin et al., a fair and a loaded die."""
    pytest.importorskip("hmmlearn", reason="hmmlearn is not installed")
    text = as_slp(CASINO).replace(str(1 / 6), "1/6")
    symbols = [int(roll) - 1 for roll in rolls]
    forward, best = hmmlearn_scores(CASINO, symbols)
    program, query = dpl.Program(text), as_query(symbols)
    assert math.log(dpl.prob(program, query)) == pytest.approx(forward, rel=1e-9)
    assert dpl.Model(program).best_proof(query).log_prob == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize(("query", "value"), [("a", Fraction(2, 3)), ("b", Fraction(1, 3))])
def test_cycle(query: str, value: Fraction) -> None:
    """a = ½ b + ½ and b = ½ a."""
    program = dpl.Program(CYCLE)
    assert dpl.prob(program, query) == pytest.approx(float(value), rel=1e-12)
    assert dpl.exact_fraction(program, query) == value


@pytest.mark.parametrize("percent", [1, 10, 25, 40, 45, 49, 51, 55, 60, 75, 90, 99])
def test_branching(percent: int) -> None:
    """p = π p² + 1 − π: the least root is min(1, (1−π)/π)."""
    program = dpl.Program(f"{percent}/100 :: p :- p, p.  {100 - percent}/100 :: p.")
    value = min(1.0, (100 - percent) / percent)
    assert dpl.prob(program, "p") == pytest.approx(value, rel=1e-9)


def test_branching_at_the_double_root() -> None:
    program = dpl.Program("0.5 :: p :- p, p.  0.5 :: p.")
    assert dpl.prob(program, "p") == pytest.approx(1.0, abs=1e-6)
