"""The mask program of addition: it allows exactly the digits that can be completed, no others."""

from __future__ import annotations

import subprocess
from importlib.resources import files
from pathlib import Path

import pytest
import torch

import deepprooflog as dpl
from deepprooflog.infer.particles.prepare import arenas
from deepprooflog.learn.mask import LogicMask
from deepprooflog.learn.reinforce import Reinforce, rollouts
from deepprooflog.learn.smc import paths

SOURCE = files("deepprooflog.recipes") / "programs" / "addition_mask.pl"
TEXT = SOURCE.read_text(encoding="utf-8")
PROGRAM = dpl.Program(TEXT)

DIGITS = LogicMask(PROGRAM, "digit_mask")
CARRIES = LogicMask(PROGRAM, "carries")


def written(total: int, n: int) -> tuple[int, ...]:
    """The digits of a sum of two n-digit numbers as the addition program has them."""
    return tuple(int(c) for c in reversed(f"{total:0{n}d}"))


def allowed(total: int, n: int) -> list[tuple[int, ...]]:
    """All digit sequences a₀ b₀ a₁ b₁ … the masks let through; no prefix of them is a dead end."""
    digits = written(total, n)
    outs = CARRIES(n, digits)
    level: list[tuple[tuple[int, ...], int]] = [((), 0)]
    for place in range(2 * n):
        column, number = divmod(place, 2)
        longer = []
        for prefix, carry in level:
            previous = prefix[-1] if number else 0
            mask = DIGITS(digits[column], carry, outs[column], number, previous)
            valid = [d for d in range(10) if mask[d]]
            assert len(mask) == 10
            assert valid, f"{prefix} was let through but leads nowhere"
            for d in valid:
                out = (previous + d + carry) // 10 if number else carry
                longer.append(((*prefix, d), out))
        level = longer
    return [sequence for sequence, _ in level]


@pytest.mark.parametrize(("n", "every"), [(1, 1), (2, 1), (3, 17)])
def test_exactly_the_prefixes_that_can_be_completed(n: int, every: int) -> None:
    """Over all sums: every sequence let through has the sum, and no sequence is missing."""
    kept = 0
    for total in range(0, 2 * 10**n - 1, every):
        found = allowed(total, n)
        assert len(set(found)) == len(found)
        for s in found:
            assert sum((s[2 * i] + s[2 * i + 1]) * 10**i for i in range(n)) == total
        # As many as there are pairs of n-digit numbers with this sum.
        assert len(found) == min(total, 10**n - 1) - max(0, total - 10**n + 1) + 1
        kept += len(found)
    # The listing in the paper keeps 5,500 of the 10,000 sequences at n = 2.
    if every == 1:
        assert kept == 100**n


def test_a_mask_is_computed_once() -> None:
    """Digit, carry, carries out, number, previous digit: few values, however many sums."""
    for total in range(199):
        allowed(total, 2)
    assert DIGITS.computed <= 10 * 2 * 3 * (1 + 10)


def test_a_sum_that_no_numbers_have() -> None:
    with pytest.raises(dpl.ProofLogError, match="no answer"):
        CARRIES(2, (0, 0, 2))
    assert CARRIES(1, (9, 1)) == ((1,),)
    assert DIGITS(9, 0, (1,), 0, 0) == (0,) * 10


def test_swi_prolog_gives_the_same_masks(swipl: str, tmp_path: Path) -> None:
    """The program is plain Prolog."""
    keys = [
        (digit, carry, out, number, previous)
        for digit in (0, 3, 9)
        for carry in (0, 1)
        for out in ((0,), (1,), (0, 1))
        for number in (0, 1)
        for previous in (0, 5)
    ]
    goals = [f"digit_mask({d}, {c}, {list(o)}, {n}, {p}, M)" for d, c, o, n, p in keys]
    script = "".join(f":- {g}, writeq(M), nl.\n" for g in goals)
    path = tmp_path / "masks.pl"
    path.write_text(TEXT + "\n" + script, encoding="utf-8")
    command = [swipl, "-q", "-g", "halt", str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    printed = [tuple(map(int, line.strip("[]").split(","))) for line in run.stdout.split()]
    assert printed == [DIGITS(*key) for key in keys]


# The addition program with the mask as guards: what a digit's step leads to tells if it is valid.
MASKED = """
nn(net, [X], D, 0..9) :: digit(X, D).
sum(Xs, Ys, Zs) :- length(Xs, N), once(carries(N, Zs, Outs)), add(Xs, Ys, Zs, Outs, 0).
add([], [], _, _, _).
add([X|Xs], [Y|Ys], [Z|Zs], [O|Os], C) :-
    digit(X, A), once(valid_digit(Z, C, O, 0, 0, A)),
    digit(Y, B), once(valid_digit(Z, C, O, 1, A, B)),
    C1 is (A + B + C) // 10, add(Xs, Ys, Zs, Os, C1).
"""
PLAIN = """
nn(net, [X], D, 0..9) :: digit(X, D).
add([], [], [], 0).
add([], [], [1], 1).
add([X|Xs], [Y|Ys], [Z|Zs], C) :-
    digit(X, A), digit(Y, B), S is A + B + C, Z is S mod 10, C1 is S // 10, add(Xs, Ys, Zs, C1).
"""


@pytest.mark.parametrize("total", [0, 109, 198, 99, 100, 57])
def test_masked_rollouts_never_fail(total: int) -> None:
    """By guards alone, without looking further than the next goal: the mask as it is meant."""
    torch.manual_seed(0)
    images = list(torch.randn(4, 3))
    net = torch.nn.Linear(3, 10)
    masked = dpl.Model(dpl.Program(MASKED + TEXT), networks={"net": net})
    plain = dpl.Model(dpl.Program(PLAIN), networks={"net": net})
    values = {"X": images[:2], "Y": images[2:], "Z": list(written(total, 2))}
    goal = dpl.goal("sum(X, Y, Z)", **values)
    batch = paths(masked, [goal], form="steps")
    [(_, ground)] = arenas(batch, masked.weights)
    drawn = rollouts(ground, Reinforce(rollouts=40), torch.Generator().manual_seed(1))
    assert bool(drawn.success.all())
    # The guards take nothing away: both programs give the sum the same probability.
    expected = plain.log_prob([dpl.goal("add(X, Y, Z, 0)", **values)])
    assert masked.log_prob([goal]).item() == pytest.approx(expected.item(), abs=1e-10)
