"""Quoting: which atoms can be written bare, and how the others are escaped."""

from __future__ import annotations

import re

from deepprooflog.syntax.lexer import SYMBOL

_BARE = re.compile(rf"[a-z][a-zA-Z0-9_]*|\[\]|\{{\}}|[!;]|(?!/\*){SYMBOL}+")
_SAFE = re.compile(r"[^\W\d_]\w*")
_ESCAPE = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\\": "\\\\",
}  # fmt: skip


def atom_text(name: str) -> str:
    """An atom's name, in quotes where it would not read back as the same atom without them.

    >>> print(*map(atom_text, ["a", "=..", "Ada", "don't", "."]))
    a =.. 'Ada' 'don\\'t' '.'
    """
    if _BARE.fullmatch(name) and name != ".":
        return name
    if _SAFE.fullmatch(name) and name[0].isalpha() and not (name[0].isupper() or name[0].istitle()):
        return name
    return quote(name, "'")


def quote(text: str, mark: str) -> str:
    """The text between two marks, with escapes for the mark, backslashes and what is unprintable.

    >>> print(quote('say "hi"\\n', '"'))
    "say \\"hi\\"\\n"
    """
    if text.isprintable() and mark not in text and "\\" not in text:
        return mark + text + mark
    parts = [mark]
    for char in text:
        if char == mark:
            parts.append("\\" + mark)
        elif char in _ESCAPE:
            parts.append(_ESCAPE[char])
        else:
            parts.append(char if char.isprintable() else f"\\x{ord(char):x}\\")
    return "".join(parts) + mark
