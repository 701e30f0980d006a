"""Numbers and their digits, of any length that can be worked with.

Python refuses to convert very long decimals in one go; halving them keeps the conversion fast,
leaves the interpreter's own limit alone and lets a budget end it.
"""

from __future__ import annotations

import decimal

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
