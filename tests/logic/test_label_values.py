"""Labels of any size: exact as fractions, in log space from the label on."""

from __future__ import annotations

import decimal
import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deepprooflog as dpl
from deepprooflog.cli import main
from deepprooflog.logic.clause import Constant
from deepprooflog.logic.labels import parse_label
from deepprooflog.syntax.numerals import fraction_text, log_fraction
from deepprooflog.syntax.reader import read_term


def value(text: str) -> Fraction:
    label = parse_label(read_term(text, end_optional=True).term)
    assert isinstance(label, Constant)
    return label.value


@given(
    st.integers(1, 10**30), st.integers(1, 10**30), st.integers(-3000, 3000), st.sampled_from("lh")
)
def test_the_logarithm_of_any_fraction(a: int, b: int, exponent: int, where: str) -> None:
    """Python's decimals, at 60 digits, are the judge."""
    number = Fraction(a, b) * Fraction(2) ** exponent
    if where == "h" and number < 1:
        number = 1 - number
    with decimal.localcontext(prec=2000, Emin=-(10**6), Emax=10**6):
        quotient = decimal.Decimal(number.numerator) / decimal.Decimal(number.denominator)
        with decimal.localcontext(prec=60, Emin=-(10**6), Emax=10**6):
            expected = float((+quotient).ln())
    assert log_fraction(number) == pytest.approx(expected, rel=1e-14, abs=1e-60)


@given(st.fractions(min_value=0, max_value=1), st.integers(0, 700))
def test_labels_are_written_as_they_are_read(number: Fraction, exponent: int) -> None:
    for label in (number, number / 10**exponent, number / 3**exponent):
        assert value(fraction_text(label)) == label


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("1/10^400", Fraction(1, 10**400)),
        ("10**(-400)", Fraction(1, 10**400)),
        ("1.0e-400", Fraction(1, 10**400)),
        ("2.5e-320", Fraction(25, 10**321)),
        ("1 - 1/10^17", 1 - Fraction(1, 10**17)),
        ("0.99999999999999999", 1 - Fraction(1, 10**17)),
        ("0.10000000000000000555", Fraction(10000000000000000555, 10**20)),
        ("(1/2)^10 + 1.0e-5*1.0e-300*1.0e-300", Fraction(1, 1024) + Fraction(1, 10**605)),
        ("1.0000000000000002", Fraction(1)),
    ],
)  # fmt: skip
def test_exact_to_the_last_digit(text: str, exact: Fraction) -> None:
    assert value(text) == exact
    program = dpl.Program(f"{text} :: p.")
    log = log_fraction(exact)
    assert dpl.exact_fraction(program, "p") == exact
    assert dpl.log_prob(program, "p") == log
    model = dpl.Model(program)
    assert model.log_prob(["p"]).item() == log
    assert model.best_proof("p").log_prob == log


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1" + "0" * 10**6 + "/1" + "0" * 10**6, "more than 400,000 bits"),
        ("0." + "0" * 10**6 + "1", "more than 400,000 bits"),
        ("1.0e-999999999", "more than 400,000 bits"),
        ("1.0e-" + "9" * 1000, "more than 400,000 bits"),
        ("1/2^(10^9)", "more than 400,000 bits"),
        ("((1/3^99999)^2)^2", "more than 400,000 bits"),
        ("10^400", "is 1e400, not a probability"),
        ("1.00000001", r"is 1 \+ 1e-08, not a probability"),
        ("0-1/10^400", "is -1e-400, not a probability"),
        ("2^(1/2)", "is not a label"),
        ("0^(-1)", "divides by zero"),
    ],
    ids=range(11),
)
def test_what_is_no_label(text: str, message: str) -> None:
    with pytest.raises(dpl.ProgramError, match=message):
        dpl.Program(f"{text} :: p.")


def test_many_long_labels_are_added_up_at_once() -> None:
    """Sums are checked in floats: exact ones of coprime denominators would grow without bound."""
    primes = [p for p in range(2, 3000) if all(p % q for q in range(2, math.isqrt(p) + 1))]
    text = "".join(f"1/{p}^300 :: p. " for p in primes)
    assert dpl.prob(dpl.Program(text), "p") == pytest.approx(sum(p**-300 for p in primes))


@pytest.mark.parametrize("labels", [["0.5", "0.5000000001"], ["1/3", "1/3", "1/3 + 1/10^10"]])
def test_sums_within_tolerance_are_no_probability_above_1(labels: list[str]) -> None:
    program = dpl.Program("".join(f"{label} :: p. " for label in labels))
    assert dpl.prob(program, "p") == 1
    assert dpl.answers(program, "p") == {"p": 1}
    with pytest.raises(dpl.ProgramError, match=r"add up to 1\.00000001, more than 1"):
        dpl.Program("0.5 :: p. 0.50000001 :: p.")


@pytest.mark.parametrize(
    ("text", "log"),
    [
        ("t(1.0e-30) :: p. t(0.5) :: q.", -30 * math.log(10)),
        ("t(1/10^400) :: p.", -400 * math.log(10)),
        ("t(1/10^400) :: p. t(_) :: p.", 0.0),
        ("t(0.0) :: p.", math.log(1e-6 / (1 + 1e-6))),
    ],
)
def test_trainable_labels_begin_where_they_say(text: str, log: float) -> None:
    program = dpl.Program(text)
    expected = pytest.approx(log, rel=1e-15, abs=1e-15)
    assert dpl.log_prob(program, "p") == expected
    assert dpl.Model(program).log_prob(["p"]).item() == expected


TINY = """
1/10^400 :: p(a). 0.5 :: p(b). 0.0 :: p(c).
1/10^200 :: r :- s. 1/10^200 :: s.
0.5 :: c :- c. 1/10^400 :: c.
"""


@pytest.mark.parametrize(
    ("query", "shown"), [("p(a)", "1e-400"), ("r", "1e-400"), ("c", "2e-400"), ("p(c)", "0")]
)
def test_the_command_line_tells_tiny_from_impossible(
    query: str, shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tiny.pl"
    path.write_text(TINY)
    assert main(["prob", str(path), query]) == 0
    assert capsys.readouterr().out == f"{shown}\n"
    assert main(["prob", str(path), query, "--json"]) == 0
    log = json.loads(capsys.readouterr().out).get("log_probability")
    expected = None if shown == "0" else pytest.approx(math.log(int(shown[0])) - 400 * math.log(10))
    assert log == expected


def test_answers_tell_tiny_from_impossible(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tiny.pl"
    path.write_text(TINY)
    assert main(["answers", str(path), "p(X)"]) == 0
    assert capsys.readouterr().out == "p(b)  0.5\np(a)  1e-400\n"
    assert main(["answers", str(path), "p(X)", "--json"]) == 0
    assert '"log_probabilities": {"p(a)": -921.0340371976182}' in capsys.readouterr().out
