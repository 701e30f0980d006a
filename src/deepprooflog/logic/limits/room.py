"""Room for what a builtin is about to build: refused before, where it cannot fit.

A watchdog ends work between two bytecodes; one call that builds a list of 10^12 cells or a text of
gigabytes is over before it can. So sizes are looked at first, and what is too large is ISO's
`resource_error(memory)`, which `catch/3` takes. One operation on long integers cannot be ended
either: its cost is estimated from the lengths of its operands, in steps on 30-bit digits,

    x · y       long · short^0.585      Karatsuba
    x // y      (long − short) · short  long division
    gcd(x, y)   long · short            Lehmer

and more than `MOST_STEPS`, some tenths of a second, is `resource_error(time)`.
"""

from __future__ import annotations

import math

from deepprooflog.logic.limits.watch import available, current, resident, size_text
from deepprooflog.syntax.numerals import resource_error

# Characters of the longest text that is built.
MOST_CHARACTERS = 1 << 25

# Bytes of a list cell with a variable in it, and of a variable in a compound's argument.
CELL = 200
ARGUMENT = 80

# Things that need no look: they take some megabytes.
_FEW = 1 << 15


def require_room(count: int, each: int, what: str) -> None:
    """Refuse to build `count` things of `each` bytes where they cannot fit in memory.

    >>> require_room(10**15, CELL, "a list of 10^15 cells")
    Traceback (most recent call last):
    deepprooflog.errors.PrologError: resource_error(memory): a list of 10^15 cells does not fit ...
    """
    if count <= _FEW:
        return
    left = room()
    if left is not None and count * each > left:
        raise resource_error(
            "memory", f"{what} does not fit into the {size_text(left)} of memory that are left"
        )


def room() -> int | None:
    """The bytes that may still be used: what the machine has left and `max_memory` allows."""
    left = available()
    watch = current()
    used = resident() if watch is not None else 0
    while watch is not None:
        if watch.ceiling is not None:
            own = max(watch.ceiling - used, 0)
            left = own if left is None else min(left, own)
        watch = watch.outer
    return left


def require_text(length: int) -> None:
    """Refuse to build a text of more than `MOST_CHARACTERS`."""
    if length > MOST_CHARACTERS:
        raise resource_error(
            "memory", f"a text of {length:,} characters is longer than {MOST_CHARACTERS:,}"
        )


# Bits of the longest integer: 64 MB.
MOST_BITS = 1 << 29
MOST_STEPS = 200_000_000

# With one operand below it, every product is cheap, or every quotient.
SMALL = 1 << 900
LONG = 1 << 30_000


def require_bits(bits: int) -> None:
    """Refuse an integer of more than `MOST_BITS`."""
    if bits > MOST_BITS:
        raise resource_error("memory", f"an integer of {bits:,} bits is too long")


def require_product(x: int, y: int) -> None:
    """Refuse a product that would take too long."""
    _require_product_of(x.bit_length(), y.bit_length())


def _require_product_of(x: int, y: int) -> None:
    require_bits(x + y)
    short, long = sorted((x // 30 + 1, y // 30 + 1))
    _require_steps(long * short**0.585, "the product", x, y)


def require_quotient(x: int, y: int) -> None:
    """Refuse a division that would take too long."""
    long, short = x.bit_length() // 30, y.bit_length() // 30
    _require_steps((long - short + 1) * short, "the quotient", x.bit_length(), y.bit_length())


def _require_steps(steps: float, what: str, x: int, y: int) -> None:
    if steps > MOST_STEPS:
        raise resource_error(
            "time", f"{what} of integers of {x:,} and {y:,} bits would take too long"
        )


def common_divisor(x: int, y: int) -> int:
    """gcd(x, y)."""
    steps = (x.bit_length() // 30) * (y.bit_length() // 30)
    _require_steps(steps, "the common divisor", x.bit_length(), y.bit_length())
    return math.gcd(x, y)


def common_multiple(x: int, y: int) -> int:
    """lcm(x, y)."""
    divisor = common_divisor(x, y)
    if divisor == 0:
        return 0
    require_quotient(x, divisor)
    part = x // divisor
    require_product(part, y)
    return abs(part * y)


def integer_power(x: int, y: int) -> int:
    """x to the power of y ≥ 0.

    >>> integer_power(-3, 5), integer_power(2, 10)
    (-243, 1024)
    """
    if -2 < x < 2:
        return x**y  # type: ignore[no-any-return]
    bits = y * x.bit_length()
    if bits > 1000:
        require_bits(bits)
        if x & (x - 1) == 0 and x > 0:
            return 1 << (x.bit_length() - 1) * y
        # Squaring again and again: the last one takes two thirds of the time.
        _require_product_of(bits * 3 // 5, bits * 3 // 5)
    return x**y  # type: ignore[no-any-return]
