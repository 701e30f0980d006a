"""Options as fields of frozen dataclasses: what each is for, the values it takes, its limits.

A field may be a section, an options class of its own; the options of a section are named by keys
with a dot. Every number has a lowest and a highest value; `beyond` is the one place where they are
compared, whether a value comes from a text or from Python.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Fit:
...     lr: float = option(0.01, "learning rate", above=0, at_most=100)
...     seed: int = option(0, "of the order", at_least=0, at_most=99, inherited=True)
>>> @dataclass(frozen=True)
... class Example(CheckedOptions):
...     seed: int = option(0, "of everything", at_least=0, at_most=99)
...     fit: Fit = section(Fit, "how it is trained")
>>> list(option_fields(Example))
['seed', 'fit.lr']
>>> Example(seed=7).fit.seed
7
>>> Example(seed=100)
Traceback (most recent call last):
...
deepprooflog.errors.DataError: seed is at least 0 and at most 99, not 100
try: seed=99
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import Field, field, fields, replace
from numbers import Integral, Real
from typing import Any

from deepprooflog.errors import DataError

MOST = 10**9
"""The highest of counts that only time limits: steps, patience, how many of what there is."""
MOST_THREADS = 256
"""More than any CPU makes use of here, and few enough that each gets its stack."""

WANTED = {
    "int": "an integer", "float": "a number", "str": "a text", "bool": "true or false",
    "float | None": "a number or none",
}  # fmt: skip
_PYTHON: Mapping[str, type] = {"int": Integral, "float": Real, "str": str, "bool": bool}


def option(
    default: Any,
    about: str,
    *,
    choices: Sequence[str] = (),
    at_least: float = -math.inf,
    above: float = -math.inf,
    below: float = math.inf,
    at_most: float = math.inf,
    inherited: bool = False,
) -> Any:
    """A field of an options class: its default, what it is for, the values it takes.

    One that is `inherited` has in a section the value of the outer option of the same name.
    """
    metadata = {
        "about": about, "choices": tuple(choices), "at_least": at_least, "above": above,
        "below": below, "at_most": at_most, "inherited": inherited,
    }  # fmt: skip
    return field(default=default, metadata=metadata)


def section(options: type, about: str, *, main: str = "") -> Any:
    """A field that is an options class; a plain text in its place sets the option `main`."""
    return field(default=options(), metadata={"about": about, "main": main})


def sections(options: Any) -> dict[str, Field[Any]]:
    """The fields of an options class that are sections, by name."""
    return {f.name: f for f in fields(options) if "main" in f.metadata}


def option_fields(options: Any) -> dict[str, Field[Any]]:
    """Every option that can be set, by its key; those of sections, last, with a dot."""
    result: dict[str, Field[Any]] = {}
    for f in sorted(fields(options), key=lambda f: "main" in f.metadata):
        if "main" in f.metadata:
            inner = option_fields(f.default).items()
            result |= {f"{f.name}.{key}": g for key, g in inner if not g.metadata["inherited"]}
        elif "choices" in f.metadata:
            result[f.name] = f
    return result


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
    """What is wrong with a number that is beyond its option's limits; empty when it is within.

    >>> beyond(2, option(0.5, "of the whole", at_least=0, below=1).metadata)
    'is at least 0 and below 1, not 2'
    """
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
    """Refuse an options object with a value that its field does not take; let sections inherit.

    To be called by `__post_init__`: an options object that exists is one that holds together.
    """
    for f in fields(options):
        value = getattr(options, f.name)
        if "choices" in f.metadata:
            refuse(f.name, value, str(f.type), f.metadata)
        elif "main" in f.metadata:
            kind: Any = type(f.default)
            if not isinstance(value, kind):
                raise DataError(f"{f.name} is a {kind.__name__}, not {value!r:.80}")
            outer = {g.name: getattr(options, g.name) for g in fields(value)
                     if g.metadata.get("inherited")}  # fmt: skip
            if any(getattr(value, name) != own for name, own in outer.items()):
                object.__setattr__(options, f.name, replace(value, **outer))


class CheckedOptions:
    """Options that are refused where they are made, when a value is not one of theirs."""

    def __post_init__(self) -> None:
        check(self)


def refuse(key: str, value: Any, kind: str, metadata: Mapping[str, Any], where: str = "") -> None:
    """Refuse a value that an option does not take, with what to try."""
    choices = metadata["choices"]
    if choices and value not in choices:
        raise DataError(f"{where}{key} is one of {', '.join(choices)}, not {value!r}")
    if value is None and kind.endswith(" | None"):
        return
    plain = kind.removesuffix(" | None")
    fitting: Any = _PYTHON[plain]
    if not isinstance(value, fitting) or (plain != "bool" and isinstance(value, bool)):
        raise DataError(f"{where}{key} is {WANTED[kind]}, not {value!r:.80}")
    wrong = beyond(value, metadata) if plain in ("int", "float") else ""
    if wrong:
        near = nearest(value, metadata)
        raise DataError(
            f"{where}{key} {wrong}", hint=None if near is None else f"{key}={_short(near)}"
        )


def _short(value: float) -> str:
    if isinstance(value, int) and value.bit_length() > 64:
        return f"an integer of {value.bit_length()} bits"
    return str(value) if isinstance(value, int) else f"{value:.10g}"
