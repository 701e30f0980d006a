"""From the tokens of one clause to a term: operator precedence with explicit stacks.

The parser is always in one of two states. *Operand*: a term must begin here, so a name may be a
prefix operator. *Operator*: a term has ended here, so a name must be infix or postfix. Brackets
open a `_Frame`; the operators still waiting for their right argument stand in the frame's
`pending`. No part recurses, so depth is bounded by memory alone.

As in ISO, an atom that is an operator is an operand only alone in its brackets or argument:
`f(+)` and `(-) - (-)` are terms, `- = -` is not.
"""

from __future__ import annotations

from typing import NamedTuple, NoReturn

from deepprooflog.errors import SyntaxProblem
from deepprooflog.syntax.lexer import Token, TokenKind, problem
from deepprooflog.syntax.operators import Operator, Operators
from deepprooflog.syntax.terms import (
    CONS,
    CURLY,
    NIL,
    Atom,
    Float,
    Functor,
    Str,
    Struct,
    Term,
    Var,
    make_list,
)


class _Pending(NamedTuple):
    """An operator that waits for its right argument; `left` is None for prefix operators."""

    operator: Operator
    name: str
    left: Term | None


class _Frame:
    """An open bracket (or the clause itself) and what has been read inside it."""

    __slots__ = ("bar", "close", "items", "limit", "name", "pending", "start")

    def __init__(self, close: TokenKind, limit: int, start: int, name: str = "") -> None:
        self.close = close
        self.limit = limit
        self.start = start
        self.name = name
        self.items: list[Term] = []
        self.pending: list[_Pending] = []
        self.bar = False

    @property
    def separated(self) -> bool:
        """True in arguments and lists, where a comma separates."""
        return self.limit == 999

    def ends(self, kind: TokenKind) -> bool:
        """True when a token of this kind ends an element of the frame."""
        if kind is self.close:
            return True
        if not self.separated or self.bar:
            return False
        return kind is TokenKind.COMMA or (
            kind is TokenKind.BAR and self.close is TokenKind.CLOSE_LIST
        )


_EXPECTED = {
    TokenKind.END: "an operator or '.'",
    TokenKind.END_OF_TEXT: "an operator or '.'",
    TokenKind.CLOSE_LIST: "',', '|' or ']' in list",
    TokenKind.CLOSE_CURLY: "an operator or '}'",
}
_OPENING = {
    TokenKind.OPEN_LIST: (TokenKind.CLOSE_LIST, "[]"),
    TokenKind.OPEN_CURLY: (TokenKind.CLOSE_CURLY, "{}"),
}
_BRACKET = {TokenKind.CLOSE: "(", TokenKind.CLOSE_LIST: "[", TokenKind.CLOSE_CURLY: "{"}
_NAMES = (TokenKind.NAME, TokenKind.QUOTED)


class Parser:
    """Reads one clause; `variables` holds its named variables in order of occurrence."""

    def __init__(
        self,
        text: str,
        tokens: list[Token],
        operators: Operators,
        double_quotes: str = "string",
        file: str | None = None,
    ) -> None:
        self.text = text
        self.tokens = tokens
        self.operators = operators
        self.double_quotes = double_quotes
        self.file = file
        self.variables: dict[str, Var] = {}
        self._at = 0
        self._frames: list[_Frame] = []

    def parse(self) -> Term:
        """The term that the tokens up to the last one make."""
        last = self.tokens[-1].kind
        close = last if last is not TokenKind.BROKEN else TokenKind.END
        self._frames = [_Frame(close, 1200, self.tokens[0].start)]
        while True:
            term: Term | None = self._operand()
            priority = 0
            while term is not None:
                token = self.tokens[self._at]
                frame = self._frames[-1]
                self._at += 1
                if token.kind in _NAMES or token.kind in (TokenKind.COMMA, TokenKind.BAR):
                    term, priority = self._operator(frame, token, term, priority)
                elif token.kind is frame.close:
                    term = self._close(frame, term)
                    if not self._frames:
                        return term
                    priority = 0
                else:
                    self._unexpected(token, frame)

    def _operand(self) -> Term:
        """Read up to the first complete operand, opening frames and prefix operators on the way."""
        tokens = self.tokens
        while True:
            token = tokens[self._at]
            self._at += 1
            kind = token.kind
            if kind in _NAMES:
                assert isinstance(token.value, str)
                term = self._name(token, token.value)
                if term is not None:
                    return term
            elif kind is TokenKind.VARIABLE:
                assert isinstance(token.value, str)
                if tokens[self._at].kind is TokenKind.OPEN_CT:
                    self._fail(token, "a variable cannot be a functor", "use call(X, …) or =..")
                return self._variable(token.value)
            elif kind is TokenKind.NUMBER:
                assert isinstance(token.value, int | Float)
                return token.value
            elif kind is TokenKind.STRING:
                assert isinstance(token.value, str)
                return text_term(token.value, self.double_quotes)
            elif kind is TokenKind.OPEN or kind is TokenKind.OPEN_CT:
                self._frames.append(_Frame(TokenKind.CLOSE, 1200, token.start))
            elif kind in _OPENING:
                close, name = _OPENING[kind]
                if tokens[self._at].kind is close:
                    self._at += 1
                    term = self._name(token, name)
                    if term is not None:
                        return term
                else:
                    limit = 999 if close is TokenKind.CLOSE_LIST else 1200
                    self._frames.append(_Frame(close, limit, token.start))
            else:
                self._no_operand(token)

    def _name(self, token: Token, name: str) -> Term | None:
        """An atom, or None when it opened arguments or is a prefix operator."""
        following = self.tokens[self._at]
        if following.kind is TokenKind.OPEN_CT:
            self._at += 1
            self._frames.append(_Frame(TokenKind.CLOSE, 999, following.start, name))
            return None
        if name == "-" and following.kind is TokenKind.NUMBER:
            self._at += 1
            return _negated(following.value)
        if name not in self.operators:
            return Atom(name)
        frame = self._frames[-1]
        if not frame.pending and frame.ends(following.kind):
            return Atom(name)
        operator = self.operators.prefix.get(name)
        if operator is None or following.kind in (TokenKind.COMMA, TokenKind.BAR, frame.close):
            self._fail(
                token,
                f"the operator {_show(token)} stands where a term is expected",
                f"write ({self.text[token.start : token.end]}) if the atom itself is meant",
            )
        limit = frame.pending[-1].operator.right if frame.pending else frame.limit
        if operator.priority > limit:
            self._too_high(token, operator, limit)
        frame.pending.append(_Pending(operator, name, None))
        return None

    def _variable(self, name: str) -> Var:
        if name == "_":
            return Var()
        var = self.variables.get(name)
        if var is None:
            var = self.variables[name] = Var(name)
        return var

    def _operator(
        self, frame: _Frame, token: Token, left: Term, priority: int
    ) -> tuple[Term | None, int]:
        """After an operand: apply a postfix operator, or leave an infix one pending (None)."""
        if frame.ends(token.kind):
            frame.items.append(_reduce(frame.pending, left))
            frame.bar = token.kind is TokenKind.BAR
            return None, 0
        name = token.value
        assert isinstance(name, str)
        infix = (
            None if frame.bar and token.kind is TokenKind.COMMA else self.operators.infix.get(name)
        )
        operator = infix or self.operators.postfix.get(name)
        if operator is None:
            self._unexpected(token, frame)
        pending = frame.pending
        while pending and pending[-1].operator.right < operator.priority:
            top = pending.pop()
            left = _apply(top, left)
            priority = top.operator.priority
        limit = pending[-1].operator.right if pending else frame.limit
        if operator.priority > limit:
            if frame.separated:
                self._unexpected(token, frame)
            self._too_high(token, operator, limit)
        if priority > operator.left:
            self._fail(
                token,
                f"the term before {_show(token)} has priority {priority}, "
                f"at most {operator.left} is allowed",
                "put it in parentheses",
            )
        if infix is None:
            return _struct(Functor(name, 1), (left,)), operator.priority
        pending.append(_Pending(operator, name, left))
        return None, 0

    def _close(self, frame: _Frame, term: Term) -> Term:
        term = _reduce(frame.pending, term)
        self._frames.pop()
        if frame.close is TokenKind.CLOSE_LIST:
            if frame.bar:
                return _list(frame.items, term)
            return _list([*frame.items, term], NIL)
        if frame.close is TokenKind.CLOSE_CURLY:
            return _struct(CURLY, (term,))
        if frame.separated:
            frame.items.append(term)
            return _struct(Functor(frame.name, len(frame.items)), tuple(frame.items))
        return term

    def _unexpected(self, token: Token, frame: _Frame) -> NoReturn:
        """A term has ended and this token cannot follow it."""
        self._raise_broken(token)
        ending = (TokenKind.END, TokenKind.END_OF_TEXT)
        if token.kind in ending and frame.close in _BRACKET:
            self._never_closed(frame)
        hint = None
        if token.kind in _NAMES and token.value in self.operators.infix:
            hint = "put the whole term in parentheses if the operator belongs to it"
        elif token.kind is TokenKind.NAME and str(token.value).endswith("."):
            hint = "put a space before the '.' that ends the clause"
        elif token.kind in _BRACKET and frame.close in _BRACKET:
            hint = f"this bracket would have to close {_BRACKET[frame.close]!r}"
        previous = self.tokens[self._at - 2]
        if self.text.count("\n", previous.end, token.start) and frame.close in ending:
            raise problem(
                self.text,
                previous.end,
                f"expected an operator or '.', found {_show(token)} on a later line",
                self.file,
                "end the clause with '.'",
            )
        self._fail(token, f"expected {_expected(frame)}, found {_show(token)}", hint)

    def _no_operand(self, token: Token) -> NoReturn:
        """A term must begin here and this token cannot begin one."""
        self._raise_broken(token)
        frame = self._frames[-1]
        if token.kind in (TokenKind.END, TokenKind.END_OF_TEXT):
            if len(self._frames) > 1:
                self._never_closed(frame)
            if self._at == 1:
                self._fail(token, f"expected a term, found {_show(token)}")
        previous = self.tokens[self._at - 2] if self._at > 1 else None
        after = f" after {_show(previous)}" if previous else ""
        hint = None
        if (
            token.kind is TokenKind.CLOSE
            and previous
            and previous.kind in (TokenKind.OPEN, TokenKind.OPEN_CT)
        ):
            hint = "leave out empty parentheses"
        self._fail(token, f"expected a term{after}, found {_show(token)}", hint)

    def _too_high(self, token: Token, operator: Operator, limit: int) -> NoReturn:
        self._fail(
            token,
            f"the operator {_show(token)} has priority {operator.priority}, "
            f"at most {limit} is allowed here",
            "put the term in parentheses",
        )

    def _never_closed(self, frame: _Frame) -> NoReturn:
        bracket = _BRACKET[frame.close]
        raise problem(self.text, frame.start, f"this {bracket!r} is never closed", self.file)

    def _raise_broken(self, token: Token) -> None:
        if isinstance(token.value, SyntaxProblem):
            raise token.value

    def _fail(self, token: Token, message: str, hint: str | None = None) -> NoReturn:
        raise problem(self.text, token.start, message, self.file, hint)


def text_term(text: str, double_quotes: str) -> Term:
    """What "text" stands for under the flag double_quotes: string, codes, chars or atom."""
    if double_quotes == "codes":
        return make_list([ord(c) for c in text])
    if double_quotes == "chars":
        return make_list([Atom(c) for c in text])
    return Atom(text) if double_quotes == "atom" else Str(text)


def _negated(number: object) -> Term:
    assert isinstance(number, int | Float)
    return -number if isinstance(number, int) else Float(-number.value)


def _apply(pending: _Pending, right: Term) -> Struct:
    if pending.left is None:
        return _struct(Functor(pending.name, 1), (right,))
    return _struct(Functor(pending.name, 2), (pending.left, right))


def _reduce(pending: list[_Pending], term: Term) -> Term:
    while pending:
        term = _apply(pending.pop(), term)
    return term


def _ground(term: Term) -> bool:
    return term.ground if type(term) is Struct else type(term) is not Var


def _struct(functor: Functor, args: tuple[Term, ...]) -> Struct:
    return Struct(functor, args, all([_ground(a) for a in args]))


def _list(items: list[Term], tail: Term) -> Term:
    ground = _ground(tail)
    for item in reversed(items):
        ground = ground and _ground(item)
        tail = Struct(CONS, (item, tail), ground)
    return tail


def _expected(frame: _Frame) -> str:
    if frame.close is TokenKind.CLOSE:
        return "',' or ')' in arguments" if frame.separated else "an operator or ')'"
    return "']' after the tail of the list" if frame.bar else _EXPECTED[frame.close]


def _show(token: Token) -> str:
    """A token as an error message names it."""
    if token.kind is TokenKind.END:
        return "the end of the clause"
    if token.kind is TokenKind.END_OF_TEXT:
        return "the end of the text"
    if token.kind is TokenKind.STRING:
        return "a string"
    if token.kind is TokenKind.NUMBER:
        short = isinstance(token.value, int) and abs(token.value) < 10**30
        return f"the number {token.value}" if short else "a number"
    if token.kind is TokenKind.VARIABLE:
        return f"the variable {token.value}"
    return f"'{token.value}'"
