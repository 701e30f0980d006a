"""Reading: program text to clauses, query text to a term.

    text ─tokenize→ tokens ─Parser→ Term

Plain ground facts, the bulk of a knowledge graph, take a short cut: one regular expression that
matches only what the parser would read in the same way under every operator table and flag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from deepprooflog.errors import PrologError, SyntaxProblem
from deepprooflog.syntax.lexer import LAYOUT, TokenKind, problem, tokenize
from deepprooflog.syntax.operators import Operators
from deepprooflog.syntax.parser import Parser
from deepprooflog.syntax.terms import (
    COMMA,
    Atom,
    Float,
    Functor,
    Struct,
    Term,
    Var,
    deref,
    struct,
)

DOUBLE_QUOTES = ("string", "codes", "chars", "atom")

# Prefix operators inside directives only: as atoms elsewhere they need no parentheses.
DECLARATIONS = ("initialization", "meta_predicate", "mode", "multifile", "public")


@dataclass(slots=True)
class Flags:
    """The Prolog flags that change how text is read; `:- set_prolog_flag(…)` sets them."""

    double_quotes: str = "string"

    def copy(self) -> Flags:
        """Flags of its own with the same values."""
        return Flags(self.double_quotes)


@dataclass(frozen=True, slots=True)
class ReadTerm:
    """A term as read; `variables` holds its named variables in order of occurrence.

    `end` is the offset after the term's end token.
    """

    term: Term
    variables: dict[str, Var]
    line: int
    column: int
    end: int


class Fact(NamedTuple):
    """A plain ground fact `functor(args…).`; a named tuple because millions of them are made."""

    functor: Functor
    args: tuple[Term, ...]
    line: int


def read_term(
    text: str,
    operators: Operators | None = None,
    *,
    flags: Flags | None = None,
    file: str = "<text>",
    end_optional: bool = False,
    start: int = 0,
) -> ReadTerm:
    """Read one term, ended by '.'; what follows it is left alone (see `end`).

    With `end_optional` the '.' may be missing and nothing may follow: a query as users type it.

    >>> read_term("p(X, _Y, _)", end_optional=True).variables
    {'X': X, '_Y': _Y}
    """
    begin = _skip_layout(text, start)
    line = text.count("\n", 0, begin) + 1
    operators = Operators() if operators is None else operators
    read = _read(text, begin, line, operators, flags or Flags(), file, end_optional)
    if read is None:
        raise problem(text, len(text.rstrip()), "expected a term, found the end of the text", file)
    if end_optional:
        rest = _skip_layout(text, read.end)
        if rest < len(text):
            raise problem(text, rest, "expected the end of the text after one term", file)
    return read


def read_program(
    text: str,
    file: str = "<text>",
    operators: Operators | None = None,
    *,
    flags: Flags | None = None,
) -> Iterator[ReadTerm | Fact]:
    """The clauses and directives of a program, in order.

    `:- op(…)` and `:- set_prolog_flag(double_quotes, …)` take effect on the tables passed in as
    they are met, and are yielded like any other directive.

    >>> [type(c).__name__ for c in read_program("p(a). p(X) :- q(X).")]
    ['Fact', 'ReadTerm']
    """
    operators = Operators() if operators is None else operators
    flags = Flags() if flags is None else flags
    at = 1 if text.startswith("\ufeff") else 0
    line, counted = 1, 0
    constants: dict[str, Term] = {}
    match = _FACT.match
    while True:
        found = match(text, at)
        if found is not None:
            begin = found.start(1)
            line += text.count("\n", counted, begin)
            counted = begin
            at = found.end()
            args = _constants(found[2], constants)
            yield Fact(Functor(found[1], len(args)), args, line)
            continue
        begin = _skip_layout(text, at)
        if begin > at and match(text, begin):
            at = begin
            continue
        line += text.count("\n", counted, begin)
        counted = begin
        table = declarations(operators) if text.startswith(":-", begin) else operators
        read = _read(text, begin, line, table, flags, file, end_optional=False)
        if read is None:
            return
        at = read.end
        apply_directive(read, operators, flags, file)
        yield read


def declarations(operators: Operators) -> Operators:
    """The operators inside a directive: `:- mode p(+, -).` needs no parentheses there."""
    table = operators.copy()
    for name in DECLARATIONS:
        if name not in table:
            table.add(1150, "fx", name)
    return table


def apply_directive(read: ReadTerm, operators: Operators, flags: Flags, file: str) -> None:
    """Carry out `:- op(…)` and `:- set_prolog_flag(double_quotes, …)`, alone or in conjunction."""
    term = read.term
    if type(term) is not Struct or term.functor is not _DIRECTIVE:
        return
    goals = [deref(term.args[0])]
    while goals:
        goal = goals.pop()
        if type(goal) is not Struct:
            continue
        if goal.functor is COMMA:
            goals.extend(deref(arg) for arg in reversed(goal.args))
        elif goal.functor is _OP or goal.functor is _SET_FLAG:
            try:
                if goal.functor is _OP:
                    operators.declare(*goal.args)
                else:
                    set_flag(flags, *goal.args)
            except PrologError as error:
                error.file, error.line, error.column = file, read.line, read.column
                raise


def set_flag(flags: Flags, name: Term, value: Term) -> None:
    """`set_prolog_flag/2` for the flags of the reader; other flags are left to the solver."""
    if deref(name) is not _DOUBLE_QUOTES:
        return
    value = deref(value)
    if type(value) is not Atom or value.name not in DOUBLE_QUOTES:
        raise PrologError(
            f"double_quotes is one of {', '.join(DOUBLE_QUOTES)}",
            term=struct("domain_error", Atom("flag_value"), struct("+", _DOUBLE_QUOTES, value)),
        )
    flags.double_quotes = value.name


_DIRECTIVE = Functor(":-", 1)
_OP = Functor("op", 3)
_SET_FLAG = Functor("set_prolog_flag", 2)
_DOUBLE_QUOTES = Atom("double_quotes")

# An argument here means the same whatever the operators: an atom alone in its argument is an
# atom even if it is an operator, and '-' before a number is its sign.
_ARGUMENT = r"""(?:
      [a-z][a-zA-Z0-9_]*+
    | -?[0-9]{1,18}+(?:\.[0-9]{1,18}+)?
    | '[^'"`\\,()\x00-\x1f\x7f]*+'
)"""
_FACT = re.compile(
    rf"\s*+([a-z][a-zA-Z0-9_]*+)\(({_ARGUMENT}(?:,[ ]?{_ARGUMENT})*+)\)\.(?=[\s%]|\Z)",
    re.VERBOSE,
)


def _constants(text: str, known: dict[str, Term]) -> tuple[Term, ...]:
    parts = text.split(",")
    try:
        return tuple([known[part] for part in parts])
    except KeyError:
        for part in parts:
            if part not in known:
                known[part] = _constant(part.removeprefix(" "))
        return tuple([known[part] for part in parts])


def _constant(text: str) -> Term:
    if text[0] == "'":
        return Atom(text[1:-1])
    if text[0] not in "-0123456789":
        return Atom(text)
    return Float(float(text)) if "." in text else int(text)


def _read(
    text: str,
    begin: int,
    line: int,
    operators: Operators,
    flags: Flags,
    file: str,
    end_optional: bool,
) -> ReadTerm | None:
    """The term that begins at `begin`, on this line, or None at the end of the text."""
    tokens = tokenize(text, begin, file)
    last = tokens[-1]
    if last.kind is TokenKind.END_OF_TEXT and len(tokens) == 1:
        return None
    parser = Parser(text, tokens, operators, flags.double_quotes, file)
    term = parser.parse()
    if last.kind is TokenKind.END_OF_TEXT and not end_optional:
        raise _missing_end(text, tokens[-2].end, file)
    column = begin - text.rfind("\n", 0, begin)
    return ReadTerm(term, parser.variables, line, column, last.end)


def _missing_end(text: str, offset: int, file: str) -> SyntaxProblem:
    return problem(text, offset, "expected '.' at the end of the clause", file)


def _skip_layout(text: str, start: int) -> int:
    found = LAYOUT.match(text, start)
    assert found is not None
    return found.end()
