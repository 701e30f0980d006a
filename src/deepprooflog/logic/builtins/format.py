"""Text from a template: format/1, format/2 and format/3, with the directives of SWI-Prolog."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from deepprooflog.errors import PrologError
from deepprooflog.logic.builtins.output import LONGEST, Columns, emit, shown
from deepprooflog.logic.builtins.registry import det
from deepprooflog.logic.builtins.text import any_text, atomic_text, chars, codes, list_text
from deepprooflog.logic.solver.arithmetic import evaluate, number_term
from deepprooflog.logic.solver.iso_errors import (
    domain_error,
    existence_error,
    instantiation_error,
    iso_error,
    resource_error,
    type_error,
)
from deepprooflog.logic.solver.machine import Machine
from deepprooflog.syntax.numerals import format_integer
from deepprooflog.syntax.terms import (
    NIL,
    Atom,
    Float,
    Str,
    Struct,
    Term,
    Var,
    deref,
    iter_list,
    list_tail,
    make_list,
    struct,
)

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

Take = Callable[[], Term]


@det("format", 1)
def format_1(m: Machine, args: Any) -> bool:
    return _print(m, args[0], NIL)


@det("format", 2)
def format_2(m: Machine, args: Any) -> bool:
    return _print(m, args[0], args[1])


def _print(m: Machine, template: Term, args: Term) -> bool:
    out = Columns(m.column)
    try:
        fill(m, template, args, out)
    finally:
        # What stands before a mistake is printed, as in SWI-Prolog.
        emit(m, out.text())
    return True


@det("format", 3)
def format_3(m: Machine, args: Any) -> bool:
    sink = deref(args[0])
    if sink is Atom("user_output"):
        return _print(m, args[1], args[2])
    make = _require_sink(sink)
    out = Columns()
    fill(m, args[1], args[2], out)
    if make is None:
        sys.stderr.write(out.text())
        return True
    assert type(sink) is Struct
    result = make(out.text())
    if len(sink.args) == 2:
        result = make_list(list(iter_list(result)), sink.args[1])
    return m.unify(sink.args[0], result)


def _require_sink(sink: Term) -> Callable[[str], Term] | None:
    """What makes the result of the text; None for standard error."""
    if type(sink) is Var:
        raise instantiation_error("format/3 needs to know where its text goes")
    if type(sink) is Atom:
        if sink is not Atom("user_error"):
            raise existence_error("stream", sink)
        return None
    if type(sink) is Struct and sink.functor.name in _SINKS:
        make = _SINKS[sink.functor.name]
        if len(sink.args) == 1 or (len(sink.args) == 2 and make in (codes, chars)):
            return make
    raise type_error("output", sink)


_SINKS: dict[str, Callable[[str], Term]] = {
    "atom": Atom,
    "string": Str,
    "codes": codes,
    "chars": chars,
}


def fill(m: Machine, template: Term, args: Term, out: Columns) -> None:
    """Write a template with its arguments."""
    rest = iter(list(iter_list(args)) if list_tail(args) is NIL else [deref(args)])

    def take() -> Term:
        for item in rest:
            return deref(item)
        raise _problem("not enough arguments")

    source = _template(template)
    at = 0
    while (tilde := source.find("~", at)) >= 0:
        out.write(source[at:tilde])
        at = _directive(m, source, tilde + 1, take, out)
    out.write(source[at:])
    if next(rest, None) is not None:
        raise _problem("too many arguments")


def _template(term: Term) -> str:
    term = deref(term)
    if type(term) is Var:
        raise instantiation_error("the template of format is not bound")
    if type(term) in (int, Float):
        raise type_error("text", term)
    return any_text(term, "text")


def _problem(message: str) -> PrologError:
    return iso_error(struct("format", Atom(message)), message)


def _directive(m: Machine, source: str, at: int, take: Take, out: Columns) -> int:
    """Carry out the directive that stands after a tilde; the offset behind it."""
    number, at = _number(source, at, take)
    if source[at : at + 1] == ":":
        at += 1
    name = source[at : at + 1]
    if name == "t":
        out.fill(" " if number is None else chr(number))
    elif name == "|":
        out.stop(number)
    elif name == "+":
        out.stop_after(8 if number is None else number)
    elif name == "i":
        take()
    elif name in _CONSTANT:
        out.write(_CONSTANT[name] * (1 if number is None or name == "~" else number))
    elif name in _PRINTED:
        out.write(shown(m, take(), **_PRINTED[name]))
    elif name in _CONVERTED:
        out.write(_CONVERTED[name](take(), number))
    else:
        raise existence_error("format_character", Atom(name or "\0"))
    return at + 1


def _number(source: str, at: int, take: Take) -> tuple[int | None, int]:
    """The numeric argument of a directive: digits, `*` (an argument), or a quoted character."""
    if source[at : at + 1] == "*":
        given = take()
        if type(given) is not int or given < 0:
            raise _problem("no or negative integer for `*' argument")
        number, end = given, at + 1
    elif source[at : at + 1] == "`" and at + 1 < len(source):
        return ord(source[at + 1]), at + 2
    else:
        end = at
        while source[end : end + 1] in _TEN:
            end += 1
        if end == at:
            return None, at
        number = int(source[at:end]) if end - at < 10 else LONGEST + 1
    if number > LONGEST:
        raise resource_error("memory")
    return number, end


_TEN = frozenset("0123456789")
_CONSTANT = {"n": "\n", "~": "~"}
_PRINTED = {
    "w": {"numbervars": True},
    "p": {"quoted": True, "numbervars": True},
    "q": {"quoted": True, "numbervars": True},
    "k": {"quoted": True, "ignore_ops": True},
}


def _mistyped(name: str, culprit: Term) -> PrologError:
    formal = struct("format_argument_type", Atom(name), culprit)
    return iso_error(formal, f"the argument does not fit ~{name}")


def _atomic(term: Term, _: int | None) -> str:
    text = atomic_text(term)
    if text is None:
        raise _mistyped("a", term)
    return text


def _text(term: Term, _: int | None) -> str:
    if type(term) is Str or type(term) is Atom:
        return any_text(term)
    is_list = type(term) is Struct and list_tail(term) is NIL
    text = list_text(term) if is_list else None
    if text is None:
        raise _mistyped("s", term)
    return text


def _code(term: Term, count: int | None) -> str:
    if type(term) is not int or not 0 <= term <= 0x10FFFF:
        raise _mistyped("c", term)
    return chr(term) * (1 if count is None else count)


def _integer(term: Term, name: str) -> int:
    value = evaluate(term)
    if type(value) is not int:
        raise _mistyped(name, number_term(value))
    return value


def _decimal(term: Term, places: int | None, name: str = "d", group: str = "") -> str:
    value = _integer(term, name)
    digits = format_integer(abs(value))
    fraction = ""
    if places:
        digits = digits.rjust(places + 1, "0")
        digits, fraction = digits[:-places], "." + digits[-places:]
    if group:
        digits = group.join(_threes(digits))
    return ("-" if value < 0 else "") + digits + fraction


def _threes(digits: str) -> Iterator[str]:
    first = len(digits) % 3
    if first:
        yield digits[:first]
    for i in range(first, len(digits), 3):
        yield digits[i : i + 3]


def _radix(term: Term, base: int | None, name: str = "r") -> str:
    base = 8 if base is None else base
    value = _integer(term, name)
    if not 2 <= base <= 36:
        raise domain_error("radix", base)
    digits: list[str] = []
    left = abs(value)
    while left:
        left, digit = divmod(left, base)
        digits.append(_DIGITS[digit])
    text = "".join(reversed(digits)) or "0"
    return ("-" if value < 0 else "") + (text.upper() if name == "R" else text)


def _float(term: Term, places: int | None, kind: str) -> str:
    value = evaluate(term)
    digits = 6 if places is None else places
    if kind == "f" and type(value) is int:
        return format_integer(value) + ("." + "0" * digits if digits else "")
    try:
        return f"%.{digits}{kind}" % float(value)
    except OverflowError:
        pass
    # Too large for a float, and still a number that can be written.
    mantissa, exponent = (
        f"{Decimal(value):.{digits if kind == 'e' else max(digits, 1) - 1}e}".split("e")
    )
    if kind == "g" and "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{exponent}"


_CONVERTED: dict[str, Callable[[Term, int | None], str]] = {
    "a": _atomic,
    "s": _text,
    "c": _code,
    "d": _decimal,
    "D": lambda term, places: _decimal(term, places, "D", ","),
    "r": _radix,
    "R": lambda term, base: _radix(term, base, "R"),
    "e": lambda term, places: _float(term, places, "e"),
    "f": lambda term, places: _float(term, places, "f"),
    "g": lambda term, places: _float(term, places, "g"),
}
