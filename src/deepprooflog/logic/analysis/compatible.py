"""Tests of clause bodies that nothing satisfies together: comparisons and tests of types."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import pairwise

from deepprooflog.errors import ProofLogError
from deepprooflog.logic.builtins.type_checks import TESTS
from deepprooflog.logic.solver.arithmetic import Number, evaluate
from deepprooflog.syntax.terms import (
    NIL,
    Atom,
    Float,
    Functor,
    Str,
    Struct,
    Term,
    Var,
    args_of,
    deref,
    functor_of,
    is_ground,
    variables,
)
from deepprooflog.syntax.writer import Names, write_term

COMPARE = {
    "<": operator.lt, "=<": operator.le, ">": operator.gt, ">=": operator.ge,
    "=:=": operator.eq, "=\\=": operator.ne,
}  # fmt: skip
TURNED = {"<": ">", "=<": ">=", ">": "<", ">=": "=<", "=:=": "=:=", "=\\=": "=\\="}
# A term of each type, for tests of the same variable; of these none but `is_list` looks inside.
SAMPLES: tuple[Term, ...] = (
    Var(), Atom("a"), NIL, 1, Float(1.5), Str("s"), Struct(Functor("f", 1), (Var(),)),
    Struct(Functor(".", 2), (1, NIL)),
)  # fmt: skip
OUTSIDE = frozenset(
    {"var", "nonvar", "atom", "number", "integer", "float", "atomic", "compound", "callable",
     "string"}
)  # fmt: skip


def value_of(expression: Term) -> Number | None:
    """The value of a ground arithmetic expression; None for any other term."""
    if not is_ground(expression) and variables(expression):
        return None
    try:
        return evaluate(expression)
    except ProofLogError:
        return None


def comparisons_hold(atoms: Sequence[Term]) -> bool:
    """Some numbers satisfy all comparisons, each expression taken as a number of its own.

    >>> from deepprooflog.logic.body import conjuncts
    >>> from deepprooflog.syntax.reader import read_term
    >>> tests = ["X < 3, X > 2", "X < 3, 3 =< X", "X < Y, Y < X", "1 + 1 =:= 2"]
    >>> [comparisons_hold(conjuncts(read_term(t, end_optional=True).term)) for t in tests]
    [True, False, False, True]
    """
    names = Names()
    tests: dict[str, list[tuple[str, Number]]] = {}
    for atom in atoms:
        functor = functor_of(atom)
        if functor is None or functor.arity != 2 or functor.name not in COMPARE:
            continue
        name = functor.name
        (left, right), (low, high) = args_of(atom), map(value_of, args_of(atom))
        if low is not None and high is not None:
            if not COMPARE[name](low, high):
                return False
            continue
        texts = [write_term(t, variable_names=names) for t in (left, right)]
        if high is not None:
            tests.setdefault(texts[0], []).append((name, high))
        elif low is not None:
            tests.setdefault(texts[1], []).append((TURNED[name], low))
        elif texts[0] <= texts[1]:
            tests.setdefault(f"{texts[0]} - {texts[1]}", []).append((name, 0))
        else:
            tests.setdefault(f"{texts[1]} - {texts[0]}", []).append((TURNED[name], 0))
    return all(_some_number(each) for each in tests.values())


def _some_number(tests: Sequence[tuple[str, Number]]) -> bool:
    """True when a real number satisfies comparisons with constants: of these, or between two."""
    points = sorted({value for _, value in tests})
    middles = [a + (b - a) / 2 for a, b in pairwise(points)]
    tried = [*points, *middles, points[0] - 1, points[-1] + 1]
    return any(all(COMPARE[name](x, value) for name, value in tests) for x in tried)


def types_hold(atoms: Sequence[Term]) -> bool:
    """Some term satisfies all type tests of a variable, and a term those that are made of it."""
    tests: dict[Var, list[str]] = {}
    for atom in atoms:
        functor = functor_of(atom)
        if functor is None or functor.arity != 1 or functor.name not in TESTS:
            continue
        term = deref(args_of(atom)[0])
        if type(term) is Var:
            tests.setdefault(term, []).append(functor.name)
        elif functor.name in OUTSIDE and not TESTS[functor.name](term):
            return False
    return all(
        any(all(TESTS[name](sample) for name in names) for sample in SAMPLES)
        for names in tests.values()
    )
