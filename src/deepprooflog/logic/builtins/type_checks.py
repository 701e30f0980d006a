"""Types: var/1, atom/1 and the rest; must_be/2 and is_of_type/2, with the types of SWI-Prolog."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deepprooflog.errors import PrologError
from deepprooflog.logic.builtins.registry import Test, det
from deepprooflog.logic.builtins.text import MAX_CODE
from deepprooflog.logic.solver.arithmetic import evaluate
from deepprooflog.logic.solver.iso_errors import (
    domain_error,
    existence_error,
    instantiation_error,
    iso_error,
    type_error,
    type_error_term,
)
from deepprooflog.logic.solver.machine import Machine
from deepprooflog.logic.unify import undo
from deepprooflog.syntax.terms import (
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
    is_ground,
    iter_list,
    list_tail,
    struct,
    variables,
)

_ATOMIC = frozenset({Atom, int, Float, Str, Slot})


def _test(holds: Callable[[Term], bool]) -> Test:
    def test(m: Machine, args: Any) -> bool:
        return holds(deref(args[0]))

    return test


TESTS: dict[str, Callable[[Term], bool]] = {
    "var": lambda t: type(t) is Var,
    "nonvar": lambda t: type(t) is not Var,
    "atom": lambda t: type(t) is Atom,
    "number": lambda t: type(t) is int or type(t) is Float,
    "integer": lambda t: type(t) is int,
    "float": lambda t: type(t) is Float,
    "atomic": lambda t: type(t) in _ATOMIC,
    "compound": lambda t: type(t) is Struct,
    "callable": lambda t: type(t) is Atom or type(t) is Struct,
    "is_list": lambda t: list_tail(t) is NIL,
    "string": lambda t: type(t) is Str,
    "ground": lambda t: is_ground(t) or not variables(t),
    "acyclic_term": is_acyclic,
    "cyclic_term": lambda t: not is_acyclic(t),
}

# The library's own additions, which a program may redefine.
_NOT_ISO = frozenset({"is_list", "string", "cyclic_term"})

for _name, _holds in TESTS.items():
    det(_name, 1, iso=_name not in _NOT_ISO)(_test(_holds))


_PAIR = Functor("-", 2)
_BETWEEN = Functor("between", 2)
_ONE_OF = Functor("oneof", 1)
_LIST_OF = Functor("list", 1)

Holds = Callable[[Term], bool]


def _is_char(term: Term) -> bool:
    return type(term) is Atom and len(term.name) == 1


def _is_code(term: Term) -> bool:
    return type(term) is int and 0 <= term <= MAX_CODE


def _list_of(holds: Holds) -> Holds:
    return lambda t: list_tail(t) is NIL and all(holds(item) for item in iter_list(t))


_is_chars, _is_codes = _list_of(_is_char), _list_of(_is_code)
_TYPES: dict[str, Holds] = {
    **{name: TESTS[name] for name in (
        "atom", "atomic", "callable", "compound", "float", "ground", "integer", "nonvar", "number",
        "string", "var",
    )},
    "any": lambda t: True,
    "acyclic": is_acyclic,
    "boolean": lambda t: t is Atom("true") or t is Atom("false"),
    "char": _is_char,
    "chars": _is_chars,
    "code": _is_code,
    "codes": _is_codes,
    "constant": TESTS["atomic"],
    "cyclic": lambda t: not is_acyclic(t),
    "list": TESTS["is_list"],
    "list_or_partial_list": lambda t: list_tail(t) is NIL or type(list_tail(t)) is Var,
    "negative_integer": lambda t: type(t) is int and t < 0,
    "nonneg": lambda t: type(t) is int and t >= 0,
    "pair": lambda t: type(t) is Struct and t.functor is _PAIR,
    "positive_integer": lambda t: type(t) is int and t > 0,
    "proper_list": TESTS["is_list"],
    "rational": TESTS["integer"],
    "symbol": TESTS["atom"],
    "text": lambda t: type(t) in (Atom, Str) or _is_chars(t) or _is_codes(t),
}  # fmt: skip
# Of these, a term with unbound variables is not yet wrong.
_GROUND = frozenset({"ground", "text", "string", "rational"})


@det("must_be", 2)
def must_be(m: Machine, args: Any) -> bool:
    kind, term = deref(args[0]), deref(args[1])
    if _has_type(m, kind, term):
        return True
    raise _is_not(m, kind, term)


@det("is_of_type", 2)
def is_of_type(m: Machine, args: Any) -> bool:
    return bool(_has_type(m, deref(args[0]), deref(args[1])))


def _has_type(m: Machine, kind: Term, term: Term) -> bool | None:
    """True when the term is of the type; None when there is no such type."""
    if type(kind) is Var:
        raise instantiation_error("the type is not bound")
    if type(kind) is Atom:
        holds = _TYPES.get(kind.name)
        if kind.name == "type":
            return is_ground(term) and _exists(term)
        return None if holds is None else holds(term)
    if type(kind) is not Struct:
        return None
    if kind.functor is _BETWEEN:
        return _between(deref(kind.args[0]), deref(kind.args[1]), term)
    if kind.functor is _ONE_OF:
        return is_ground(term) and any(_unifies(m, term, item) for item in iter_list(kind.args[0]))
    if kind.functor is _LIST_OF:
        element = deref(kind.args[0])
        if list_tail(term) is not NIL:
            return False
        if type(element) is Var:
            raise instantiation_error("the type of a list's elements is not bound")
        return all(_has_type(m, element, item) for item in iter_list(term))
    return None


def _exists(kind: Term) -> bool:
    if type(kind) is Atom:
        return kind.name in _TYPES or kind.name == "type"
    return type(kind) is Struct and kind.functor in (_BETWEEN, _ONE_OF, _LIST_OF)


def _between(low: Term, high: Term, term: Term) -> bool:
    if type(low) is int:
        if type(term) is not int:
            return False
        if high in (Atom("inf"), Atom("infinite")):
            return low <= term
        if type(high) is Var:
            raise instantiation_error("the upper bound of the type is not bound")
        if type(high) is not int:
            raise type_error("integer", high)
        return low <= term <= high
    if type(term) is not int and type(term) is not Float:
        return False
    return bool(evaluate(term) >= evaluate(low) and evaluate(term) <= evaluate(high))


def _unifies(m: Machine, a: Term, b: Term) -> bool:
    mark = len(m.trail)
    met = m.unify(a, b)
    undo(m.trail, mark)
    return met


def _is_not(m: Machine, kind: Term, term: Term) -> PrologError:
    """The error of a term that is not of the type."""
    name = kind.name if type(kind) is Atom else None
    if name == "var":
        return iso_error(struct("uninstantiation_error", term), "the argument must be unbound")
    if name in ("cyclic", "acyclic"):
        return domain_error(f"{name}_term", term)
    if name == "list_or_partial_list":
        return type_error("list", term)
    element: Term | None = {"chars": Atom("char"), "codes": Atom("code")}.get(name or "")
    if type(kind) is Struct and kind.functor is _LIST_OF:
        element = deref(kind.args[0])
    if name == "list" or element is not None:
        return _not_a_list(m, kind, element, term)
    if not _exists(kind):
        return existence_error("type", kind)
    ground = name in _GROUND or (type(kind) is Struct and kind.functor is _ONE_OF)
    if type(term) is Var or (ground and not is_ground(term)):
        return instantiation_error()
    return type_error_term(kind, term)


def _not_a_list(m: Machine, kind: Term, element: Term | None, term: Term) -> PrologError:
    tail = list_tail(term)
    if type(tail) is Var:
        return instantiation_error("the list is not bound to its end")
    if tail is NIL and element is not None:
        wrong = next(item for item in iter_list(term) if not _has_type(m, element, item))
        return _is_not(m, element, wrong)
    return type_error_term(kind if element is None else Struct(_LIST_OF, (element,)), term)
