"""Reading labels: `0.3 ::`, `1/6 ::`, `t(0.3) ::`, `nn(net, [X], D, 0..9) ::`, `nn(net, [X]) ::`.

A label is a constant expression, kept as an exact fraction: the decimal as written, not the
binary float nearest to it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from operator import add, mul, sub, truediv

from deepprooflog.errors import ProgramError
from deepprooflog.logic.clause import Bernoulli, Constant, Label, Neural, Trainable
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

# Bits of a number in a label, and values of a network's domain.
MOST_BITS = 100_000
MOST_VALUES = 10_000_000

RANGE = Functor("..", 2)
TRAINABLE = Functor("t", 1)
CHOICE = Functor("nn", 4)
BERNOULLI = Functor("nn", 2)

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
        return Neural(_network(net), _inputs(inputs), output, _domain(domain))
    if type(term) is Struct and term.functor is BERNOULLI:
        net, inputs = term.args
        return Bernoulli(_network(net), _inputs(inputs))
    return Constant(_probability(term))


def _probability(term: Term) -> Fraction:
    value = _evaluate(term)
    if not 0 <= value <= 1:
        raise ProgramError(
            f"the label {write_term(term)} is {float(value):g}, not a probability",
            hint="give a number from 0 to 1",
        )
    return value


def _evaluate(term: Term) -> Fraction:
    # Labels are typed by hand, so their depth is that of a formula: recursion is bounded by 50.
    def walk(t: Term, depth: int) -> Fraction:
        t = deref(t)
        if type(t) is int:
            if t.bit_length() > MOST_BITS:
                raise ProgramError(f"a number of {t.bit_length():,} bits is too long for a label")
            return Fraction(t)
        if type(t) is Float:
            return Fraction(repr(t.value))
        if type(t) is Struct and t.functor in _operations and depth < 50:
            left, right = walk(t.args[0], depth + 1), walk(t.args[1], depth + 1)
            if t.functor.name == "/" and right == 0:
                raise ProgramError(f"the label {write_term(term)} divides by zero")
            return _operations[t.functor](left, right)
        raise ProgramError(
            f"{write_term(term)} is not a label",
            hint="a label is a constant such as 0.3 or 1/6, t(0.3), "
            "nn(net, [X], Y, 0..9) or nn(net, [X])",
        )

    return walk(term, 0)


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


def _domain(term: Term) -> tuple[Term, ...]:
    term = deref(term)
    if type(term) is Struct and term.functor is RANGE:
        low, high = deref(term.args[0]), deref(term.args[1])
        if type(low) is int and type(high) is int and low <= high:
            if high - low >= MOST_VALUES:
                raise ProgramError(
                    f"a domain of {high - low + 1:,} values is larger than {MOST_VALUES:,}"
                )
            return tuple(range(low, high + 1))
    values = tuple(iter_list(term))
    if not values or list_tail(term) is not NIL:
        raise ProgramError(
            f"a network's domain must be a range such as 0..9 or a list, not {write_term(term)}"
        )
    if len(set(values)) < len(values):
        raise ProgramError(f"the domain {write_term(term)} holds a value twice")
    return values
