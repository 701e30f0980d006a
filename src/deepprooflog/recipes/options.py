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
from deepprooflog.learn.options import beyond, option

__all__ = ["assignments", "dataclass", "described", "option", "settings"]


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
            near = get_close_matches(key, known, n=1)
            hint = f"{near[0]}" if near else ", ".join(sorted(known))
            raise DataError(f"{where}: there is no option {key}", hint=hint)
        kind = str(known[key].type)
        result[key] = _checked(key, _typed(key, value, kind, where), known[key].metadata, where)
    return result


def _typed(key: str, value: object, kind: str, where: str) -> object:
    wanted = {"int": "an integer", "float": "a number", "str": "a text"}[kind]
    try:
        if kind == "str" and isinstance(value, str):
            return value
        if kind == "int" and isinstance(value, int | str) and not isinstance(value, bool):
            return int(value)
        if kind == "float" and isinstance(value, int | float | str) and not isinstance(value, bool):
            return float(value)
    except ValueError:
        pass
    raise DataError(f"{where}: {key} is {wanted}, not {value!r}")


def _checked(key: str, value: Any, metadata: Mapping[str, Any], where: str) -> Any:
    choices = metadata["choices"]
    if choices and value not in choices:
        near = get_close_matches(str(value), choices, n=1)
        raise DataError(
            f"{where}: {key} is one of {', '.join(choices)}, not {value!r}",
            hint=near[0] if near else None,
        )
    if isinstance(value, str):
        return value
    wrong = beyond(value, metadata)
    if wrong:
        raise DataError(f"{where}: {key} {wrong}")
    return value


def described(options: type) -> str:
    """The options for `--help`, one a line."""
    lines = []
    for f in fields(options):
        choices = f.metadata["choices"]
        values = (
            "|".join(choices) if choices else {"int": "N", "float": "X"}.get(str(f.type), "TEXT")
        )
        lines.append(f"  {f'{f.name}={values}':<36} {f.metadata['about']}")
    return "\n".join(lines)
