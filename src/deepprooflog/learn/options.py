"""Options as fields of a frozen dataclass: a field's metadata say what it is for and its limits.

Every number has a lowest and a highest value; `beyond` is the one place where they are compared.

>>> from dataclasses import dataclass, fields
>>> @dataclass(frozen=True)
... class Example:
...     share: float = option(0.5, "of the whole", at_least=0, below=1)
...     threads: int = option(0, "of the CPU", at_least=0, at_most=256)
>>> beyond(2, fields(Example)[0].metadata)
'is at least 0 and below 1, not 2'
>>> check(Example(threads=100000))
Traceback (most recent call last):
...
deepprooflog.errors.DataError: threads is at least 0 and at most 256, not 100000
try: threads=256
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from typing import Any

from deepprooflog.errors import DataError

MOST = 10**9
"""The highest of counts that only time limits: steps, patience, how many of what there is."""


def option(
    default: Any,
    about: str,
    *,
    choices: Sequence[str] = (),
    at_least: float = -math.inf,
    above: float = -math.inf,
    below: float = math.inf,
    at_most: float = math.inf,
) -> Any:
    """A field of an options class: its default, what it is for, the values it takes."""
    metadata = {
        "about": about, "choices": tuple(choices), "at_least": at_least, "above": above,
        "below": below, "at_most": at_most,
    }  # fmt: skip
    return field(default=default, metadata=metadata)


def limits(metadata: Mapping[str, Any]) -> str:
    """The values an option takes, for people; empty where it takes any.

    >>> from dataclasses import field
    >>> limits(option(1, "", at_least=1, at_most=1_000_000).metadata)
    'at least 1 and at most 1000000'
    """
    told = [
        f"{name} {_short(metadata[key])}"
        for key, name in (("at_least", "at least"), ("above", "above"), ("below", "below"),
                          ("at_most", "at most"))
        if math.isfinite(metadata[key])
    ]  # fmt: skip
    return " and ".join(told)


def beyond(value: float, metadata: Mapping[str, Any]) -> str:
    """What is wrong with a number that is beyond its option's limits; empty when it is within."""
    low = value >= metadata["at_least"] and value > metadata["above"]
    if low and value < metadata["below"] and value <= metadata["at_most"]:
        return ""
    told = limits(metadata)
    finite = "" if math.isfinite(metadata["below"]) or math.isfinite(metadata["at_most"]) else (
        " and finite" if told else "finite"
    )  # fmt: skip
    return f"is {told}{finite}, not {_short(value)}"


def nearest(value: float, metadata: Mapping[str, Any]) -> float | None:
    """The allowed value to try in place of one that is not."""
    for key, wrong in (("at_least", value < metadata["at_least"]),
                       ("at_most", value > metadata["at_most"])):  # fmt: skip
        if wrong and math.isfinite(metadata[key]):
            return float(metadata[key])
    return None


def check(options: Any) -> None:
    """Refuse an options object with a value that its field does not take."""
    for f in fields(options):
        value = getattr(options, f.name)
        refuse(f.name, value, str(f.type), f.metadata)


def refuse(key: str, value: Any, kind: str, metadata: Mapping[str, Any], where: str = "") -> None:
    """Refuse a value that an option does not take, with what to try."""
    choices = metadata["choices"]
    if choices and value not in choices:
        raise DataError(f"{where}{key} is one of {', '.join(choices)}, not {value!r}")
    if kind not in ("int", "float"):
        return
    wrong = "is a number" if isinstance(value, bool | str) else beyond(value, metadata)
    if wrong:
        near = None if isinstance(value, bool | str) else nearest(value, metadata)
        raise DataError(
            f"{where}{key} {wrong}", hint=None if near is None else f"{key}={_short(near)}"
        )


def _short(value: float) -> str:
    if isinstance(value, int) and value.bit_length() > 64:
        return f"an integer of {value.bit_length()} bits"
    return str(value) if isinstance(value, int) else f"{value:.10g}"
