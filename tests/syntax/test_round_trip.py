"""What is written reads back as the same term, whatever the term and the operators."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings

from deepprooflog.syntax.operators import Operators
from deepprooflog.syntax.reader import read_term
from deepprooflog.syntax.terms import Atom, Float, Functor, Struct, Term, is_ground, struct
from deepprooflog.syntax.writer import write_clause, write_term
from syntax.random_terms import operator_tables, terms, variant

DEEP = 30_000


@settings(max_examples=1000)
@given(terms(), operator_tables())
@example(struct("-", struct("-", 1)), Operators())
def test_read_inverts_write(term: Term, operators: Operators) -> None:
    text = write_term(term, operators=operators)
    read = read_term(text + " .", operators)
    assert variant(read.term, term), text


@settings(max_examples=300)
@given(terms(), operator_tables())
def test_read_inverts_canonical_write(term: Term, operators: Operators) -> None:
    """With operators ignored, the text reads back under any other table."""
    text = write_term(term, ignore_ops=True)
    assert variant(read_term(text + " .", operators).term, term), text


@settings(max_examples=300)
@given(terms(), operator_tables())
def test_ground_flag_is_exact(term: Term, operators: Operators) -> None:
    read = read_term(write_term(term, operators=operators) + " .", operators).term
    stack = [read]
    while stack:
        part = stack.pop()
        if isinstance(part, Struct):
            stack.extend(part.args)
            assert part.ground == all(is_ground(arg) for arg in part.args)


@settings(max_examples=300)
@given(terms(), terms(), operator_tables())
def test_clause_reads_back(head: Term, goal: Term, operators: Operators) -> None:
    """A clause written on one line reads back, unless a directive took its operators away."""
    for name in (":-", ",", "::"):
        operators.infix[name] = Operators().infix[name]
        operators.postfix.pop(name, None)
    text = write_clause(head, [goal, Atom("true")], label="0.5", operators=operators)
    read = read_term(text, operators).term
    labelled = struct("::", Float(0.5), head)
    assert variant(read, struct(":-", labelled, struct(",", goal, Atom("true")))), text


DEEP_TEXTS = {
    "compound": "f(" * DEEP + "a" + ")" * DEEP,
    "prefix operators": "- " * DEEP + "a",
    "left-associative": "+".join(["1"] * DEEP),
    "right-associative": "^".join(["2"] * DEEP),
    "conjunction": "a:-" + ",".join(["b"] * DEEP),
    "list": "[" + ",".join(["X"] * DEEP) + "]",
    "nested lists": "[" * DEEP + "]" * DEEP,
    "nested curly brackets": "{" * DEEP + "a" + "}" * DEEP,
}


@pytest.mark.parametrize("text", DEEP_TEXTS.values(), ids=DEEP_TEXTS.keys())
def test_depth_is_no_limit(text: str) -> None:
    written = write_term(read_term(text + ".").term)
    assert written.replace(" ", "") == text.replace(" ", "")


def test_deep_parentheses_vanish() -> None:
    assert read_term("(" * DEEP + "a" + ")" * DEEP + ".").term is Atom("a")


def test_deep_left_brackets_in_clause_text() -> None:
    """The writer's own brackets nest as deep as the term does."""
    term: Term = 1
    for _ in range(DEEP):
        term = Struct(Functor("^", 2), (term, 2))
    assert variant(read_term(write_term(term) + ".").term, term)
