"""Recursions whose probability no float holds: closed forms in logarithms, and their gradients."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deepprooflog as dpl
from deepprooflog.syntax.numerals import log_fraction

TEN = math.log(10)


@given(st.integers(5, 95), st.integers(0, 900))
def test_branching_that_hardly_ever_ends(percent: int, exponent: int) -> None:
    """x = a x² + c with tiny c has the least solution 2c / (1 + √(1 − 4ac))."""
    a, c = Fraction(percent, 100), Fraction(1, 25) / 10**exponent
    program = dpl.Program(f"{percent}/100 :: p :- p, p. 1/(25 * 10^{exponent}) :: p.")
    expected = math.log(2) + log_fraction(c) - math.log(1 + math.sqrt(1 - 4 * float(a * c)))
    assert dpl.log_prob(program, "p") == pytest.approx(expected, rel=1e-12)
    assert dpl.answers(program, "p").keys() == {"p"}
    model = dpl.Model(program)
    assert model.log_prob(["p"]).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_spans_of_an_ambiguous_grammar(n: int) -> None:
    """Catalan(n − 1) trees of weight .4ⁿ⁻¹ (10⁻²⁰⁰)ⁿ."""
    program = dpl.Program("0.4 :: s --> s, s. 1/10^200 :: s --> [a].")
    trees = math.comb(2 * n - 2, n - 1) // n
    expected = math.log(trees) + (n - 1) * math.log(0.4) - 200 * n * TEN
    found = dpl.log_prob(program, dpl.goal("s(L, [])", L=["a"] * n))
    assert found == pytest.approx(expected, rel=1e-12)


def test_parts_of_very_different_size() -> None:
    """q = 10⁻³⁰⁰ / ½, p = ½ q² / (1 − ¼ q) and r = 1 beside them."""
    program = dpl.Program(
        "0.5 :: p :- q, q. 0.25 :: p :- p, q. 1/10^300 :: q. 0.5 :: q :- q. "
        "0.4 :: r :- r, r. 0.6 :: r."
    )
    assert dpl.log_prob(program, "p", method="tabled") == pytest.approx(math.log(2) - 600 * TEN)
    assert dpl.log_prob(program, "p, r", method="tabled") == pytest.approx(math.log(2) - 600 * TEN)
    assert dpl.prob(program, "r") == pytest.approx(1.0)


def test_gradients_of_what_no_float_holds() -> None:
    """s is its tiny label: d log s / d logits is that label's softmax row."""
    model = dpl.Model(dpl.Program("t(0.3) :: s :- s, s. t(1/10^400) :: s. t(0.5) :: s :- fail."))
    log = model.log_prob(["s"])
    log.backward()
    assert log.item() == pytest.approx(-400 * TEN)
    assert model.labels.logits.grad is not None
    assert model.labels.logits.grad.tolist() == pytest.approx([-0.3, 1.0, -0.5, -0.2])
