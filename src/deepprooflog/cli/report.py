"""What commands print: results on standard output, notes about them on standard error."""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from deepprooflog.errors import Inexact, Notice, ProofLogError, Rounded
from deepprooflog.proof.render.text import probability_text
from deepprooflog.terminal import Own, json_visible

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


def emit_json(value: Mapping[str, object]) -> None:
    """One JSON object on one line."""
    sys.stdout.write(Own(json_visible(json.dumps(value)) + "\n"))


def emit_document(document: str, form: str) -> None:
    """A proof in one of its formats: as it is into a pipe or a file, harmless on a terminal."""
    if form == "json":
        sys.stdout.write(Own(json_visible(document) + "\n"))
    elif form == "text" or sys.stdout.isatty():
        print(document)
    else:
        sys.stdout.write(Own(document + "\n"))


def note(message: str) -> None:
    """A remark about a result, where it does not mix with the result."""
    print(f"note: {message}", file=sys.stderr)


def budget_note(error: ProofLogError, arguments: argparse.Namespace) -> None:
    """Say what the budget cut off and which option to raise, or what rounding hides."""
    if isinstance(error, Rounded):
        note(f"not exact: {error.message}\ntry: {error.hint}")
        return
    reached = getattr(error, "limit", None)
    options = {
        "max_goals": ("--max-goals", arguments.max_goals),
        "max_seconds": ("--max-seconds", arguments.max_seconds),
        "max_memory": ("--max-memory", arguments.max_memory),
    }
    given = [
        option if value is None else f"{option} (now {value})"
        for limit, (option, value) in options.items()
        if value is not None or limit == reached
    ]
    exact = "not exact: " if isinstance(error, Inexact) else ""
    note(f"{exact}{error.message}\ntry: a larger {' or '.join(given or ['--max-goals'])}")


@contextmanager
def notices_as_notes() -> Iterator[None]:
    """While it lasts, every `Notice` is one line `note: …`; other warnings look as before."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", Notice)
        usual = warnings.showwarning

        def show(message: Any, category: Any, *place: Any, **more: Any) -> None:
            if issubclass(category, Notice):
                note(str(message))
            else:
                usual(message, category, *place, **more)

        warnings.showwarning = show
        yield
