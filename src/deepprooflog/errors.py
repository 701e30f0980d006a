"""The errors a user meets: one base class, each with its place and its remedy.

>>> print(SyntaxProblem("unexpected ')'", text="p(X :- q.", line=1, column=5, file="a.pl"))
a.pl:1:5: error: unexpected ')'
    p(X :- q.
        ^
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ProofLogError(Exception):
    """Base of every error the library raises on purpose.

    `line` and `column` count from 1 and are None where there is no text to point at; `text` is the
    source line; `hint` says what to try.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        text: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.text = text
        self.hint = hint

    def __str__(self) -> str:
        place = ""
        if self.line is not None:
            column = "" if self.column is None else f":{self.column}"
            place = f"{self.file or '<text>'}:{self.line}{column}: "
        elif self.file is not None:
            place = f"{self.file}: "
        parts = [f"{place}error: {self.message}" if place else self.message]
        if self.text is not None:
            parts.append(f"    {self.text.replace(chr(9), ' ')}")
            if self.column is not None:
                parts.append(" " * (3 + self.column) + "^")
        if self.hint is not None:
            parts.append(f"    try: {self.hint}" if place else f"try: {self.hint}")
        return "\n".join(parts)


class SyntaxProblem(ProofLogError):
    """The text is not a Prolog term or program."""


class ProgramError(ProofLogError):
    """The clauses parse but do not make a program (labels, unknown predicates, cuts)."""


class PrologError(ProofLogError):
    """An ISO error term thrown while a goal ran: instantiation, type, domain, evaluation, …

    `term` is the error term, e.g. `type_error(evaluable, foo/0)`.
    """

    def __init__(self, message: str, *, term: object = None, **place: object) -> None:
        super().__init__(message, **place)  # type: ignore[arg-type]
        self.term = term


class Inexact(ProofLogError):
    """The budget ended before the answer was exact; `lower` and `upper` bound it.

    `upper` is None where unlabelled alternatives may add up to more than 1, so that only the lower
    bound holds. `found` holds lower bounds of the answers met so far, where answers were asked for.
    """

    def __init__(
        self,
        message: str,
        *,
        lower: float,
        upper: float | None,
        hint: str | None = None,
        found: Mapping[Any, float] | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.lower = lower
        self.upper = upper
        self.found = found or {}


class ModelError(ProofLogError):
    """A network, scorer or tensor does not fit the program."""


class DataError(ProofLogError):
    """A data file, recipe, option or run folder is missing, damaged or not what it must be."""


class Notice(UserWarning):
    """Something in a program that is ignored, said once: `FILE:LINE: …`."""
