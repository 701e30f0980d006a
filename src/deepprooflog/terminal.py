r"""Text on its way to a terminal: what came from outside is shown, and never obeyed.

A terminal acts on control characters, and bidirectional marks reorder what stands around them. Both
come along in names, file names and the contents of files. `visible` writes them as escapes; a
`Screen` does so to all that is written to a stream, but for what is marked as our `Own`.

>>> print(visible("red \x1b[31m, bell \x07, backwards \u202e"))
red \x1b[31m, bell \x07, backwards \u202e
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any, TextIO

# Control characters, format characters (bidirectional marks, zero widths, tags), lone surrogates,
# line and paragraph separators.
HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))


class Own(str):
    """A text made here, which may steer the terminal: a carriage return, a document."""

    __slots__ = ()


def visible(text: str, keep: str = "\n\t") -> str:
    r"""The text with what a terminal would obey written as escapes; `keep` stays as it is.

    >>> visible("père 数 a\tb\r\n"), visible("two\nlines", keep="")
    ('père 数 a\tb\\r\n', 'two\\nlines')
    """
    if text.isprintable():
        return text
    return "".join(c if c in keep or not _hidden(c) else _escaped(c) for c in text)


def columns(text: str) -> int:
    """How many columns a visible text takes in a monospaced font.

    >>> columns("père"), columns("数")
    (4, 2)
    """
    return len(text) if text.isascii() else sum(column(c) for c in text)


def column(char: str) -> int:
    """How many columns a character takes."""
    if char.isascii():
        return 1
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def json_visible(text: str) -> str:
    r"""JSON text with the same written as JSON's own escapes: the value stays what it is.

    >>> print(json_visible('"\x7f \u202e"'))
    "\u007f \u202e"
    """
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or not _hidden(c) else _json_escaped(c) for c in text)


class Screen:
    """A stream that shows and does not obey; all else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write a text, visibly unless it is our own."""
        self.stream.write(text if type(text) is Own else visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write some texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _hidden(char: str) -> bool:
    return unicodedata.category(char) in HIDDEN


def _escaped(char: str) -> str:
    if char in "\n\t\r":
        return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}[char]
    number = ord(char)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _json_escaped(char: str) -> str:
    raw = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{raw[i : i + 2].hex()}" for i in range(0, len(raw), 2))
