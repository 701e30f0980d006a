"""Exact fractions of any size: their logarithms, and how they are written.

A label may be far below the smallest float or closer to 1 than floats are; its logarithm, which is
what inference adds up, has neither limit.
"""

from __future__ import annotations

import math
from fractions import Fraction

from deepprooflog.syntax.numerals import format_float, format_integer
from deepprooflog.syntax.terms import Float

_LEAST_NORMAL = Fraction(2) ** -1022
_MOST = Fraction(2) ** 1023
_HALF = Fraction(1, 2)


def log_fraction(value: Fraction) -> float:
    """log of a fraction ≥ 0, to the precision of a float; −inf for 0.

    >>> log_fraction(Fraction(1, 10**400))
    -921.0340371976182
    >>> log_fraction(1 - Fraction(1, 10**20))
    -1e-20
    """
    if not value:
        return -math.inf
    if _HALF <= value <= 2:
        return math.log1p(float(value - 1))
    if _LEAST_NORMAL <= value <= _MOST:
        return math.log(float(value))
    # One power of two taken out leaves a fraction that a float holds.
    power = value.numerator.bit_length() - value.denominator.bit_length()
    rest = value / Fraction(2) ** power
    return math.log(float(rest)) + power * math.log(2.0)


def fraction_text(value: Fraction) -> str:
    """A number as it would be written in a program, exactly: 3/10 is 0.3, 1/6 stays 1/6.

    >>> fraction_text(Fraction(3, 10)), fraction_text(Fraction(1, 6)), fraction_text(Fraction(2))
    ('0.3', '1/6', '2.0')
    >>> fraction_text(Fraction(1, 10**400))
    '1.0e-400'
    """
    if _LEAST_NORMAL <= abs(value) <= _MOST or not value:
        number = float(value)
        if Fraction(repr(number)) == value:
            return format_float(Float(number))
    places = _decimal_places(value.denominator)
    if places is None:
        return f"{format_integer(value.numerator)}/{format_integer(value.denominator)}"
    digits = format_integer(abs(value.numerator) * (10**places // value.denominator))
    kept = digits.rstrip("0")
    exponent = len(digits) - 1 - places
    sign = "-" if value < 0 else ""
    return f"{sign}{kept[0]}.{kept[1:] or '0'}e{exponent}"


def approximation(value: Fraction) -> str:
    """About what a number is, for messages, whatever its size.

    >>> approximation(Fraction(10**400)), approximation(1 + Fraction(1, 10**12))
    ('1e400', '1 + 1e-12')
    """
    if value < 0:
        return f"-{approximation(-value)}"
    over = value - 1
    if over and abs(over) < Fraction(1, 10**5):
        return f"1 {'+' if over > 0 else '-'} {approximation(abs(over))}"
    if not value or _LEAST_NORMAL <= value <= _MOST:
        return f"{float(value):g}"
    exponent, mantissa = divmod(log_fraction(value) / math.log(10.0), 1.0)
    digits = f"{10.0**mantissa:.3f}".rstrip("0").rstrip(".")
    return f"1e{int(exponent) + 1}" if digits == "10" else f"{digits}e{int(exponent)}"


def _decimal_places(denominator: int) -> int | None:
    """The decimals that a denominator of twos and fives needs; None for any other."""
    twos = (denominator & -denominator).bit_length() - 1
    rest = denominator >> twos
    # log₅ of the rest, to the nearest whole number: a power of five or nothing.
    fives = round(log_fraction(Fraction(rest)) / math.log(5.0))
    return max(twos, fives) if 5**fives == rest else None
