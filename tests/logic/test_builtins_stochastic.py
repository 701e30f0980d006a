"""Builtins that call goals, inside stochastic derivations: probabilities in closed form."""

from __future__ import annotations

import math

import pytest

import deepprooflog as dpl
from deepprooflog.errors import ProgramError

DIE = "".join(f"1/6 :: die({n}).\n" for n in range(1, 7))
GRAMMAR = """
0.3 :: s --> [a], s.
0.7 :: s --> [b].
any(Body, L) :- phrase(Body, L).
seq(G) --> G.
"""


@pytest.mark.parametrize(
    ("body", "probability"),
    [
        # Two dice, each at least 5.
        ("maplist([X]>>(die(X), X > 4), [_, _])", 1 / 9),
        # A clause's own variable is shared where it is named, renamed where it is not.
        ("maplist({Y}/[X]>>(die(X), X = Y), [_, _])", 1 / 6),
        ("maplist([X]>>(die(X), X = Y), [_, _])", 1.0),
        ("N = 3, maplist([X]>>(die(X), X =< N), [_, _])", 1 / 4),
        ("foldl([_, S0, S]>>(die(X), S is S0 + X), [1, 2], 0, 7)", 1 / 6),
        ("call([X, Y]>>(die(X), Y is X mod 2), _, 0)", 1 / 2),
        ("call({X}/(die(X), X > 2))", 2 / 3),
        ("die(X), must_be(between(1, 6), X), is_of_type(positive_integer, X)", 1.0),
        ("die(X), subsumes_term(f(_, 3), f(a, X))", 1 / 6),
        ("die(X), format(atom(A), '~w', [X]), A == '4'", 1 / 6),
        ("die(X), \\+ clause(q(X), _)", 5 / 6),
        ("die(X), include([Y]>>(Y < X), [1, 2, 3], [1, 2])", 1 / 6),
    ],
)
def test_of_dice(body: str, probability: float) -> None:
    """A die is fair; lambdas and tests take part in the derivation."""
    program = dpl.Program(f"{DIE}q(2).\np :- {body}.")
    assert dpl.prob(program, "p") == pytest.approx(probability, abs=1e-12)


@pytest.mark.parametrize(
    ("body", "text", "probability"),
    [
        ("s", "[a, b]", 0.3 * 0.7),
        ("[b]", "[b]", 1.0),
        ("[b]", "[a]", 0.0),
        ("(s, s)", "[a, b, b]", 0.3 * 0.7 * 0.7),
        ("([x], s)", "[x, a, b]", 0.3 * 0.7),
        ("(s, {true})", "[b]", 0.7),
        ("seq([b])", "[b]", 1.0),
        ("seq(s)", "[a, b]", 0.3 * 0.7),
        ("seq((s, [c]))", "[b, c]", 0.7),
        ("call(s)", "[b]", 0.7),
        ("call([X, Y]>>s(X, Y))", "[b]", 0.7),
        ("([a] -> s ; [c])", "[a, b]", 0.7),
    ],
)
def test_of_grammar_bodies(body: str, text: str, probability: float) -> None:
    """`phrase/2` with a body, and grammar variables bound to bodies."""
    program = dpl.Program(GRAMMAR)
    for query in (f"phrase({body}, {text})", f"any({body}, {text})", f"phrase({body}, {text}, [])"):
        assert dpl.prob(program, query) == pytest.approx(probability, abs=1e-12), query


def test_a_lambda_in_a_guard_may_not_choose() -> None:
    """`include` is a guard: a random choice inside its closure is refused, as without a lambda."""
    program = dpl.Program(f"{DIE}p(L) :- include([X]>>die(X), [1, 2], L).")
    with pytest.raises(ProgramError, match="die/1 is labelled"):
        dpl.prob(program, "p(L)")


def test_clauses_of_a_labelled_predicate_are_private() -> None:
    """A meta-interpreter that took them as plain clauses would lose their probabilities."""
    program = dpl.Program(f"{DIE}p(X) :- clause(die(X), true).")
    with pytest.raises(dpl.PrologError, match="random choice"):
        dpl.prob(program, "p(X)")


def test_a_meta_interpreter() -> None:
    """`clause/2` gives the bodies of plain predicates; what is labelled is called."""
    program = dpl.Program(
        f"""{DIE}
        two(X, Y) :- one(X), one(Y), X =\\= Y.
        one(X) :- die(X), even(X).
        even(X) :- X mod 2 =:= 0.
        plain(two(_, _)). plain(one(_)). plain(even(_)).
        run(true).
        run((A, B)) :- run(A), run(B).
        run(A) :- plain(A), clause(A, B), run(B).
        run(die(X)) :- die(X).
        run(A) :- test(A), call(A).
        test(_ =:= _). test(_ =\\= _).
        """
    )
    assert math.isclose(dpl.prob(program, "run(two(_, _))"), 1 / 6, rel_tol=1e-12)
