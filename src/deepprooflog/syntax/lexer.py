"""Tokens: the text of one clause as a list, ISO's rules for quoting, escapes and numbers.

The lexer knows no operators: they change as a program is read, its tokens do not. A minus sign is
a token of its own and '(' right after a token is told from '(' after layout, so that the reader can
tell `- 1`, `-(1)` and `- (1)` apart.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple

from deepprooflog.errors import SyntaxProblem
from deepprooflog.syntax.numerals import parse_integer
from deepprooflog.syntax.terms import Float


class TokenKind(Enum):
    """What a token is."""

    NAME = auto()
    QUOTED = auto()
    VARIABLE = auto()
    NUMBER = auto()
    STRING = auto()
    OPEN = auto()
    OPEN_CT = auto()
    CLOSE = auto()
    OPEN_LIST = auto()
    CLOSE_LIST = auto()
    OPEN_CURLY = auto()
    CLOSE_CURLY = auto()
    COMMA = auto()
    BAR = auto()
    END = auto()
    END_OF_TEXT = auto()
    BROKEN = auto()


class Token(NamedTuple):
    """A token and where it stands; `value` is the name, the text, the number or the problem."""

    kind: TokenKind
    value: str | int | Float | SyntaxProblem
    start: int
    end: int


_LAYOUT = r"(?:\s++|%[^\n]*+|/\*(?s:.*?)\*/)*+"
LAYOUT = re.compile(_LAYOUT)
SYMBOL = r"[-+*/\\^<>=~:.?@#&$]"
_CONTROL = r"\x00-\x1f\x7f"

_TOKEN = re.compile(
    _LAYOUT
    + rf"""(?:
      (?P<name>   [a-z]\w*+ | [!;] )
    | (?P<var>    [A-Z_]\w*+ )
    | (?P<punct>  [()\[\]{{}},|] )
    | (?P<float>  [0-9]++\.[0-9]++(?:[eE][-+]?[0-9]++)? )
    | (?P<radix>  0(?:b[01]++|o[0-7]++|x[0-9a-fA-F]++) )
    | (?P<int>    [0-9]++ )
    | (?P<end>    \.(?=[\s%]|\Z) )
    | (?P<symbol> {SYMBOL}++ )
    | (?P<quoted> '[^'\\{_CONTROL}]*+'(?!') )
    | (?P<string> "[^"\\{_CONTROL}]*+"(?!") )
    | (?P<word>   [^\W\d_]\w*+ )
    | (?P<eof>    \Z )
    | (?P<other>  (?s:.) )
    )""",
    re.VERBOSE,
)

_PUNCTUATION = {
    ")": TokenKind.CLOSE,
    "[": TokenKind.OPEN_LIST,
    "]": TokenKind.CLOSE_LIST,
    "{": TokenKind.OPEN_CURLY,
    "}": TokenKind.CLOSE_CURLY,
    ",": TokenKind.COMMA,
    "|": TokenKind.BAR,
}
_RADIX = {"b": 2, "o": 8, "x": 16}
_LEAST_NORMAL = 2.0**-1022

_PLAIN = re.compile(rf"[^'\"`\\{_CONTROL}]+")
_CONTINUATION = re.compile(r"\\\r?\n")
_NUMERIC_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]+)|([0-7]+))\\")
_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`",
}  # fmt: skip


class _Fault(Exception):
    """A problem at an offset, before it is given its line and column."""

    def __init__(self, message: str, offset: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.hint = hint


def problem(
    text: str, offset: int, message: str, file: str | None = None, hint: str | None = None
) -> SyntaxProblem:
    """A `SyntaxProblem` at an offset of the text: line, column and source line filled in."""
    begin = text.rfind("\n", 0, offset) + 1
    finish = text.find("\n", offset)
    return SyntaxProblem(
        message,
        file=file,
        line=text.count("\n", 0, offset) + 1,
        column=offset - begin + 1,
        text=text[begin : finish if finish >= 0 else len(text)].rstrip("\r"),
        hint=hint,
    )


def tokenize(text: str, start: int = 0, file: str | None = None) -> list[Token]:
    """The tokens of one clause, from `start` to its END (or END_OF_TEXT).

    Text that is no token ends the list as a BROKEN token, so that the reader can complain first
    about what comes before it.

    >>> [t.value for t in tokenize("nn(m, [X], D, 0..9).")]
    ['nn', '(', 'm', ',', '[', 'X', ']', ',', 'D', ',', 0, '..', 9, ')', '.']
    """
    tokens: list[Token] = []
    end = start
    match = _TOKEN.match
    while True:
        found = match(text, end)
        assert found is not None
        group = found.lastgroup
        assert group is not None
        previous_end = end
        begin, end = found.span(group)
        value = text[begin:end]
        if group == "name":
            tokens.append(Token(TokenKind.NAME, value, begin, end))
        elif group == "var":
            tokens.append(Token(TokenKind.VARIABLE, value, begin, end))
        elif group == "punct":
            if value == "(":
                kind = TokenKind.OPEN_CT if begin == previous_end and tokens else TokenKind.OPEN
            else:
                kind = _PUNCTUATION[value]
            tokens.append(Token(kind, value, begin, end))
        elif group == "end":
            tokens.append(Token(TokenKind.END, value, begin, end))
            return tokens
        elif group == "eof":
            tokens.append(Token(TokenKind.END_OF_TEXT, "end of text", begin, end))
            return tokens
        else:
            try:
                token = _rarer(text, group, value, begin, end)
            except _Fault as fault:
                error = problem(text, fault.offset, fault.message, file, fault.hint)
                tokens.append(Token(TokenKind.BROKEN, error, begin, end))
                return tokens
            tokens.append(token)
            end = token.end


def _rarer(text: str, group: str, value: str, begin: int, end: int) -> Token:
    if group == "symbol":
        if value.startswith("/*"):
            raise _Fault("this block comment is never closed", begin, "close it with */")
        return Token(TokenKind.NAME, value, begin, end)
    if group == "int":
        if value == "0" and text.startswith("'", end):
            return _character_code(text, begin)
        return Token(TokenKind.NUMBER, parse_integer(value), begin, end)
    if group == "float":
        number = float(value)
        if number in (float("inf"), float("-inf")):
            raise _Fault(f"the float {value} is too large", begin)
        # Up to 15 digits a float gives back as they are; tiny ones lose some, or all.
        rounded = len(value) > 16 or number < _LEAST_NORMAL
        return Token(TokenKind.NUMBER, Float(number, value if rounded else None), begin, end)
    if group == "radix":
        return Token(TokenKind.NUMBER, int(value[2:], _RADIX[value[1]]), begin, end)
    if group == "quoted":
        return Token(TokenKind.QUOTED, value[1:-1], begin, end)
    if group == "string":
        return Token(TokenKind.STRING, value[1:-1], begin, end)
    if group == "word" and value[0].isalpha():
        upper = value[0].isupper() or value[0].istitle()
        return Token(TokenKind.VARIABLE if upper else TokenKind.NAME, value, begin, end)
    if value == "'":
        name, end = _quoted(text, begin)
        return Token(TokenKind.QUOTED, name, begin, end)
    if value == '"':
        string, end = _quoted(text, begin)
        return Token(TokenKind.STRING, string, begin, end)
    if value == "`":
        raise _Fault("back quotes have no meaning here", begin, "use '…' or \"…\"")
    raise _Fault(f"unexpected character {value[0]!r}", begin, "quote it: '…'")


def _character_code(text: str, begin: int) -> Token:
    """`0'c`; where no character follows the quote, the 0 stands alone before a quoted atom."""
    at = begin + 2
    char = text[at : at + 1]
    if char == "'":
        if text.startswith("''", at):
            return Token(TokenKind.NUMBER, ord("'"), begin, at + 2)
        return Token(TokenKind.NUMBER, 0, begin, begin + 1)
    if char == "\\":
        if _CONTINUATION.match(text, at):
            return Token(TokenKind.NUMBER, 0, begin, begin + 1)
        code, end = _escape(text, at)
        return Token(TokenKind.NUMBER, ord(code), begin, end)
    if char == "" or char < " " or char == "\x7f":
        raise _Fault("expected a character after 0'", begin, "write \\t, \\n or a hex escape")
    return Token(TokenKind.NUMBER, ord(char), begin, at + 1)


def _quoted(text: str, begin: int) -> tuple[str, int]:
    """The value of a quoted item and the offset after its closing quote."""
    quote = text[begin]
    what = "quoted atom" if quote == "'" else "string"
    parts: list[str] = []
    at = begin + 1
    while True:
        plain = _PLAIN.match(text, at)
        if plain:
            parts.append(plain.group())
            at = plain.end()
        char = text[at : at + 1]
        if char == quote:
            if not text.startswith(quote, at + 1):
                return "".join(parts), at + 1
            parts.append(quote)
            at += 2
        elif char == "\\":
            continuation = _CONTINUATION.match(text, at)
            if continuation:
                at = continuation.end()
            else:
                part, at = _escape(text, at)
                parts.append(part)
        elif char == "" or char in "\r\n":
            raise _Fault(
                f"this {what} is not closed on its line",
                begin,
                f"close it with {quote}, write \\n for a newline",
            )
        elif char in "'\"`":
            parts.append(char)
            at += 1
        else:
            raise _Fault(
                f"a {what} may not hold the control character {char!r}",
                at,
                "write it as an escape: " + {"\t": "\\t"}.get(char, f"\\x{ord(char):x}\\"),
            )


def _escape(text: str, at: int) -> tuple[str, int]:
    """The character a backslash sequence stands for and the offset after it."""
    numeric = _NUMERIC_ESCAPE.match(text, at)
    if numeric:
        code = int(numeric[1], 16) if numeric[1] else int(numeric[2], 8)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise _Fault(f"{numeric.group()} is no character", at)
        return chr(code), numeric.end()
    char = text[at + 1 : at + 2]
    if char and char in _ESCAPES:
        return _ESCAPES[char], at + 2
    if char and char in "x01234567":
        raise _Fault(
            "expected digits and a closing \\ in this escape", at, "e.g. \\x41\\ or \\101\\"
        )
    raise _Fault(
        f"unknown escape \\{char if char.isprintable() else ''}".rstrip(),
        at,
        "escapes are \\a \\b \\f \\n \\r \\t \\v \\\\ \\' \\\" \\` \\x41\\ \\101\\",
    )
