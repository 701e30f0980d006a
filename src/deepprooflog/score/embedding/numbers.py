"""Numbers as features: sign, magnitude, and the phases of x / T for periods T.

The phases of an integer are exact however large it is; the short periods tell neighbours apart, the
long ones and the logarithm say how large a number is.
"""

from __future__ import annotations

import math

PERIODS = (2, 3, 5, 7, 10, 16, 100, 1000, 10_000, 1_000_000)
# Of the fraction of a float; an integer has none.
FRACTIONS = (1.0, 0.1, 0.01)
WIDTH = 4 + 2 * (len(PERIODS) + len(FRACTIONS))
_LARGEST = math.log(1.7976931348623157e308)
# Keeps the logarithm of everyday numbers near 1.
_SCALE = 1 / 8


def number_features(x: int | float) -> list[float]:
    """The features of a Prolog integer (int) or float.

    >>> number_features(3)[:4], number_features(-3.0)[:4]
    ([0.0, 1.0, 0.17..., 0.0], [1.0, -1.0, 0.17..., 0.0])
    """
    if isinstance(x, float) and not math.isfinite(x):
        sign = 0.0 if math.isnan(x) else math.copysign(1.0, x)
        return [1.0, sign, _LARGEST * _SCALE, 1.0, *[0.0] * (WIDTH - 4)]
    sign = float((x > 0) - (x < 0))
    features = [float(isinstance(x, float)), sign, _log(x) * _SCALE, 0.0]
    for period in PERIODS:
        features += _phase((x % period) / period)
    for fraction in FRACTIONS:
        features += _phase(x % fraction / fraction if isinstance(x, float) else 0.0)
    return features


def _log(x: int | float) -> float:
    # math.log takes integers of any length, math.log1p only those that fit a float.
    return math.log1p(abs(x)) if isinstance(x, float) else math.log(abs(x) + 1)


def _phase(turn: float) -> list[float]:
    return [math.sin(2 * math.pi * turn), math.cos(2 * math.pi * turn)]
