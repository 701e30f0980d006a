"""Reading labels: `0.3 ::`, `1/6 ::`, `t(0.3) ::`, `nn(net, [X], D, 0..9) ::`, `nn(net, [X]) ::`.

A label is a constant expression, kept as an exact fraction: the decimal as written, not the
binary float nearest to it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from operator import add, mul, sub, truediv
from typing import NoReturn

from deepprooflog.errors import ProgramError
from deepprooflog.logic.clause import Bernoulli, Constant, Label, Neural, Trainable
from deepprooflog.logic.index import first_level
from deepprooflog.logic.neighbours import label_hint
from deepprooflog.syntax.numerals import approximation
from deepprooflog.syntax.terms import (
    NIL,
    Atom,
    Float,
    Functor,
    Struct,
    Term,
    Var,
    deref,
    iter_list,
    list_tail,
)
from deepprooflog.syntax.writer import write_term

RANGE = Functor("..", 2)
TRAINABLE = Functor("t", 1)
CHOICE = Functor("nn", 4)
BERNOULLI = Functor("nn", 2)

POWERS = (Functor("^", 2), Functor("**", 2))

# Bits of all the numbers that a label's expression goes through: 120,000 digits, well under a
# second. A label of more says nothing that a shorter one does not.
MOST_BITS = 400_000

# Values of a network's domain.
MOST_VALUES = 1_000_000

# What rounding may add to a label: a sum of floats that is meant to be 1.
TOLERANCE = Fraction(1, 10**9)

_operations: dict[Functor, Callable[[Fraction, Fraction], Fraction]] = {
    Functor("+", 2): add,
    Functor("-", 2): sub,
    Functor("*", 2): mul,
    Functor("/", 2): truediv,
}


def parse_label(term: Term) -> Label:
    """The label a term before `::` stands for; raises ProgramError (without place) otherwise.

    >>> from deepprooflog.syntax.reader import read_term
    >>> parse_label(read_term("1/6", end_optional=True).term).value
    Fraction(1, 6)
    """
    term = deref(term)
    if type(term) is Struct and term.functor is TRAINABLE:
        inner = deref(term.args[0])
        return Trainable(None if type(inner) is Var else _probability(inner))
    if type(term) is Struct and term.functor is CHOICE:
        net, inputs, output, domain = term.args
        values = _domain(domain)
        _check_output(output, values)
        return Neural(_network(net), _inputs(inputs), output, values)
    if type(term) is Struct and term.functor is BERNOULLI:
        net, inputs = term.args
        return Bernoulli(_network(net), _inputs(inputs))
    return Constant(_probability(term))


def _probability(term: Term) -> Fraction:
    value = _Expression(term).value()
    if not 0 <= value <= 1 + TOLERANCE:
        raise ProgramError(
            f"the label {write_term(term)} is {approximation(value)}, not a probability",
            hint="give a number from 0 to 1",
        )
    return min(value, Fraction(1))


class _Expression:
    """A constant expression, worked out exactly within MOST_BITS."""

    def __init__(self, term: Term) -> None:
        self.term = term
        self.bits = 0

    def value(self) -> Fraction:
        return self._walk(self.term, 0)

    def _walk(self, t: Term, depth: int) -> Fraction:
        # Labels are typed by hand, so their depth is that of a formula: recursion ends at 50.
        t = deref(t)
        if type(t) is int:
            self._spend(t.bit_length())
            return Fraction(t)
        if type(t) is Float:
            return self._decimal(t)
        if type(t) is Struct and depth < 50:
            if t.functor in _operations:
                left, right = self._walk(t.args[0], depth + 1), self._walk(t.args[1], depth + 1)
                if t.functor.name == "/" and right == 0:
                    raise ProgramError(f"the label {write_term(self.term)} divides by zero")
                self._spend(_size(left) + _size(right))
                return _operations[t.functor](left, right)
            if t.functor in POWERS:
                return self._power(
                    self._walk(t.args[0], depth + 1), self._walk(t.args[1], depth + 1)
                )
        self._refuse()

    def _decimal(self, number: Float) -> Fraction:
        written = repr(number.value) if number.written is None else number.written
        digits, _, exponent = written.lower().partition("e")
        # Three and a bit bits to a decimal digit; an exponent of many digits is far too large.
        size = len(digits) + (abs(int(exponent)) if 0 < len(exponent) < 9 else 0)
        self._spend(4 * size if len(exponent) < 9 else MOST_BITS + 1)
        return Fraction(written)

    def _power(self, base: Fraction, exponent: Fraction) -> Fraction:
        if exponent.denominator != 1:
            self._refuse()
        if not base and exponent < 0:
            raise ProgramError(f"the label {write_term(self.term)} divides by zero")
        self._spend(_size(base) * abs(exponent.numerator))
        return Fraction(base**exponent.numerator)

    def _spend(self, bits: int) -> None:
        self.bits += bits
        if self.bits > MOST_BITS:
            raise ProgramError(
                f"a label of more than {MOST_BITS:,} bits",
                hint="write it with fewer digits",
            )

    def _refuse(self) -> NoReturn:
        raise ProgramError(
            f"{write_term(self.term)} is not a label",
            hint=label_hint(self.term)
            or "a label is a constant such as 0.3, 1/6 or 1/10^400, t(0.3), "
            "nn(net, [X], Y, 0..9) or nn(net, [X])",
        )


def _size(value: Fraction) -> int:
    return value.numerator.bit_length() + value.denominator.bit_length()


def _network(term: Term) -> str:
    term = deref(term)
    if type(term) is not Atom:
        raise ProgramError(f"the network's name must be an atom, not {write_term(term)}")
    return term.name


def _inputs(term: Term) -> tuple[Term, ...]:
    inputs = tuple(iter_list(term))
    if not inputs or list_tail(term) is not NIL:
        raise ProgramError(
            f"a network's inputs must be a list of variables, not {write_term(term)}",
            hint="nn(net, [X], Y, 0..9) :: p(X, Y).",
        )
    return inputs


def _check_output(output: Term, values: tuple[Term, ...]) -> None:
    """Refuse an output that no value can be, such as `[Y]` for the domain [digit]."""
    shape = first_level(output)
    if shape is not None and not any(first_level(value) in (shape, None) for value in values):
        raise ProgramError(
            f"no value of the network's domain matches the output {write_term(output)}",
            hint="one variable and the values themselves: nn(net, [X], Y, 0..9) :: p(X, Y).",
        )


def _domain(term: Term) -> tuple[Term, ...]:
    term = deref(term)
    if type(term) is Struct and term.functor is RANGE:
        low, high = deref(term.args[0]), deref(term.args[1])
        if type(low) is int and type(high) is int and low <= high:
            if high - low >= MOST_VALUES:
                raise ProgramError(
                    f"the domain {write_term(term)} has more than {MOST_VALUES:,} values",
                    hint="a network has one output for each value of its domain",
                )
            return tuple(range(low, high + 1))
    values = tuple(iter_list(term))
    if not values or list_tail(term) is not NIL:
        raise ProgramError(
            f"a network's domain must be a range such as 0..9 or a list, not {write_term(term)}",
            hint="write the values themselves: nn(net, [X], Y, 0..9) or nn(net, [X], Y, [yes, no])",
        )
    if len(set(values)) < len(values):
        raise ProgramError(f"the domain {write_term(term)} holds a value twice")
    return values
