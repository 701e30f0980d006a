"""The errors a user meets: one base class, each with its place and its remedy.

>>> print(SyntaxProblem("unexpected ')'", text="p(X :- q.", line=1, column=5, file="a.pl"))
a.pl:1:5: error: unexpected ')'
    p(X :- q.
        ^
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deepprooflog.terminal import columns, visible


class ProofLogError(Exception):
    """Base of every error the library raises on purpose.

    `line` and `column` count from 1 and are None where there is no text to point at; `text` is the
    source line; `hint` says what to try. As text, what a terminal would obey is shown as escapes.
    """

    told_by_first = False
    """Of several processes, whether the first one says the same."""

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
        file = visible(self.file or "<text>", keep="")
        if self.line is not None:
            column = "" if self.column is None else f":{self.column}"
            place = f"{file}:{self.line}{column}: "
        elif self.file is not None:
            place = f"{file}: "
        parts = [f"{place}error: {self.message}" if place else self.message]
        if self.text is not None:
            text = self.text.replace("\t", " ")
            parts.append(f"    {visible(text, keep='')}")
            if self.column is not None:
                before = visible(text[: self.column - 1], keep="")
                # A column beyond the text is where the text would go on.
                beyond = max(0, self.column - 1 - len(text))
                parts.append(" " * (4 + columns(before) + beyond) + "^")
        if self.hint is not None:
            parts.append(f"    try: {self.hint}" if place else f"try: {self.hint}")
        return visible("\n".join(parts))

    def __reduce__(self) -> tuple[Any, ...]:
        # Keyword-only arguments are not in `args`, by which an exception is made again.
        return _again, (type(self), self.args, self.__dict__.copy())


def _again(kind: type[ProofLogError], args: tuple[Any, ...], state: dict[str, Any]) -> Any:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


def error_text(error: ProofLogError) -> str:
    """The error as a command shows it: with its place and caret, or after the word `error`.

    >>> print(error_text(ProofLogError("no proof", hint="a query that has one")))
    error: no proof
    try: a query that has one
    """
    placeless = error.file is None and error.line is None
    return f"error: {error}" if placeless else str(error)


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


class BudgetExceeded(ProofLogError):
    """A search used up its budget; `limit` names the limit, `hint` says what to try.

    `found` holds what there was until then, where results come one by one.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        limit: str = "max_steps",
        found: Sequence[Any] = (),
    ) -> None:
        super().__init__(message, hint=hint)
        self.limit = limit
        self.found = found


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


class Rounded(Inexact):
    """All derivations were counted, but rounding may be off by more than 1e-9 of the result."""


class ModelError(ProofLogError):
    """A network, scorer or tensor does not fit the program."""


class DataError(ProofLogError):
    """A data file, recipe, option or run folder is missing, damaged or not what it must be."""


class Notice(UserWarning):
    """Something that works, but perhaps not as it was meant: what is ignored, or may go wrong."""


class Stopped(KeyboardInterrupt):
    """A signal ended the work, at a place where it could be saved; `signal` is its number."""

    def __init__(self, message: str = "interrupted", signal: int = 2) -> None:
        super().__init__(message, signal)
        self.message = message
        self.signal = signal

    def __str__(self) -> str:
        return self.message

    @property
    def status(self) -> int:
        """The exit status that tells a shell which signal it was."""
        return 128 + self.signal
