"""Arrays of numbers m · 2^e with 53 bits and no end to the exponent: nothing underflows.

A walk against the drift succeeds with e⁻⁹¹⁵, and its reduced steps are as small: below the range of
float64. Their logarithms would fit, but each sum of logarithms loses some digits of the number;
here each operation is off by half a unit in the last place of 53 bits, as with floats.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# The exponent of 0: below any other by more than sums and products of exponents can reach.
NOTHING = -(2**40)
# The farthest that a summand can be shifted before it vanishes beside the largest.
VANISHES = -1100
# Roundings that count in a sum taken closely: numpy adds in pairs, in blocks of 128 by eights.
SUMMED = 1 if np.finfo(np.longdouble).eps < 1e-18 else 24
# Logarithms whose exponential is a normal float.
NORMAL = 700.0


class Wide(NamedTuple):
    """m · 2^e, elementwise; 0 has m = 0 and a very low exponent."""

    m: Floats
    e: Ints

    def at(self, index: Ints) -> Wide:
        """The numbers at these places."""
        return Wide(self.m[index], self.e[index])

    def put(self, index: Ints, other: Wide) -> None:
        """Write numbers to these places."""
        self.m[index] = other.m
        self.e[index] = other.e


def zeros(*shape: int) -> Wide:
    """Zeros of a shape."""
    return Wide(np.zeros(shape), np.full(shape, NOTHING, dtype=np.int64))


def normal(m: Floats, e: Ints | int) -> Wide:
    """m · 2^e with its mantissas brought into [½, 1).

    >>> normal(np.array([6.0, 0.0]), 0)
    Wide(m=array([0.75, 0.  ]), e=array([            3, -1099511627776]))
    """
    part, shift = np.frexp(m)
    return Wide(part, np.where(part == 0, np.int64(NOTHING), e + shift.astype(np.int64)))


def from_log(log: Floats) -> Wide:
    """exp(log)."""
    far = np.abs(log) > NORMAL
    if not far.any():
        return normal(np.exp(log), 0)
    finite = np.where(log == -np.inf, 0.0, log)
    whole = np.where(far, np.floor(finite / math.log(2)), 0.0)
    found = normal(
        np.exp(np.where(far, finite - whole * math.log(2), finite)), whole.astype(np.int64)
    )
    lost = log == -np.inf
    return Wide(np.where(lost, 0.0, found.m), np.where(lost, NOTHING, found.e))


def to_log(x: Wide) -> Floats:
    """log x; −inf for 0."""
    near = np.abs(x.e) < 1000
    with np.errstate(divide="ignore", invalid="ignore"):
        small = np.log(np.ldexp(x.m, np.where(near, x.e, 0).astype(np.int32)))
        if near.all():
            return small
        large = np.log(x.m) + np.where(x.m == 0, 0, x.e) * math.log(2)
    return np.where(near, small, large)


def to_float(x: Wide) -> Floats:
    """x as floats: 0 where it is too small, inf where it is too large."""
    return np.ldexp(x.m, np.clip(x.e, -2000, 2000).astype(np.int32))


def times(a: Wide, b: Wide) -> Wide:
    """a · b."""
    return Wide(a.m * b.m, a.e + b.e)


def over(a: Wide, b: Wide) -> Wide:
    """a / b, where b is not 0."""
    return Wide(a.m / b.m, a.e - b.e)


def plus(a: Wide, b: Wide) -> Wide:
    """a + b."""
    top = np.maximum(a.e, b.e)
    return normal(_shifted(a, top) + _shifted(b, top), top)


def segment_sum(items: Wide, starts: Ints, closely: bool = False) -> Wide:
    """The sums along the first axis of segments, none empty, that begin at `starts`.

    With `closely` a sum is off by one rounding only, where the machine has wider floats.

    >>> to_float(segment_sum(normal(np.array([1.0, 2.0, 4.0]), 0), np.array([0, 2])))
    array([3., 4.])
    """
    if len(starts) == len(items.m):
        return normal(items.m, items.e)
    top = np.maximum.reduceat(items.e, starts, axis=0)
    sizes = np.diff(starts, append=len(items.m))
    shifted = _shifted(items, np.repeat(top, sizes, axis=0))
    kind = np.longdouble if closely else None
    added = np.add.reduceat(shifted, starts, axis=0, dtype=kind)
    return normal(added.astype(np.float64, copy=False), top)


def total(items: Wide, axis: int) -> Wide:
    """The sums along an axis, each off by one rounding where the machine has wider floats."""
    top = items.e.max(axis=axis)
    shifted = _shifted(items, np.expand_dims(top, axis))
    return normal(shifted.sum(axis=axis, dtype=np.longdouble).astype(np.float64), top)


def _shifted(x: Wide, top: Ints) -> Floats:
    found: Floats = np.ldexp(x.m, np.maximum(x.e - top, VANISHES).astype(np.int32))
    return found
