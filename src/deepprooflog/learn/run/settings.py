"""Settings: options by key, as a recipe file, `--set`, a saved run or Python gives them.

    prior.lr = 0.01      an option of a section; in TOML and JSON also a table
    prior = rotate       a section by its main option: prior.kind = rotate
    prior_lr = 0.01      an older name, by the table OLD_NAMES of the options class, with a notice

>>> from dataclasses import dataclass
>>> from deepprooflog.learn.run.options import check, option, section
>>> @dataclass(frozen=True)
... class Prior:
...     kind: str = option("complex", "of the score", choices=("complex", "rotate"))
...     filtered: bool = option(False, "leave out training triples")
>>> @dataclass(frozen=True)
... class Example:
...     OLD_NAMES = {"prior_filtered": ("prior.filtered",)}
...     seed: int = option(0, "of everything", at_least=0, at_most=99)
...     prior: Prior = section(Prior, "what is believed", main="kind")
>>> settings(Example, {"prior": "rotate", "prior.filtered": "true"}, "--set")
{'prior.kind': 'rotate', 'prior.filtered': True}
>>> options_from(Example, {"seed": 3, "prior": {"filtered": True}})
Example(seed=3, prior=Prior(kind='complex', filtered=True))
>>> settings(Example, {"filterd": 1}, "--set")
Traceback (most recent call last):
...
deepprooflog.errors.DataError: --set: there is no option filterd
try: prior.filtered
"""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass, replace
from difflib import get_close_matches
from typing import Any, TypeVar, cast

from deepprooflog.errors import DataError, Notice
from deepprooflog.learn.run.options import WANTED, limits, option_fields, refuse, sections

Options = TypeVar("Options")

TRUTHS: Mapping[object, bool] = {"true": True, "false": False, "1": True, "0": False}
NAMED = {"int": "N", "str": "TEXT", "bool": "true|false"}
WIDTH, COLUMN = 79, 30  # of the help


def assignments(texts: Sequence[str]) -> dict[str, str]:
    """`key=value` texts as a mapping.

    >>> assignments(["n=4", "prior.lr=0.1"])
    {'n': '4', 'prior.lr': '0.1'}
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


def settings(
    options: type, given: Mapping[str, object], where: str, *, notice: bool = True
) -> dict[str, Any]:
    """Values by key, read from texts or checked as they are; `where` they stand."""
    known = option_fields(options)
    old_names = _old_names(options)
    result: dict[str, Any] = {}
    names: dict[str, str] = {}
    for name, value in _leaves(options, given):
        keys = _keys(options, name)
        if not keys:
            raise _unknown(options, name, where)
        for key in keys:
            if names.setdefault(key, name) != name:
                raise DataError(f"{where}: {names[key]} and {name} are one option, {key}")
            f = known[key]
            kind = str(f.type)
            typed = _typed(name, value, kind, where)
            if name in old_names and kind.endswith(" | None") and typed == -1:
                typed = None  # which the older name had no other number for
            _suggest(name, typed, f.metadata["choices"], where)
            refuse(name, typed, kind, f.metadata, f"{where}: ")
            result[key] = typed
    moved = [
        f"{name} is now {' and '.join(old_names[name])}"
        for name in dict.fromkeys(names.values())
        if name in old_names
    ]
    if moved and notice:
        warnings.warn(f"{where}: {', '.join(moved)}", Notice, stacklevel=3)
    return result


def build(options: type[Options], values: Mapping[str, Any]) -> Options:
    """An options object from values by key, as `settings` gives them."""
    return _changed(options(), values)


def options_from(options: type[Options], given: Mapping[str, object]) -> Options:
    """An options object from keys in any of their forms."""
    return build(options, settings(options, given, options.__name__))


def values_of(options: Any) -> dict[str, Any]:
    """The value of every option, by its key.

    >>> from deepprooflog.learn.ppo import Ppo
    >>> values_of(Ppo())["clip"]
    0.2
    """
    result = {}
    for key in option_fields(options):
        value = options
        for part in key.split("."):
            value = getattr(value, part)
        result[key] = value
    return result


def as_tables(options: Any) -> dict[str, Any]:
    """Every option as nested tables, for a file; what is inherited stands once."""
    result: dict[str, Any] = {}
    for key, value in values_of(options).items():
        *outer, name = key.split(".")
        table = result
        for part in outer:
            table = table.setdefault(part, {})
        table[name] = value
    return result


def described(options: type) -> str:
    """The options for `--set help`: the sections one after another, each option with its values."""
    lines = _described("", options)
    for name, f in sections(options).items():
        main = f.metadata["main"]
        short = f"; {name}={main.upper()} sets {name}.{main}" if main else ""
        lines += ["", f"{name}: {f.metadata['about']}{short}", *_described(f"{name}.", f.default)]
    return "\n".join(lines)


def _described(prefix: str, options: Any) -> list[str]:
    lines = []
    for key, f in option_fields(options).items():
        if "." in key or (prefix and f.metadata["inherited"]):
            continue
        kind = str(f.type)
        values = "|".join(f.metadata["choices"]) or NAMED.get(kind, "X")
        default = str(f.default) if isinstance(f.default, str) else str(f.default).lower()
        notes = [f"default {default}" if default else "", limits(f.metadata)]
        about = f.metadata["about"]
        if any(notes):
            about = f"{about} ({'; '.join(filter(None, notes))})"
        first = f"  {prefix}{key}={values}"
        body = textwrap.wrap(about, WIDTH - COLUMN)
        if len(first) < COLUMN - 1:
            first = f"{first:<{COLUMN}}{body.pop(0)}"
        lines += [first, *(" " * COLUMN + line for line in body)]
    return lines


def _old_names(options: type) -> Mapping[str, tuple[str, ...]]:
    return cast("Mapping[str, tuple[str, ...]]", getattr(options, "OLD_NAMES", {}))


def _leaves(
    options: Any, given: Mapping[str, object], at: str = ""
) -> Iterator[tuple[str, object]]:
    """Names and values, those in the table of a section with its name before a dot."""
    inner = sections(options)
    for name, value in given.items():
        if name in inner and isinstance(value, Mapping):
            yield from _leaves(inner[name].default, value, f"{at}{name}.")
        else:
            yield f"{at}{name}", value


def _keys(options: type, name: str) -> tuple[str, ...]:
    """The options that a name stands for; none for a name that is unknown."""
    if name in option_fields(options):
        return (name,)
    inner = sections(options)
    if name in inner:
        main = inner[name].metadata["main"]
        return (f"{name}.{main}",) if main else ()
    return _old_names(options).get(name, ())


def _unknown(options: type, name: str, where: str) -> DataError:
    keys = [*option_fields(options)]
    own = [key for key in keys if key.startswith(f"{name}.")]
    if own:
        return DataError(f"{where}: {name} is a section", hint=" or ".join(own[:3]) + " …")
    meant: dict[str, list[str]] = {}
    for key in keys:
        meant.setdefault(key.rpartition(".")[2], []).append(key)
    meant |= {old: list(new) for old, new in _old_names(options).items()}
    mains = [name for name, f in sections(options).items() if f.metadata["main"]]
    meant |= {key: [key] for key in (*keys, *mains)}
    short = name[:80]
    last = short.rpartition(".")[2]
    near = [last] if last in meant else get_close_matches(short, meant, n=1)
    near = near or get_close_matches(last, meant, n=1)
    hint = " or ".join(meant[near[0]]) if near else "dprl train RECIPE --set help"
    return DataError(f"{where}: there is no option {short}", hint=hint)


def _suggest(name: str, value: object, choices: Sequence[str], where: str) -> None:
    """Refuse what is nearly one of the choices with the one that was meant."""
    near = [] if value in choices else get_close_matches(str(value)[:80], choices, n=1)
    if near:
        told = f"{where}: {name} is one of {', '.join(choices)}, not {value!r}"
        raise DataError(told, hint=near[0])


def _typed(name: str, value: object, kind: str, where: str) -> Any:
    plain = kind.removesuffix(" | None")
    try:
        if plain != kind and (value is None or value == "none"):
            return None
        if plain == "str" and isinstance(value, str):
            # What no file is called and no terminal shows is no value either.
            value.encode()
            if "\0" not in value:
                return value
        if plain == "bool" and isinstance(value, int | str):
            return TRUTHS[str(value).lower()]
        if isinstance(value, bool):
            raise ValueError
        if plain == "int" and isinstance(value, int | str):
            return int(value)
        if plain == "float" and isinstance(value, int | float | str):
            return float(value)
    except (KeyError, ValueError, OverflowError):
        pass
    shown = repr(value) if _brief(value) else f"a long {type(value).__name__}"
    raise DataError(f"{where}: {name} is {WANTED[kind]}, not {shown}")


def _brief(value: object) -> bool:
    """Whether a value's text is short enough for a message, and can be made at all."""
    try:
        return len(repr(value)) <= 80
    except (ValueError, RecursionError):
        return False


def _changed(options: Options, values: Mapping[str, Any]) -> Options:
    own: dict[str, Any] = {}
    inner: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        name, dot, rest = key.partition(".")
        if dot:
            inner.setdefault(name, {})[rest] = value
        else:
            own[name] = value
    for name, theirs in inner.items():
        own[name] = _changed(getattr(options, name), theirs)
    assert is_dataclass(options) and not isinstance(options, type)
    return replace(options, **own)
