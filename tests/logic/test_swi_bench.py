"""The programs of SWI-Prolog's benchmark set: the same answers as SWI-Prolog gives."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from deepprooflog.errors import Notice
from deepprooflog.logic.program import Program
from deepprooflog.logic.solver import dispatch
from logic.swi_goals import assert_agree, our_outcome, swi_outcomes

# Programs with a goal or two each whose answers show what they compute, at a small size. Of
# `flatten` and `simple_analyzer` the rest depends on the order of variables, which ISO leaves open.
GOALS = {
    "boyer": ["rewrite(equal(plus(a, b), c), X)", "tautology(implies(a, a))", "tautology(a)"],
    "browse": [
        "init(5, 3, 2, [[a, b], [b, [a]]], S), randomize(S, R, 21)",
        "investigate([[pattern([[a, b, a]])]], [[star(X), b, star(Y)], [Z, b, Z]])",
    ],
    "chat_parser": ["my_string(X), determinate_say(X, Y)"],
    "crypt": ["top", "mult([1, 2, 3], 4, X)", "sum([9, 9], [1], X)"],
    "derive": ["d((x + 1) * log(x), x, D)", "d(x ^ 3 / exp(-x), x, D)", "top"],
    "divide10": ["top", "d(x / x / x, x, D)"],
    "eval": ["add(30, E), X is E"],
    "fast_mu": ["top", "theorem([m, u, i, i, u])"],
    "flatten": ["eliminate_disjunctions([(a(A) :- (b(A) ; c(A)))], X, Y, [])", "top"],
    "log10": ["top", "d(log(log(x)), x, D)"],
    "meta_qsort": ["interpret(qsort)", "interpret((true, X = 1))"],
    "mu": ["theorem([m, u, i, i, u], 5, P)", "theorem([m, X], 3, P)"],
    "nreverse": ["nreverse([1, 2, 3, 4, 5], L)", "concatenate(A, B, [1, 2, 3])"],
    "ops8": ["top", "d((x + 1) * (x ^ 2 + 2), x, D)"],
    "perfect": ["findall(C, perfect(30, C), L)", "top"],
    "poly_10": ["test_poly(P), once(poly_exp(3, P, R))"],
    "prover": ["problem(N, P, C), implies(P, C)"],
    "qsort": ["qsort([3, 1, 2, 3], L, [])", "partition([1, 5, 2], 3, A, B)"],
    "queens_8": ["queens(6, Q)", "queens(3, Q)"],
    "query": ["query(X)"],
    "reducer": ["try(fac(3), X)", "try(quick([3, 1, 2]), X)"],
    "sendmore": ["sumdigit(1, 9, 9, S, C)", "digit(D), leftdigit(D)"],
    "serialise": ["atom_codes('ABLE WAS I', C), serialise(C, N)"],
    "simple_analyzer": ["once(top)", "once(init_strees([], _, T))"],
    "tak": ["tak(9, 6, 3, A)"],
    "times10": ["top", "d(x * x * x, x, D)"],
    "unify": ["main(S)", "u(X, [1, Y], [X], C)"],
    "zebra": ["zebra(H)"],
}  # fmt: skip
# What is left out, and what it needs.
NEEDS = {
    "det": "=>",
    "fib": ":- table",
    "moded_path": ":- table",
    "nand": "assert",
    "pingpong": ":- table",
    "queens_clpfd": "library(clpfd)",
    "sieve": "assert",
}


def test_every_program_is_run_or_named(conformance_dir: Path) -> None:
    """What is left out has in its text what it is left out for."""
    programs = {p.stem: p.read_text("utf-8") for p in (conformance_dir / "swi_bench").glob("*.pl")}
    assert set(programs) == set(GOALS) | set(NEEDS)
    for name, needed in NEEDS.items():
        assert needed in programs[name], name


@pytest.mark.parametrize("name", GOALS)
def test_as_swi_prolog(
    name: str,
    swipl: str,
    conformance_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same answers in the same order, interpreted and compiled."""
    monkeypatch.setattr(dispatch, "WARM", 1)
    text = (conformance_dir / "swi_bench" / f"{name}.pl").read_text("utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        program = Program(text, file=f"{name}.pl")
    expected = swi_outcomes(swipl, GOALS[name], tmp_path, text)
    assert any(outcome.answers for outcome in expected)
    for goal, theirs in zip(GOALS[name], expected, strict=True):
        for compiled in (False, True):
            assert_agree(our_outcome(program, goal, compiled), theirs)
