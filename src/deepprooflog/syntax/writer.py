"""Writing: a term as text that reads back as the same term.

A term is unfolded into tokens with an explicit stack; `_Text` joins them and puts a space only
where two tokens would otherwise be read as one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from deepprooflog.errors import PrologError
from deepprooflog.syntax.lexer import SYMBOL
from deepprooflog.syntax.numerals import format_float, format_integer, resource_error
from deepprooflog.syntax.operators import Operator, Operators
from deepprooflog.syntax.sharing import leaves
from deepprooflog.syntax.terms import (
    CONS,
    CURLY,
    MANY,
    NIL,
    Atom,
    Float,
    Functor,
    Slot,
    Str,
    Struct,
    Term,
    Var,
    deref,
    is_acyclic,
    iter_list,
    list_tail,
)

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


# Tokens beyond which a term is not written: its text would take gigabytes.
LONGEST = 1 << 26

_SYMBOLS = frozenset("+-*/\\^<>=~:.?@#&$")
_QUOTES = frozenset("'\"")
_NUMBERVAR = Functor("$VAR", 1)
_STANDARD = Operators()


class _Open:
    """Marks the place after a prefix operator: '(' there would turn it into a functor."""


_OPEN = _Open()

# What is still to be written: a token, the mark, or (term, highest priority, alone). `alone` is
# True where an operator may stand as a plain atom: in arguments, lists and brackets.
_Item: TypeAlias = str | _Open | tuple[Term, int, bool]


class _Text:
    """The tokens written so far."""

    __slots__ = ("_last", "_open", "parts")

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._last = ""
        self._open = False

    def add(self, token: str) -> None:
        if not token:
            return
        first = token[0]
        if (self._open and first == "(") or (self._last and _fuse(self._last, first)):
            self.parts.append(" ")
        self.parts.append(token)
        self._last = token[-1]
        self._open = False

    def open(self) -> None:
        self._open = True


def _fuse(last: str, first: str) -> bool:
    if last.isalnum() or last == "_":
        return first.isalnum() or first == "_" or first == "'"
    if last in _QUOTES:
        return first in _QUOTES or first.isalnum() or first == "_"
    return last in _SYMBOLS and first in _SYMBOLS


class Names:
    """A name for each variable, stable over all the terms written with it.

    A variable keeps the name it was read with, a canonical variable i is `_i`; variables without
    a name, or whose name another variable holds, are `_G1`, `_G2`, … by first occurrence.
    """

    __slots__ = ("_count", "_names", "_used")

    def __init__(self, given: Mapping[Var, str] | None = None) -> None:
        self._names: dict[Var, str] = dict(given or {})
        self._used = set(self._names.values())
        self._count = 0

    def __call__(self, var: Var) -> str:
        name = self._names.get(var)
        if name is None:
            name = var.name or (f"_{var.index}" if var.index >= 0 else None)
            while name is None or name in self._used:
                self._count += 1
                name = f"_G{self._count}"
            self._names[var] = name
            self._used.add(name)
        return name


class _Writer:
    def __init__(
        self, operators: Operators, quoted: bool, ignore_ops: bool, numbervars: bool, names: Names
    ) -> None:
        self.operators = operators
        self.quoted = quoted
        self.ignore_ops = ignore_ops
        self.numbervars = numbervars
        self.names = names

    def write(self, term: Term, priority: int) -> str:
        text = _Text()
        stack: list[_Item] = [(term, priority, True)]
        visits = 0
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                text.add(item)
            elif isinstance(item, tuple):
                visits += 1
                if visits == MANY:
                    require_writable(term)
                items = self._unfold(*item)
                items.reverse()
                stack.extend(items)
            else:
                text.open()
        return "".join(text.parts)

    def _unfold(self, term: Term, priority: int, alone: bool) -> list[_Item]:
        term = deref(term)
        if type(term) is Struct:
            return self._struct(term, priority)
        if type(term) is Atom:
            text = self._atom(term.name)
            return ["(", text, ")"] if not alone and term.name in self.operators else [text]
        if type(term) is Var:
            return [self.names(term)]
        if type(term) is int:
            return [format_integer(term)]
        if type(term) is Float:
            return [format_float(term)]
        if type(term) is Str:
            return [quote(term.value, '"') if self.quoted else term.value]
        assert type(term) is Slot
        return [f"<tensor {term.number}>"]

    def _struct(self, term: Struct, priority: int) -> list[_Item]:
        functor, args = term.functor, term.args
        letter = self._numbervar(term)
        if letter is not None:
            return [letter]
        operator = self._written_as(term)
        if operator is not None:
            items = self._operation(functor.name, operator, args)
            return ["(", *items, ")"] if operator.priority > priority else items
        if not self.ignore_ops and functor is CONS:
            return self._list(term)
        if not self.ignore_ops and functor is CURLY:
            return ["{", (args[0], 1200, True), "}"]
        items = [self._atom(functor.name), "("]
        for i, arg in enumerate(args):
            if i:
                items.append(",")
            items.append((arg, 999, True))
        items.append(")")
        return items

    def _numbervar(self, term: Struct) -> str | None:
        """The letter that `'$VAR'(N)` is written as under numbervars."""
        if not self.numbervars or term.functor is not _NUMBERVAR:
            return None
        number = deref(term.args[0])
        if type(number) is not int or number < 0:
            return None
        return chr(65 + number % 26) + (format_integer(number // 26) if number >= 26 else "")

    def _written_as(self, term: Struct) -> Operator | None:
        """The operator a compound is written with, if any."""
        name, arity = term.functor.name, term.functor.arity
        if self.ignore_ops or term.functor is CONS or self._numbervar(term) is not None:
            return None
        if arity == 2:
            return self.operators.infix.get(name)
        if arity == 1:
            return self.operators.prefix.get(name) or self.operators.postfix.get(name)
        return None

    def _operation(self, name: str, operator: Operator, args: tuple[Term, ...]) -> list[_Item]:
        sign = name if name in (",", "|") else self._atom(name)
        if operator.left >= 0:
            left = self._left(args[0], operator)
            right: list[_Item] = [(a, operator.right, False) for a in args[1:]]
            return [left, sign, *right]
        arg = deref(args[0])
        if name == "-" and self._takes_sign(arg):
            return [sign, _OPEN, "(", (arg, 1200, True), ")"]
        return [sign, _OPEN, (arg, operator.right, False)]

    def _takes_sign(self, arg: Term) -> bool:
        """True when '-' before the argument could be read as the sign of a number."""
        if type(arg) is int:
            return arg >= 0
        if type(arg) is Float:
            return not format_float(arg).startswith("-")
        operator = self._written_as(arg) if type(arg) is Struct else None
        return operator is not None and operator.left >= 0

    def _left(self, arg: Term, operator: Operator) -> _Item:
        """The left argument of an operator.

        One that ends in an equally strong operator open to the right would swallow the operator
        after it, and so is held to a lower priority.
        """
        arg = deref(arg)
        inner = self._written_as(arg) if type(arg) is Struct else None
        if inner is not None and inner.right == inner.priority == operator.left:
            return (arg, operator.left - 1, False)
        return (arg, operator.left, False)

    def _list(self, term: Struct) -> list[_Item]:
        items: list[_Item] = []
        for element in iter_list(term):
            items.append("," if items else "[")
            items.append((element, 999, True))
        tail = list_tail(term)
        if type(tail) is Struct and tail.functor is CONS:
            raise _contains_itself()
        if tail is not NIL:
            items += ["|", (tail, 999, True)]
        items.append("]")
        return items

    def _atom(self, name: str) -> str:
        return atom_text(name) if self.quoted else name


def require_writable(term: Term) -> None:
    """Refuse a term whose text has no end, or would be longer than any memory."""
    if not is_acyclic(term):
        raise _contains_itself()
    if leaves(term, LONGEST) >= LONGEST:
        raise resource_error("memory", f"the term's text would have more than {LONGEST:,} tokens")


def _contains_itself() -> PrologError:
    formal = Struct(Functor("representation_error", 1), (Atom("cyclic_term"),), True)
    return PrologError(
        "representation_error(cyclic_term): a term that contains itself has no text",
        term=Struct(Functor("error", 2), (formal, Var())),
        hint="Program(..., occurs_check=True) makes such unifications fail",
    )


def write_term(
    term: Term,
    quoted: bool = True,
    operators: Operators | None = None,
    ignore_ops: bool = False,
    numbervars: bool = False,
    variable_names: Mapping[Var, str] | Names | None = None,
    priority: int = 1200,
) -> str:
    """The term as text; bound variables are written as what they are bound to.

    `priority` is the highest an operator may have without parentheses (999 for an argument).

    >>> write_term(Struct(Functor("-", 1), (1,)))
    '- (1)'
    """
    names = variable_names if isinstance(variable_names, Names) else Names(variable_names)
    table = _STANDARD if operators is None else operators
    return _Writer(table, quoted, ignore_ops, numbervars, names).write(term, priority)


def write_clause(
    head: Term,
    body: Sequence[Term] = (),
    label: Term | str | None = None,
    operators: Operators | None = None,
    variable_names: Mapping[Var, str] | Names | None = None,
) -> str:
    """A clause on one line: `label :: head :- goal, goal.`

    A label given as a string is already text.

    >>> write_clause(Atom("p"), [Atom("q"), Atom("r")], label="0.3")
    '0.3 :: p :- q, r.'
    """
    names = variable_names if isinstance(variable_names, Names) else Names(variable_names)
    table = _STANDARD if operators is None else operators
    bare = not body and label is None

    def text(term: Term, priority: int) -> str:
        written = write_term(term, operators=table, variable_names=names, priority=priority)
        term = deref(term)
        # An operator is no operand of ':-', ',' and '::' unless it stands in parentheses.
        return f"({written})" if type(term) is Atom and term.name in table and not bare else written

    clause = text(head, 1199 if label is None else 989)
    if label is not None:
        clause = f"{label if isinstance(label, str) else text(label, 989)} :: {clause}"
    if body:
        clause += " :- " + ", ".join([text(goal, 999) for goal in body])
    return clause + (" ." if clause[-1] in _SYMBOLS else ".")
