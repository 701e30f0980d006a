"""A rule compiled for a call pattern: bodies, bindings, shifts and tests, by hand."""

from __future__ import annotations

from itertools import product

import pytest

from deepprooflog.logic.program import BodyOrder, Program
from deepprooflog.relational.call_patterns import (
    CompiledRule,
    argument,
    code_of,
    compile_rule,
    is_canonical,
    pattern_of,
    residual,
)
from deepprooflog.relational.goals import variable
from deepprooflog.relational.rules import EncodedRule, read_rules
from deepprooflog.relational.symbols import Symbols

CONSTANT = 0
V0, V1, V2 = 1, 2, 3
"""Entries of call patterns: a constant, the goal's variables 0, 1, 2."""


def rule_of(text: str) -> tuple[EncodedRule, Symbols]:
    program = Program(text + " a(x, y). b(x, y). f(x).")
    symbols = Symbols.of(program)
    return read_rules(program, symbols)[0], symbols


def compiled(text: str, *pattern: int, order: BodyOrder = "written") -> CompiledRule | None:
    return compile_rule(rule_of(text)[0], pattern, order)


def test_the_page_s_example() -> None:
    """r(X, Y) :- a(Y, X), f(X) called as (constant, variable 0), bound first."""
    text = "r(X, Y) :- a(Y, X), f(X)."
    _, symbols = rule_of(text)
    names = {functor.name: number for number, functor in enumerate(symbols.predicates)}
    template = compiled(text, CONSTANT, V0, order="bound_first")
    assert template == CompiledRule(
        body=((names["f"], argument(0)), (names["a"], variable(0), argument(0))),
        bindings=(variable(0),),
        shift=0,
        tests=(),
    )
    written = compiled(text, CONSTANT, V0)
    assert written is not None and written.body == template.body[::-1]


def test_variables_of_the_rule_come_before_those_of_the_rest() -> None:
    """r(X, Y) :- a(X, Z), b(Z, Y) as (variable 0, variable 1): Z is new, all others move by one."""
    template = compiled("r(X, Y) :- a(X, Z), b(Z, Y).", V0, V1)
    assert template is not None
    assert [atom[1:] for atom in template.body] == [
        (variable(0), variable(1)),
        (variable(1), variable(2)),
    ]
    assert template.bindings == (variable(0), variable(2)) and template.shift == 1


def test_equalities_left_for_run_time() -> None:
    """s(X, X) called with two constants: they must be the same."""
    template = compiled("s(X, X) :- f(X).", CONSTANT, CONSTANT)
    assert template is not None and len(template.tests) == 1
    assert {template.tests[0][0], template.tests[0][1] - argument(0)} == {0, 1}
    _, symbols = rule_of("s(x, Y) :- f(Y).")
    fixed = compiled("s(x, Y) :- f(Y).", CONSTANT, V0)
    assert fixed is not None and fixed.tests[0][0] == 0
    assert 0 <= fixed.tests[0][1] < len(symbols.constants)


def test_a_call_binds_its_own_variables() -> None:
    """s(X, X) called as (constant, variable 0): the variable becomes the constant."""
    template = compiled("s(X, X) :- f(X).", CONSTANT, V0)
    assert template is not None
    assert template.bindings == (argument(0),) and template.tests == ()


def test_a_variable_that_the_body_lacks_is_left_to_number() -> None:
    template = compiled("s(X, Y) :- f(X).", V0, V1)
    assert template is not None and template.residuals == 1
    assert template.bindings == (variable(0), residual(0))


def test_heads_that_cannot_unify() -> None:
    assert compiled("s(x, y) :- f(x).", V0, V0) is None
    assert compiled("s(X, Y) :- f(X).", V0, V1, V2) is None


def test_patterns_are_numbered() -> None:
    """One number for each pattern of four arguments whose entry j is at most j + 1."""
    every = list(product(*[range(j + 2) for j in range(4)]))
    assert sorted(map(code_of, every)) == list(range(len(every)))
    assert all(pattern_of(code_of(pattern), 4) == pattern for pattern in every)
    # Bell's numbers: a call is a partition of its places into variables, and the constants' class.
    assert sum(map(is_canonical, every)) == 52


@pytest.mark.parametrize(
    ("pattern", "canonical"), [((0, 1, 0, 2), True), ((1, 1, 2), True), ((2, 1), False)]
)
def test_canonical_patterns(pattern: tuple[int, ...], canonical: bool) -> None:
    assert is_canonical(pattern) == canonical
