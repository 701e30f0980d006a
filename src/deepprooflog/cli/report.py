"""What commands print: results on standard output, notes about them on standard error."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from deepprooflog.errors import Inexact, Notice, ProofLogError, Rounded
from deepprooflog.proof.render.answers import bindings as bindings
from deepprooflog.proof.render.answers import columns as columns
from deepprooflog.proof.render.answers import interval as interval
from deepprooflog.proof.render.answers import number as number
from deepprooflog.terminal import Own, json_visible


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
