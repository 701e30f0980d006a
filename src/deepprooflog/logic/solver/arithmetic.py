"""Arithmetic: `evaluate` a term to a Python int (unbounded) or float.

As in SWI-Prolog where ISO leaves room: `/` on integers gives an integer when exact and a float
otherwise; `2 ** -1` is 0.5, while `2 ^ -1` is a type error as in ISO; `//` truncates toward zero,
`div` floors, `mod` has the divisor's sign, `rem` the dividend's. A float result that overflows, or
has no value, is an evaluation error. An operation on integers so long that it would take more than
some tenths of a second, or more memory than fits, is a resource error before it begins.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from deepprooflog.logic.limits.room import (
    LONG,
    SMALL,
    common_divisor,
    common_multiple,
    integer_power,
    require_bits,
    require_product,
    require_quotient,
)
from deepprooflog.logic.solver.iso_errors import (
    domain_error,
    evaluation_error,
    indicator,
    instantiation_error,
    type_error,
)
from deepprooflog.syntax.terms import CONS, NIL, Atom, Float, Functor, Str, Struct, Term, Var, deref

Number: TypeAlias = int | float


def number_term(value: Number) -> Term:
    """A Python number as a term."""
    return value if type(value) is int else Float(value)


def evaluate(term: Term) -> Number:
    """The value of an arithmetic expression.

    >>> evaluate(Struct(Functor("+", 2), (1, Float(0.5))))
    1.5
    """
    while type(term) is Var and term.ref is not None:
        term = term.ref
    if type(term) is int:
        return term
    if type(term) is Struct:
        args = term.args
        binary = BINARY.get(term.functor)
        if binary is not None:
            x, y = deref(args[0]), deref(args[1])
            if type(x) is int and type(y) is int:
                return binary(x, y)
        return _evaluate_deep(term)
    return _leaf(term)


def _evaluate_deep(root: Struct) -> Number:
    # Post-order with an explicit stack: operations wait on `todo`, values gather on `values`.
    values: list[Number] = []
    todo: list[Any] = [root]
    while todo:
        t = todo.pop()
        if type(t) is tuple:
            operation, arity = t
            if arity == 1:
                values[-1] = operation(values[-1])
            else:
                y = values.pop()
                values[-1] = operation(values[-1], y)
            continue
        t = deref(t)
        if type(t) is int:
            values.append(t)
        elif type(t) is Struct:
            operation = BINARY.get(t.functor) or UNARY.get(t.functor)
            if operation is not None:
                todo.append((operation, t.functor.arity))
                todo.extend(reversed(t.args))
            elif t.functor is CONS and deref(t.args[1]) is NIL:
                todo.append(t.args[0])
            elif t.functor is CONS:
                raise type_error("evaluable", t)
            else:
                raise type_error("evaluable", indicator(t.functor))
        else:
            values.append(_leaf(t))
    return values[0]


def _leaf(t: Term) -> Number:
    if type(t) is int:
        return t
    if type(t) is Float:
        return t.value
    if type(t) is Atom:
        value = CONSTANTS.get(t.name)
        if value is None:
            raise type_error("evaluable", indicator(t.functor))
        return value
    if type(t) is Var:
        raise instantiation_error("an arithmetic expression has an unbound variable")
    if type(t) is Str and len(t.value) == 1:
        return ord(t.value)
    raise type_error("evaluable", t)


CONSTANTS: dict[str, Number] = {
    "pi": math.pi,
    "e": math.e,
    "inf": math.inf,
    "infinite": math.inf,
    "nan": math.nan,
    "epsilon": 2.0**-52,
}


def to_float(x: Number) -> float:
    try:
        return float(x)
    except OverflowError:
        raise evaluation_error("float_overflow") from None


def _checked(value: float, *operands: Number) -> float:
    if math.isfinite(value):
        return value
    if value != value:
        if any(x != x for x in operands):
            return value
        raise evaluation_error("undefined")
    if any(type(x) is float and math.isinf(x) for x in operands):
        return value
    raise evaluation_error("float_overflow")


def _int(x: Number) -> int:
    if type(x) is int:
        return x
    raise type_error("integer", Float(x))


def add(x: Number, y: Number) -> Number:
    if type(x) is int and type(y) is int:
        return x + y
    return _checked(to_float(x) + to_float(y), x, y)


def subtract(x: Number, y: Number) -> Number:
    if type(x) is int and type(y) is int:
        return x - y
    return _checked(to_float(x) - to_float(y), x, y)


def multiply(x: Number, y: Number) -> Number:
    if type(x) is int and type(y) is int:
        if not (-SMALL < x < SMALL or -SMALL < y < SMALL):
            require_product(x, y)
        return x * y
    return _checked(to_float(x) * to_float(y), x, y)


def divide(x: Number, y: Number) -> Number:
    if type(x) is int and type(y) is int:
        if y == 0:
            raise evaluation_error("zero_divisor")
        if not -LONG < y < LONG:
            require_quotient(x, y)
        quotient, rest = divmod(x, y)
        if rest == 0:
            return quotient
        try:
            return x / y
        except OverflowError:
            raise evaluation_error("float_overflow") from None
    u, v = to_float(x), to_float(y)
    if v == 0.0:
        raise evaluation_error("undefined" if u == 0.0 or u != u else "zero_divisor")
    return _checked(u / v, x, y)


def _nonzero(x: Number, y: Number) -> tuple[int, int]:
    u, v = _int(x), _int(y)
    if v == 0:
        raise evaluation_error("zero_divisor")
    if not -LONG < v < LONG:
        require_quotient(u, v)
    return u, v


def quotient(x: Number, y: Number) -> int:
    u, v = _nonzero(x, y)
    q = u // v
    return q + 1 if q < 0 and q * v != u else q


def floor_quotient(x: Number, y: Number) -> int:
    u, v = _nonzero(x, y)
    return u // v


def modulo(x: Number, y: Number) -> int:
    u, v = _nonzero(x, y)
    return u % v


def remainder(x: Number, y: Number) -> int:
    u, v = _nonzero(x, y)
    return u - v * quotient(u, v)


def _float_power(x: Number, y: Number) -> float:
    u, v = to_float(x), to_float(y)
    if u == 0.0 and v < 0.0:
        raise evaluation_error("zero_divisor")
    try:
        return _checked(math.pow(u, v), x, y)
    except ValueError:
        raise evaluation_error("undefined") from None
    except OverflowError:
        raise evaluation_error("float_overflow") from None


def power(x: Number, y: Number) -> Number:
    """`**`: an integer where both are integers and the result is one, else a float."""
    if type(x) is int and type(y) is int:
        if y >= 0:
            return integer_power(x, y)
        if x in (1, -1):
            return x if y % 2 else 1
    return _float_power(x, y)


def caret(x: Number, y: Number) -> Number:
    """`^`: on integers the result must be an integer, as ISO says."""
    if type(x) is int and type(y) is int:
        if y >= 0:
            return integer_power(x, y)
        if x in (1, -1):
            return x if y % 2 else 1
        if x == 0:
            raise evaluation_error("zero_divisor")
        raise type_error("float", x)
    return _float_power(x, y)


def shift_left(x: Number, y: Number) -> int:
    u, v = _int(x), _int(y)
    if u and v > 0:
        require_bits(v + u.bit_length())
    return u << v if v >= 0 else u >> -v


def shift_right(x: Number, y: Number) -> int:
    return shift_left(x, -_int(y))


def _pick(x: Number, y: Number, larger: bool) -> Number:
    if x != x or y != y:
        return y if x != x else x
    if x == y:
        return x if type(x) is float else y
    return x if (x > y) == larger else y


def _real(function: Callable[[float], float]) -> Callable[[Number], Number]:
    def apply(x: Number) -> Number:
        u = to_float(x)
        try:
            return _checked(function(u), u)
        except ValueError:
            raise evaluation_error("undefined") from None
        except OverflowError:
            raise evaluation_error("float_overflow") from None

    return apply


def _real2(function: Callable[[float, float], float]) -> Callable[[Number, Number], Number]:
    def apply(x: Number, y: Number) -> Number:
        u, v = to_float(x), to_float(y)
        try:
            return _checked(function(u, v), u, v)
        except ValueError:
            raise evaluation_error("undefined") from None
        except OverflowError:
            raise evaluation_error("float_overflow") from None

    return apply


def _rounding(function: Callable[[float], int]) -> Callable[[Number], Number]:
    def apply(x: Number) -> Number:
        if type(x) is int:
            return x
        if not math.isfinite(x):
            raise evaluation_error("undefined")
        return function(x)

    return apply


def _round(x: float) -> int:
    whole = math.floor(abs(x))
    if abs(x) - whole >= 0.5:
        whole += 1
    return -whole if x < 0 else whole


def _sign(x: Number) -> Number:
    if type(x) is int:
        return (x > 0) - (x < 0)
    return x if x != x or x == 0.0 else math.copysign(1.0, x)


def _positive(x: Number) -> int:
    n = _int(x)
    if n <= 0:
        raise domain_error("not_less_than_one", n)
    return n


def _copysign(x: Number, y: Number) -> Number:
    return math.copysign(to_float(x), to_float(y))


def _log(x: float) -> float:
    if x == 0.0:
        raise ValueError
    return math.log(x)


BINARY: dict[Functor, Callable[[Number, Number], Number]] = {
    Functor(name, 2): function
    for name, function in {
        "+": add,
        "-": subtract,
        "*": multiply,
        "/": divide,
        "//": quotient,
        "div": floor_quotient,
        "mod": modulo,
        "rem": remainder,
        "**": power,
        "^": caret,
        "<<": shift_left,
        ">>": shift_right,
        "/\\": lambda x, y: _int(x) & _int(y),
        "\\/": lambda x, y: _int(x) | _int(y),
        "xor": lambda x, y: _int(x) ^ _int(y),
        "min": lambda x, y: _pick(x, y, larger=False),
        "max": lambda x, y: _pick(x, y, larger=True),
        "gcd": lambda x, y: common_divisor(_int(x), _int(y)),
        "lcm": lambda x, y: common_multiple(_int(x), _int(y)),
        "atan2": _real2(math.atan2),
        "atan": _real2(math.atan2),
        "log": _real2(lambda b, x: _log(x) / _log(b)),
        "copysign": _copysign,
    }.items()
}

UNARY: dict[Functor, Callable[[Number], Number]] = {
    Functor(name, 1): function
    for name, function in {
        "-": lambda x: -x,
        "+": lambda x: x,
        "abs": abs,
        "sign": _sign,
        "\\": lambda x: ~_int(x),
        "msb": lambda x: _positive(x).bit_length() - 1,
        "sqrt": _real(math.sqrt),
        "sin": _real(math.sin),
        "cos": _real(math.cos),
        "tan": _real(math.tan),
        "asin": _real(math.asin),
        "acos": _real(math.acos),
        "atan": _real(math.atan),
        "sinh": _real(math.sinh),
        "cosh": _real(math.cosh),
        "tanh": _real(math.tanh),
        "asinh": _real(math.asinh),
        "acosh": _real(math.acosh),
        "atanh": _real(math.atanh),
        "exp": _real(math.exp),
        "log": _real(_log),
        "log2": _real(lambda x: _log(x) and math.log2(x)),
        "floor": _rounding(math.floor),
        "ceiling": _rounding(math.ceil),
        "truncate": _rounding(math.trunc),
        "round": _rounding(_round),
        "integer": _rounding(_round),
        "float": to_float,
        "float_integer_part": lambda x: x if type(x) is int else float(math.modf(x)[1]),
        "float_fractional_part": lambda x: 0 if type(x) is int else math.modf(x)[0],
        "succ": lambda x: _int(x) + 1,
        "popcount": lambda x: _int(x).bit_count(),
    }.items()
}
