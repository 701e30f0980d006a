"""Options of a recipe: fields of a frozen dataclass, set from a file or from `--set key=value`.

A field's metadata say what it is for and which values it takes:

>>> @dataclass(frozen=True)
... class Example:
...     n: int = option(4, "digits a number", at_least=1)
...     mode: str = option("fast", "how", choices=("fast", "slow"))
>>> settings(Example, {"n": "12"}, where="--set")
{'n': 12}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

from deepprooflog.errors import DataError
from deepprooflog.learn.options import limits, option, refuse

MOST_THREADS = 256
"""More than any CPU makes use of here, and few enough that each gets its stack."""

__all__ = ["MOST_THREADS", "assignments", "dataclass", "described", "option", "settings"]


def assignments(texts: Sequence[str]) -> dict[str, str]:
    """`key=value` texts as a mapping.

    >>> assignments(["n=4", "seed=1"])
    {'n': '4', 'seed': '1'}
    """
    result: dict[str, str] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise DataError(f"--set {text}: not key=value", hint="for example  --set n=4")
        if key.strip() in result:
            raise DataError(f"--set {text}: {key.strip()} is set twice")
        result[key.strip()] = value.strip()
    return result


def settings(options: type, given: Mapping[str, object], where: str) -> dict[str, Any]:
    """Values of an options class, read from texts or checked as they are; `where` they stand."""
    known = {f.name: f for f in fields(options)}
    result = {}
    for key, value in given.items():
        if key not in known:
            near = get_close_matches(key[:80], known, n=1)
            hint = f"{near[0]}" if near else ", ".join(sorted(known))
            raise DataError(f"{where}: there is no option {key[:80]}", hint=hint)
        kind = str(known[key].type)
        typed = _typed(key, value, kind, where)
        choices = known[key].metadata["choices"]
        near = get_close_matches(str(typed)[:80], choices, n=1) if typed not in choices else []
        if near:
            told = f"{where}: {key} is one of {', '.join(choices)}, not {typed!r}"
            raise DataError(told, hint=near[0])
        refuse(key, typed, kind, known[key].metadata, f"{where}: ")
        result[key] = typed
    return result


def _typed(key: str, value: object, kind: str, where: str) -> Any:
    wanted = {"int": "an integer", "float": "a number", "str": "a text"}[kind]
    try:
        if kind == "str" and isinstance(value, str):
            # What no file is called and no terminal shows is no value either.
            value.encode()
            if "\0" not in value:
                return value
        if kind == "int" and isinstance(value, int | str) and not isinstance(value, bool):
            return int(value)
        if kind == "float" and isinstance(value, int | float | str) and not isinstance(value, bool):
            return float(value)
    except (ValueError, OverflowError):
        pass
    shown = repr(value) if _brief(value) else f"a long {type(value).__name__}"
    raise DataError(f"{where}: {key} is {wanted}, not {shown}")


def _brief(value: object) -> bool:
    """Whether a value's text is short enough for a message, and can be made at all."""
    try:
        return len(repr(value)) <= 80
    except (ValueError, RecursionError):
        return False


def described(options: type) -> str:
    """The options for `--help`, one a line, with the values each takes."""
    lines = []
    for f in fields(options):
        choices = f.metadata["choices"]
        values = (
            "|".join(choices) if choices else {"int": "N", "float": "X"}.get(str(f.type), "TEXT")
        )
        told = limits(f.metadata)
        about = f"{f.metadata['about']} ({told})" if told else f.metadata["about"]
        lines.append(f"  {f'{f.name}={values}':<36} {about}")
    return "\n".join(lines)
