"""Writing terms to the solver's output, and the column stops of `format/2`."""

from __future__ import annotations

import sys
from typing import Any

from deepprooflog.logic.builtins.registry import det
from deepprooflog.logic.builtins.terms import require_list
from deepprooflog.logic.limits.room import require_text
from deepprooflog.logic.solver.arithmetic import evaluate
from deepprooflog.logic.solver.iso_errors import domain_error, instantiation_error, type_error
from deepprooflog.logic.solver.machine import Machine
from deepprooflog.syntax.terms import Atom, Float, Struct, Term, Var, deref
from deepprooflog.syntax.writer import write_term


class Columns:
    """Text under way; `start` is the column it begins in."""

    def __init__(self, start: int = 0) -> None:
        self._done: list[str] = []
        self._pending = ""
        self._fills: list[tuple[int, str]] = []
        # Where the pending text begins, which is the last stop.
        self._stop = start

    def write(self, text: str) -> None:
        self._pending += text

    def fill(self, char: str) -> None:
        """A place that grows with `char` when the next stop is reached."""
        self._fills.append((len(self._pending), char))

    @property
    def column(self) -> int:
        """The column that the next character stands in."""
        return column_after(self._stop, self._pending)

    def stop(self, at: int | None) -> None:
        """A column stop; None stands for the column reached."""
        missing = 0 if at is None else at - self.column
        text = self._pending if missing <= 0 else self._stretched(missing)
        self._done.append(text)
        self._stop = column_after(self._stop, text)
        self._pending, self._fills = "", []

    def stop_after(self, width: int) -> None:
        """A stop so many columns after the last one."""
        self.stop(self._stop + width)

    def _stretched(self, missing: int) -> str:
        # Without a place to fill, the text keeps to the left; what cannot be shared goes last.
        fills = self._fills or [(len(self._pending), " ")]
        share, rest = divmod(missing, len(fills))
        parts, at = [], 0
        for number, (place, char) in enumerate(fills, 1):
            parts.append(self._pending[at:place])
            parts.append(char * (share + (rest if number == len(fills) else 0)))
            at = place
        return "".join(parts) + self._pending[at:]

    def text(self) -> str:
        """Everything written."""
        return "".join(self._done) + self._pending


def column_after(column: int, text: str) -> int:
    """The column after a text that begins in a column.

    >>> column_after(3, "ab"), column_after(3, "ab\\nc")
    (5, 1)
    """
    line = text.rfind("\n")
    return column + len(text) if line < 0 else len(text) - line - 1


_OPTIONS = ("quoted", "ignore_ops", "numbervars")
# A column, a count or a number of digits beyond this is a mistake, not a page.
LONGEST = 1_000_000


def emit(m: Machine, text: str) -> bool:
    """Write text; always true."""
    (m.output or sys.stdout).write(text)
    m.column = column_after(m.column, text)
    return True


def shown(m: Machine, term: Term, **options: bool) -> str:
    """A term as text under the program's operators."""
    return write_term(term, operators=m.operators, **{"quoted": False, **options})  # type: ignore[arg-type]


@det("write", 1, iso=True)
def write(m: Machine, args: Any) -> bool:
    return emit(m, shown(m, args[0], numbervars=True))


@det("writeln", 1)
def writeln(m: Machine, args: Any) -> bool:
    return emit(m, shown(m, args[0], numbervars=True) + "\n")


@det("writeq", 1, iso=True)
@det("print", 1)
def writeq(m: Machine, args: Any) -> bool:
    return emit(m, shown(m, args[0], quoted=True, numbervars=True))


@det("write_canonical", 1, iso=True)
def write_canonical(m: Machine, args: Any) -> bool:
    return emit(m, shown(m, args[0], quoted=True, ignore_ops=True))


@det("write_term", 2, iso=True)
def write_term_(m: Machine, args: Any) -> bool:
    options: dict[str, bool] = {}
    for option in require_list(args[1]):
        if type(option) is Var:
            raise instantiation_error("an option of write_term/2 is not bound")
        if type(option) is not Struct or len(option.args) != 1:
            raise domain_error("write_option", option)
        value = deref(option.args[0])
        if type(value) is Var:
            raise instantiation_error("an option of write_term/2 has an unbound value")
        if option.functor.name in _OPTIONS:
            if value not in (Atom("true"), Atom("false")):
                raise domain_error("write_option", option)
            options[option.functor.name] = value is Atom("true")
    return emit(m, shown(m, args[0], **options))


@det("nl", 0, iso=True)
def nl(m: Machine, args: Any) -> bool:
    return emit(m, "\n")


@det("tab", 1)
def tab(m: Machine, args: Any) -> bool:
    count = evaluate(args[0])
    if type(count) is not int:
        raise type_error("integer", Float(count))
    require_text(count)
    return emit(m, " " * count)


@det("put_char", 1, iso=True)
def put_char(m: Machine, args: Any) -> bool:
    char = deref(args[0])
    if type(char) is Var:
        raise instantiation_error("put_char/1 needs a character")
    if type(char) is not Atom or len(char.name) != 1:
        raise type_error("character", char)
    return emit(m, char.name)
