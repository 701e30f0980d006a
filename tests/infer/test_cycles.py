"""Cycles through the whole library: walks, loops close to 1, critical branching."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import deepprooflog as dpl
from infer.random_cycles import log_fraction


def walk(n: int, up: str, down: str) -> dpl.Program:
    """From N up or down by one, until n is reached; 0 fails, and so does what up and down leave."""
    return dpl.Program(
        f"""
        {up} :: move(1).  {down} :: move(-1).
        walk({n}).
        walk(N) :- N > 0, N < {n}, move(D), M is N + D, walk(M).
        """
    )


def walk_log(n: int, start: int, up: Fraction, down: Fraction) -> float:
    """log of the probability to get to n: x_k = c_k x_{k+1} with c_k = up/(1 − down c_{k−1})."""
    ratio, logs = Fraction(0), []
    for _ in range(1, n):
        ratio = up / (1 - down * ratio)
        logs.append(log_fraction(ratio))
    return math.fsum(logs[start - 1 :])


@pytest.mark.parametrize(
    ("n", "start", "up", "down"),
    [
        (200, 1, "0.01", "0.5"), (200, 100, "0.01", "0.5"), (1000, 3, "0.5", "0.5"),
        (300, 10, "1/3", "2/3"), (300, 290, "2/3", "1/3"), (60, 1, "0.0001", "0.9999"),
    ],
)  # fmt: skip
def test_walks_against_the_drift(n: int, start: int, up: str, down: str) -> None:
    program = walk(n, up, down)
    expected = walk_log(n, start, Fraction(up), Fraction(down))
    found = dpl.success(program, f"walk({start})")
    assert found.exact
    assert abs(found.log_lower - expected) <= found.error + 1e-14 * n
    assert found.error < 1e-10
    log = dpl.Model(program).log_prob([f"walk({start})"]).item()
    assert log == pytest.approx(expected, rel=1e-13, abs=1e-13)


def test_the_ruined_gambler() -> None:
    """A fair game, k of n in hand: k/n, as a fraction and as a float."""
    program = walk(80, "0.5", "0.5")
    assert dpl.exact_fraction(program, "walk(30)") == Fraction(3, 8)
    assert dpl.prob(program, "walk(30)") == 0.375
    assert dpl.answers(program, "walk(30)") == {"walk(30)": 0.375}


def test_a_long_walk() -> None:
    program = walk(3000, "0.5", "0.5")
    assert dpl.prob(program, "walk(750)") == pytest.approx(0.25, rel=1e-13)


def torus(k: int) -> dpl.Program:
    """A walk on k × k squares, the edges joined: (0, 0) succeeds, (k/2, 0) fails."""
    return dpl.Program(
        f"""
        0.25 :: move(0, 1).  0.25 :: move(0, -1).  0.25 :: move(1, 0).  0.25 :: move(-1, 0).
        at(0, 0) :- !.
        at({k // 2}, 0) :- !, fail.
        at(R, C) :- move(A, B), S is (R + A) mod {k}, D is (C + B) mod {k}, at(S, D).
        """
    )


@pytest.mark.parametrize("k", [4, 12])
def test_a_torus_is_symmetric(k: int) -> None:
    """Half way between success and failure it is ½; a quarter nearer and farther add up to 1."""
    program = torus(k)
    assert dpl.prob(program, f"at({k // 4}, 1)") == pytest.approx(0.5, rel=1e-13)
    near, far = dpl.prob(program, "at(1, 1)"), dpl.prob(program, f"at({k // 2 - 1}, 1)")
    assert near + far == pytest.approx(1, rel=1e-13)
    if k == 4:
        assert near == pytest.approx(float(dpl.exact_fraction(program, "at(1, 1)")), rel=1e-15)


@pytest.mark.parametrize("zeros", [1, 4, 8, 12, 16, 30, 200])
@pytest.mark.parametrize("method", ["graph", "tabled"])
def test_loops_of_weight_close_to_one(zeros: int, method: str) -> None:
    """p ← p (1 − ε) | true (ε/4) is ¼, and with all of ε it is 1."""
    loop, rest = f"1 - 1/{10**zeros}", f"1/{10**zeros}"
    for text, value in [
        (f"{loop} :: p :- p. {rest} :: p.", 1.0),
        (f"{loop} :: p :- p. {rest} / 4 :: p.", 0.25),
        (f"{loop} :: p :- q, p. {rest} / 4 :: p. 1 :: q.", 0.25),
    ]:
        program = dpl.Program(text)
        found = dpl.success(program, "p", method=method)  # type: ignore[arg-type]
        assert found.exact and found.error < 1e-9
        assert found.lower == pytest.approx(value, rel=1e-13)
        assert dpl.prob(program, "p") <= 1
        assert dpl.exact_fraction(program, "p") == Fraction(value)
        assert dpl.answers(program, "p") == {"p": pytest.approx(value, rel=1e-13)}
        assert dpl.Model(program).log_prob(["p"]).exp().item() == pytest.approx(value, rel=1e-13)


@pytest.mark.parametrize("small", ["0.01", "0.000001"])
def test_learned_loops_of_weight_close_to_one(small: str) -> None:
    """A softmax adds up to 1, so nothing is lost beside the loop."""
    model = dpl.Model(dpl.Program(f"t({1 - Fraction(small)}) :: p :- p. t({small}) :: p."))
    assert model.prob("p") == 1
    log = model.log_prob(["p"])
    assert log.item() == 0
    log.sum().backward()
    assert model.labels.logits.grad is not None
    # Whatever the loop's weight, p succeeds: its probability does not move.
    assert model.labels.logits.grad.abs().max() < 1e-9


def test_a_probability_is_never_above_one() -> None:
    """Rows of thirds and of n-ths add up to 1, and so do their derivations."""
    for n in range(2, 40, 3):
        lines = [f"{Fraction(1, n)} :: q :- r{k}. 1/3 :: r{k} :- q. 2/3 :: r{k}." for k in range(n)]
        program = dpl.Program("\n".join(lines))
        assert dpl.prob(program, "q") == 1
        assert dpl.bounds(program, "q") == (1, 1)


NEAR = ["0.3", "0.49", "0.499999", "0.5", "0.500000001", "0.5000001", "0.50001", "0.6"]


@pytest.mark.parametrize("pi", NEAR)
def test_nearly_critical_branching(pi: str) -> None:
    """p ← p, p (π) | true (1 − π): min(1, (1 − π)/π), the double root included."""
    share = Fraction(pi)
    program = dpl.Program(f"{pi} :: p :- p, p. 1 - {pi} :: p.")
    expected = float(min(Fraction(1), (1 - share) / share))
    found = dpl.success(program, "p")
    assert found.exact and found.error <= 1e-9
    assert found.lower == pytest.approx(expected, rel=1e-14 + found.error)
    assert dpl.prob(program, "p") == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("pi", ["0.500000001", "0.5000001", "0.51", "0.7"])
def test_gradients_of_nearly_critical_branching(pi: str) -> None:
    """log x = log (1 − π) − log π: by the logits of π and 1 − π it is −1 and 1."""
    model = dpl.Model(dpl.Program(f"t({pi}) :: p :- p, p. t({1 - Fraction(pi)}) :: p."))
    log = model.log_prob(["p"])
    share = Fraction(pi)
    assert log.item() == pytest.approx(math.log((1 - share) / share), rel=1e-6, abs=1e-15)
    log.sum().backward()
    assert model.labels.logits.grad is not None
    assert model.labels.logits.grad.tolist() == pytest.approx([-1, 1], rel=1e-5)


def test_a_critical_recursion_has_no_gradient() -> None:
    model = dpl.Model(dpl.Program("t(0.5) :: p :- p, p. t(0.5) :: p."))
    log = model.log_prob(["p"])
    assert log.item() == pytest.approx(0, abs=1e-12)
    with pytest.raises(dpl.ProgramError, match="critical"):
        log.sum().backward()


def test_overlapping_clauses_on_a_cycle() -> None:
    """Two clauses of weight 1 and a label of ¼ make a turn of ½."""
    text = "p :- r, p. p :- r, p. p :- s. 0.25 :: r. 0.4 :: s."
    program = dpl.Program(text)
    assert dpl.exact_fraction(program, "p") == Fraction(4, 5)
    assert dpl.prob(program, "p") == pytest.approx(0.8, rel=1e-14)
    assert dpl.Model(program).log_prob(["p"]).exp().item() == pytest.approx(0.8, rel=1e-14)


def test_rounding_that_hides_the_value_is_said() -> None:
    """A turn of 1 − 2·10⁻¹³ that no sum of labels tells: bounds, and the true reason."""
    label = Fraction(1, 2) - Fraction(1, 10**13)
    text = f"p :- r, p. p :- r, p. p :- s. {label} :: r. 1/{10**13} :: s."
    program = dpl.Program(text)
    assert dpl.exact_fraction(program, "p") == Fraction(1, 2)
    found = dpl.success(program, "p", method="graph")
    assert not found.exact and found.stopped is None
    assert found.lower <= 0.5 and (found.upper is None or found.upper >= 0.5)
    with pytest.raises(dpl.Inexact, match="rounding") as caught:
        dpl.prob(program, "p")
    assert caught.value.lower <= 0.5
    with pytest.raises(dpl.Inexact, match="rounding hides the probabilities"):
        dpl.answers(program, "p")


@pytest.mark.parametrize(
    "text",
    [
        "p :- q. p :- q. 0.5 :: q :- p. 0.25 :: q.",
        "p :- q.\np :- r.\n0.5 :: q :- p.\n0.5 :: r :- p. 0.1 :: r.",
    ],
)
def test_a_cycle_that_loses_nothing_names_goal_and_clauses(text: str) -> None:
    program = dpl.Program(text)
    for ask in (dpl.prob, dpl.answers, dpl.bounds, dpl.exact_fraction):
        with pytest.raises(dpl.ProgramError, match=r"derivations of \w.* \(clauses at lines? 1"):
            ask(program, "p")


def test_a_lower_bound_above_one_is_no_bound() -> None:
    program = dpl.Program("p(X) :- q, p(s(X)). p(_) :- q. q. q.")
    with pytest.raises(dpl.ProgramError, match=r"p\(z\) has weight .*, more than 1"):
        dpl.bounds(program, "p(z)", dpl.Budget(max_goals=20))


def test_bounds_of_a_gambler_without_end() -> None:
    """A fair game against a bank that never ends: ruin is certain, and near after k goals."""
    program = dpl.Program(
        """
        0.5 :: move(1).  0.5 :: move(-1).
        ruin(0).
        ruin(N) :- N > 0, move(D), M is N + D, ruin(M).
        """
    )
    lower, upper = dpl.bounds(program, "ruin(1)", dpl.Budget(max_goals=3000))
    assert 0.99 < lower < 1
    assert upper is None  # ruin(0) and ruin(N) unify


@pytest.mark.parametrize("length", [3, 40])
def test_answers_round_a_cycle(length: int) -> None:
    """A walk round a ring that stops with ½ at each place: 2⁻¹⁻ᵏ/(1 − 2⁻ⁿ)."""
    program = dpl.Program(
        f"0.5 :: at(N, N). 0.5 :: at(N, X) :- M is (N + 1) mod {length}, at(M, X)."
    )
    found = dpl.answers(program, "at(0, X)")
    for k in range(length):
        expected = Fraction(1, 2 ** (k + 1)) / (1 - Fraction(1, 2**length))
        assert found[f"at(0,{k})"] == pytest.approx(float(expected), rel=1e-13)


@pytest.mark.parametrize("n", [20, 1000])
def test_guarded_alternatives_are_no_overlap(n: int) -> None:
    """Of three unlabelled clauses that match a state one passes its guards: i/n from state i."""
    program = dpl.Program(
        f"w(N) :- N >= {n}. w(0) :- fail. w(N) :- N > 0, N < {n}, s(D), M is N + D, w(M). "
        "0.5 :: s(1). 0.5 :: s(-1)."
    )
    found = dpl.success(program, f"w({n // 4})")
    assert found.exact and found.lower == pytest.approx(0.25, rel=1e-9)
