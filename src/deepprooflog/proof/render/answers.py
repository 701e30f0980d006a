"""Answers and probabilities for people, as commands and the top level print them."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping

from deepprooflog.proof.render.text import probability_text

LEAST_NORMAL = sys.float_info.min


def number(value: float, log: float = -math.inf) -> str:
    """A probability for people; JSON output has all its digits.

    Its logarithm, where that is given, tells one that no float is small enough for from 0.

    >>> number(0.1 + 0.2), number(1.0), number(2.5e-30), number(0.0, math.log(10) * -400)
    ('0.3', '1', '2.5e-30', '1e-400')
    """
    if value < LEAST_NORMAL and log > -math.inf:
        return probability_text(log)
    return format(value, ".10g")


def interval(lower: float, upper: float | None) -> str:
    """Bounds for people.

    >>> interval(0.25, 0.5), interval(0.25, None)
    ('between 0.25 and 0.5', 'at least 0.25')
    """
    if upper is None:
        return f"at least {number(lower)}"
    return f"between {number(lower)} and {number(upper)}"


def columns(rows: Mapping[str, float], logs: Mapping[str, float] | None = None) -> str:
    """Answers and their probabilities, aligned.

    >>> print(columns({"s(b)": 0.676, "s(long)": 0.156}))
    s(b)     0.676
    s(long)  0.156
    """
    width = max((len(text) for text in rows), default=0)
    log = {} if logs is None else logs
    return "\n".join(
        f"{text:<{width}}  {number(value, log.get(text, -math.inf))}"
        for text, value in rows.items()
    )


def bindings(answer: Mapping[str, str]) -> str:
    """One answer as Prolog's toplevel writes it.

    >>> bindings({"X": "a", "Y": "[b]"}), bindings({})
    ('X = a, Y = [b]', 'true')
    """
    return ", ".join(f"{name} = {text}" for name, text in answer.items()) or "true"
