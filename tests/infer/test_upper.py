"""Upper bounds: claimed where every builtin behind the open goals has one solution at most."""

from __future__ import annotations

import pytest

import deepprooflog as dpl
from deepprooflog.logic.builtins import CONTROL, DET, NONDET
from deepprooflog.logic.builtins.registry import is_single
from deepprooflog.syntax.terms import Functor


def walk(test: str) -> dpl.Program:
    """A walk without an end that comes upon a builtin at every step."""
    return dpl.Program(f"0.5 :: walk(N) :- {test}, M is N + 1, walk(M). 0.5 :: walk(_).")


@pytest.mark.parametrize(
    "test",
    ["atom_length(abc, _)", "N >= 0", "\\+ N = a", "findall(X, member(X, [1, 2]), _)",
     "atom_codes(a, _)", "keysort([b-1, a-2], _)", "aggregate_all(count, member(_, [a]), _)",
     "ignore(fail)", "string_length(abc, _)", "must_be(integer, N)"],
)  # fmt: skip
def test_a_builtin_with_one_solution_leaves_an_upper_bound(test: str) -> None:
    lower, upper = dpl.bounds(walk(test), "walk(0)", budget=dpl.Budget(max_goals=40))
    assert upper is not None
    assert lower <= 1 <= upper + 1e-12


@pytest.mark.parametrize("test", ["reverse(_, _)", "between(0, N, _)", "member(_, [a, b])"])
def test_one_with_several_leaves_none(test: str) -> None:
    """reverse/2 has more than one solution where its first argument is open."""
    program = dpl.Program(f"0.5 :: walk(N) :- M is N + 1, walk(M), {test}. 0.5 :: walk(_) :- fail.")
    budget = dpl.Budget(max_goals=10)
    assert dpl.success(program, "walk(0)", budget=budget, method="graph").upper is None


def test_the_tables_of_builtins_say_it() -> None:
    assert all(is_single(f) for f in DET)
    assert not any(is_single(f) for f in NONDET)
    assert not is_single(Functor("is", 3))
    single = {f.name for f in CONTROL if is_single(f)}
    assert single == {"!", "\\+", "not", "once", "ignore", "forall", "findall", "aggregate_all"}
