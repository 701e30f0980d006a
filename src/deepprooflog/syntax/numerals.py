"""Numbers and their digits, of any length that can be worked with.

Python refuses to convert very long decimals in one go; halving them keeps the conversion fast,
leaves the interpreter's own limit alone and lets a budget end it.
"""

from __future__ import annotations

import decimal
import math
from fractions import Fraction

from deepprooflog.errors import PrologError
from deepprooflog.syntax.terms import Atom, Float, Functor, Struct, Var

_DIRECT = 600  # decimal digits; Python lets nobody set its limit below 640

# Decimal digits of the longest number that is read or written: some tenths of a second of work.
MOST_DIGITS = 2_000_000


def parse_integer(digits: str) -> int:
    """The value of decimal digits.

    >>> parse_integer("1" + "0" * 5000) == 10**5000
    True
    """
    if len(digits) <= _DIRECT:
        return int(digits)
    if len(digits) > MOST_DIGITS:
        raise resource_error("memory", f"a number of {len(digits):,} digits is too long to read")
    return _parse(digits, {})


def _parse(digits: str, powers: dict[int, int]) -> int:
    if len(digits) <= _DIRECT:
        return int(digits)
    low = len(digits) // 2
    if low not in powers:
        powers[low] = 5**low << low
    return _parse(digits[:-low], powers) * powers[low] + _parse(digits[-low:], powers)


def format_integer(value: int) -> str:
    """The decimal digits of an integer.

    >>> len(format_integer(10**5000))
    5001
    """
    bits = value.bit_length()
    if bits < 3 * _DIRECT:
        return str(value)
    if bits > 10 / 3 * MOST_DIGITS:
        raise resource_error("memory", f"a number of {bits:,} bits is too long to write")
    # The decimal module multiplies in nearly linear time, which Python's integers do not.
    with decimal.localcontext() as context:
        context.prec = decimal.MAX_PREC
        context.Emax = decimal.MAX_EMAX
        context.traps[decimal.Inexact] = True
        digits = str(_decimal(abs(value), bits, {}))
    return "-" + digits if value < 0 else digits


def _decimal(value: int, bits: int, powers: dict[int, decimal.Decimal]) -> decimal.Decimal:
    if bits <= 1024:
        return decimal.Decimal(value)
    low = bits // 2
    high = _decimal(value >> low, bits - low, powers)
    return high * _power(low, powers) + _decimal(value & ((1 << low) - 1), low, powers)


def _power(bits: int, powers: dict[int, decimal.Decimal]) -> decimal.Decimal:
    """2^bits, from smaller powers."""
    if bits not in powers:
        if bits <= 512:
            powers[bits] = decimal.Decimal(1 << bits)
        elif bits - 1 in powers:
            powers[bits] = 2 * powers[bits - 1]
        else:
            powers[bits] = _power(bits // 2, powers) * _power(bits - bits // 2, powers)
    return powers[bits]


def format_float(number: Float) -> str:
    """The shortest digits that read back as the same float, always with a point.

    >>> format_float(Float(1e100)), format_float(Float(0.1))
    ('1.0e+100', '0.1')
    """
    text = repr(number.value)
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}.0e{exponent}" if e and "." not in mantissa else text


def resource_error(what: str, why: str) -> PrologError:
    """ISO's error for what would take more memory or time than there is; `catch/3` takes it."""
    formal = Struct(Functor("resource_error", 1), (Atom(what),), True)
    return PrologError(
        f"resource_error({what}): {why}",
        term=Struct(Functor("error", 2), (formal, Var())),
        hint="a smaller size",
    )


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
