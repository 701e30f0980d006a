"""Steps of small sums and comparisons, against the solver, which runs them in its machine."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import deepprooflog as dpl


def expression(rng: random.Random, depth: int) -> str:
    """A sum of small and large integers, floats and things that are no numbers among them."""
    if not depth or rng.random() < 0.3:
        large = [2**61, 2**62, -(2**62), 2**64]
        return str(rng.choice([*range(-7, 8), *large, rng.choice(["1.5", "Y", "a", "0"])]))
    operator = rng.choice(["+", "-", "*", "mod", "mod", "//", "rem", "max"])
    a, b = expression(rng, depth - 1), expression(rng, depth - 1)
    return f"max({a}, {b})" if operator == "max" else f"({a}) {operator} ({b})"


def told(ask: Callable[[dpl.Program, str], object], text: str) -> object:
    """What v(X) comes to, or that it is an error."""
    try:
        return ask(dpl.Program(f"v(X) :- {text}."), "v(X)")
    except dpl.ProofLogError:
        return "error"


def by_solver(program: dpl.Program, query: str) -> object:
    return [f"v({a['X']})" for a in dpl.solve(program, query)]


def by_steps(program: dpl.Program, query: str) -> object:
    return list(dpl.answers(program, query))


@pytest.mark.parametrize("seed", range(40))
def test_values(seed: int) -> None:
    rng = random.Random(seed)
    text = f"X is {expression(rng, rng.randint(0, 4))}"
    assert told(by_steps, text) == told(by_solver, text)


@pytest.mark.parametrize("seed", range(40))
def test_comparisons(seed: int) -> None:
    rng = random.Random(seed)
    operator = rng.choice(["<", ">", "=<", ">=", "=:=", "=\\=", "is"])
    left = expression(rng, 0) if operator == "is" else expression(rng, rng.randint(0, 2))
    text = f"X = 1, {left} {operator} {expression(rng, rng.randint(0, 2))}"
    assert told(by_steps, text) == told(by_solver, text)


def test_what_a_sum_binds_is_taken_back() -> None:
    """Another clause, or another step, finds the variable open again."""
    program = dpl.Program(
        "0.5 :: q(X) :- X is 1 + 1. 0.25 :: q(X) :- X is 2 + 1. r(X) :- q(X), X > 2."
    )
    assert dpl.answers(program, "q(X)") == {"q(2)": 0.5, "q(3)": 0.25}
    assert dpl.prob(program, "r(X)") == 0.25
