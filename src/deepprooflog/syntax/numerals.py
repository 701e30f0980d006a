"""Numbers and their digits, of any length.

Python refuses to convert very long decimals in one go; halving them keeps the conversion fast and
leaves the interpreter's own limit alone.
"""

from __future__ import annotations

from deepprooflog.syntax.terms import Float

_DIRECT = 600  # decimal digits; Python lets nobody set its limit below 640


def parse_integer(digits: str) -> int:
    """The value of decimal digits.

    >>> parse_integer("1" + "0" * 5000) == 10**5000
    True
    """
    if len(digits) <= _DIRECT:
        return int(digits)
    low = len(digits) // 2
    return parse_integer(digits[:-low]) * _power_of_ten(low) + parse_integer(digits[-low:])


def format_integer(value: int) -> str:
    """The decimal digits of an integer.

    >>> len(format_integer(10**5000))
    5001
    """
    if value < 0:
        return "-" + format_integer(-value)
    if value.bit_length() < 3 * _DIRECT:
        return str(value)
    low = value.bit_length() * 3 // 20
    high_part, low_part = divmod(value, _power_of_ten(low))
    return format_integer(high_part) + format_integer(low_part).rjust(low, "0")


def format_float(number: Float) -> str:
    """The shortest digits that read back as the same float, always with a point.

    >>> format_float(Float(1e100)), format_float(Float(0.1))
    ('1.0e+100', '0.1')
    """
    text = repr(number.value)
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}.0e{exponent}" if e and "." not in mantissa else text


def _power_of_ten(exponent: int) -> int:
    return int(5**exponent << exponent)
