"""Goals that need no call: arithmetic, unification, tests and other builtins with one solution.

On small integers the generated code is Python's own arithmetic; anything else goes through
`evaluate`, so that both give the same values and errors.
"""

from __future__ import annotations

from deepprooflog.logic.builtins.registry import DET, PROTECTED
from deepprooflog.logic.solver.emit import (
    TooBigError,
    Writer,
    arguments,
    dereference,
    expression,
    match,
)
from deepprooflog.syntax.terms import Functor, Struct, Term, Var

EQUALS = Functor("=", 2)
IS = Functor("is", 2)

# Python's operator, and the one that holds when it does not (on integers).
_COMPARISONS = {
    Functor("<", 2): ("<", ">="),
    Functor(">", 2): (">", "<="),
    Functor("=<", 2): ("<=", ">"),
    Functor(">=", 2): (">=", "<"),
    Functor("=:=", 2): ("==", "!="),
    Functor("=\\=", 2): ("!=", "=="),
}
_TESTS = {
    Functor("var", 1): "type({0}) is Var",
    Functor("nonvar", 1): "type({0}) is not Var",
    Functor("atom", 1): "type({0}) is Atom",
    Functor("integer", 1): "type({0}) is int",
    Functor("number", 1): "(type({0}) is int or type({0}) is Float)",
    Functor("compound", 1): "type({0}) is Struct",
}
# Tests that bind nothing even when they hold, so that a branch may follow without undoing.
_PURE = frozenset(_COMPARISONS) | frozenset(
    Functor(name, arity)
    for name, arity in (
        ("==", 2), ("\\==", 2), ("\\=", 2), ("@<", 2), ("@>", 2), ("@=<", 2), ("@>=", 2),
        ("var", 1), ("nonvar", 1), ("atom", 1), ("number", 1), ("integer", 1), ("float", 1),
        ("atomic", 1), ("compound", 1), ("callable", 1), ("ground", 1), ("true", 0),
    )
)  # fmt: skip
# On integers these give an integer, or an error.
_INTEGER_OPERATORS = {"+": "({0} + {1})", "-": "({0} - {1})"}
_INTEGER_FUNCTIONS = {
    "*": "multiply",
    "//": "quotient",
    "mod": "modulo",
    "rem": "remainder",
    "div": "floor_quotient",
}


def is_inline(goal: Term) -> bool:
    """True for goals that `inline` can write."""
    functor = getattr(goal, "functor", None)
    return functor in DET and functor in PROTECTED


def is_pure(goal: Term) -> bool:
    """True for inline goals that bind nothing."""
    return is_inline(goal) and getattr(goal, "functor", None) in _PURE


def inline(w: Writer, goal: Term, fail: str) -> None:
    """Write the code of a goal; control passes on when it holds, else `fail` is executed."""
    w.goal = goal
    if type(goal) is not Struct:
        functor: Functor = goal.functor  # type: ignore[union-attr]
        if functor.name == "fail" or functor.name == "false":
            w.emit(fail)
        elif functor.name != "true":
            w.emit(f"if not {w.constant('D', DET[functor])}(m, ()): {fail}")
    elif goal.functor is EQUALS:
        _equals(w, goal.args[0], goal.args[1], fail)
    elif goal.functor is IS:
        _is(w, goal.args[0], goal.args[1], fail)
    elif goal.functor in _COMPARISONS:
        _comparison(w, goal, fail)
    elif goal.functor in _TESTS and type(goal.args[0]) is Var:
        name = expression(w, goal.args[0])
        if name == "Var()":
            name = w.fresh("x")
            w.emit(f"{name} = Var()")
        dereference(w, name)
        w.emit(f"if not {_TESTS[goal.functor].format(name)}: {fail}")
    else:
        args = arguments(w, goal.args)
        w.emit(f"if not {w.constant('D', DET[goal.functor])}(m, {args}): {fail}")
    w.goal = None


def _first(w: Writer, term: Term) -> bool:
    return type(term) is Var and f"v{term.index}" not in w.seen


def _occurs(var: Var, term: Term) -> bool:
    stack = [term]
    while stack:
        t = stack.pop()
        if t is var:
            return True
        if type(t) is Struct and not t.ground:
            stack.extend(t.args)
    return False


def _equals(w: Writer, a: Term, b: Term, fail: str) -> None:
    if type(b) is Var and (type(a) is not Var or _first(w, b)):
        a, b = b, a
    if type(a) is Var and _first(w, a) and not _occurs(a, b):
        value = expression(w, b)
        w.emit(f"v{a.index} = {value}")
        w.seen.add(f"v{a.index}")
    elif type(a) is Var and type(b) is not Var:
        name = expression(w, a)
        if name == "Var()":
            return
        match(w, name, b, fail)
    else:
        w.emit(f"if not unify({expression(w, a)}, {expression(w, b)}, trail): {fail}")


def _integer_code(w: Writer, term: Term, names: list[str], depth: int = 0) -> str | None:
    """Python code for an expression over integers; `names` collects what must be one."""
    if depth > 20:
        raise TooBigError
    if type(term) is int:
        return f"({term})" if -(1 << 62) < term < 1 << 62 else None
    if type(term) is Var:
        name = f"v{term.index}"
        if name not in w.seen:
            return None
        if name not in names:
            names.append(name)
        return name
    if type(term) is not Struct:
        return None
    parts = [_integer_code(w, a, names, depth + 1) for a in term.args]
    if any(p is None for p in parts):
        return None
    symbol = term.functor.name
    if len(parts) == 2 and symbol in _INTEGER_OPERATORS:
        return _INTEGER_OPERATORS[symbol].format(*parts)
    if len(parts) == 2 and symbol in _INTEGER_FUNCTIONS:
        return f"{_INTEGER_FUNCTIONS[symbol]}({parts[0]}, {parts[1]})"
    if len(parts) == 1 and symbol == "-":
        return f"(-{parts[0]})"
    return None


def _all_integers(w: Writer, names: list[str]) -> str:
    for name in names:
        dereference(w, name)
    return " and ".join([f"type({name}) is int" for name in names]) or "True"


def _is(w: Writer, target: Term, term: Term, fail: str) -> None:
    first = type(target) is Var and _first(w, target) and not _occurs(target, term)
    result = f"v{target.index}" if first and type(target) is Var else w.fresh("x")
    names: list[str] = []
    code = _integer_code(w, term, names)
    slow = f"{result} = number_term(evaluate({expression(w, term)}))"
    if code is None:
        w.emit(slow)
    else:
        w.emit(f"if {_all_integers(w, names)}: {result} = {code}")
        w.emit(f"else: {slow}")
    if first:
        w.seen.add(result)
    else:
        w.emit(f"if not unify({expression(w, target)}, {result}, trail): {fail}")


def _comparison(w: Writer, goal: Struct, fail: str) -> None:
    symbol, negated = _COMPARISONS[goal.functor]
    names: list[str] = []
    left = _integer_code(w, goal.args[0], names)
    right = _integer_code(w, goal.args[1], names)
    slow = [f"evaluate({expression(w, a)})" for a in goal.args]
    if left is None or right is None:
        w.emit(f"if not {slow[0]} {symbol} {slow[1]}: {fail}")
        return
    w.emit(f"if {_all_integers(w, names)}:")
    w.shift(1)
    w.emit(f"if {left} {negated} {right}: {fail}")
    w.shift(-1)
    w.emit(f"elif not {slow[0]} {symbol} {slow[1]}: {fail}")
