"""Python values of every kind in goals: each is a term, a tensor or refused with a message.

Numbers are worth what the program says of them, whichever library they come from; tensors of odd
types reach the network or a message about it.
"""

from __future__ import annotations

import datetime
import enum
import fractions
import math
import random
import reprlib
import warnings
from collections.abc import Callable

import numpy as np
import torch

import deepprooflog as dpl
from deepprooflog.learn.smc import smc_log_prob
from fuzz.rounds import Rounds, Tally

PROMISE = "any Python value in a goal or a selection is read as what it is, or refused by name"
QUICK = 25

PROGRAM = dpl.Program("""
nn(net, [X], D, 0..1) :: d(X, D).
q(X, D) :- d(X, D).
all([]).
all([X|Xs]) :- d(X, 1), all(Xs).
0.25 :: n(X) :- number(X).
0.5 :: n(X) :- atom(X).
0.125 :: n([_|_]).
same(X, X).
""")
QUERIES = ["n(X)", "q(X, 1)", "q(X, D)", "all([X])", "all([X, Y])", "same(X, Y)", "n(f(X))"]


class Colour(enum.IntEnum):
    RED = 3


class Thing:
    """A class of somebody else's."""


class Shaped:
    """Looks like a tensor and is none."""

    shape = (2,)
    dtype = "float32"


def _number(rng: random.Random) -> float:
    return rng.choice(
        [0, 1, -1, 3, 2**70, -(10**400), 0.5, -0.0, 1e308, 5e-324, math.inf, math.nan]
    )


def _tensor(rng: random.Random) -> torch.Tensor:
    shape = rng.choice([(), (2,), (2,), (2,), (0,), (1, 2), (2, 0), (3,)])
    kinds = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8,
             torch.bool, torch.complex64]  # fmt: skip
    made = torch.ones(shape, dtype=rng.choice(kinds))
    what = rng.randrange(10)
    if what == 0 and made.is_floating_point():
        made = made * math.nan
    elif what == 1 and made.is_floating_point():
        made = made.requires_grad_()
    elif what == 2:
        made = made.to_sparse() if made.ndim else made
    elif what == 3:
        made = torch.empty(shape, device="meta")
    elif what == 4 and made.dtype == torch.float32:
        made = torch.quantize_per_tensor(made, 0.1, 0, torch.quint8)
    elif what == 5:
        made = torch.nn.Parameter(torch.ones(shape))
    elif what == 6 and made.ndim:
        made = made.expand(4, *made.shape)[1]
    return made


def _array(rng: random.Random) -> object:
    return rng.choice([
        np.int8(3), np.uint64(2**63), np.float16(0.5), np.float64(math.nan), np.longdouble(1) / 3,
        np.bool_(True), np.str_("a"), np.bytes_(b"a"), np.complex128(1j), np.datetime64("2020-01"),
        np.array(3), np.array("a"), np.array(None), np.ones(2), np.ones((2, 2), dtype=np.int32),
        np.zeros(0), np.array(["a"]), np.array([None, 1], dtype=object), np.ones(2, dtype=complex),
        np.ma.masked_array([1.0, 2.0], mask=[False, True]), np.ones(2, dtype=">f8"),
        np.ones(4)[::-2], np.zeros(2, dtype=[("x", "f4")]), np.void(b"ab"),
        np.ones(2, dtype=np.uint16),
    ])  # fmt: skip


def _other(rng: random.Random) -> object:
    return rng.choice([
        None, Thing(), Thing, Shaped(), b"bytes", bytearray(b"x"), {"a": 1}, {1, 2}, 1j,
        fractions.Fraction(1, 3), datetime.date(2020, 1, 1), range(3), iter([1]), len, ..., print,
        memoryview(b"x"), Colour.RED, Colour, True, "", "a b", "\0", "\ud800", "é", "X" * 10_000,
        torch.float32, torch.device("cpu"), torch.Size([1]), PROGRAM, dpl.goal("p"), warnings,
    ])  # fmt: skip


def value(rng: random.Random, depth: int = 3) -> object:
    """A random value, possibly in lists and tuples."""
    what = rng.randrange(8)
    if what < 2 and depth:
        items = [value(rng, depth - 1) for _ in range(rng.randrange(4))]
        if rng.random() < 0.1:
            items.append(items)
        return items if rng.random() < 0.5 else tuple(items)
    if what == 2:
        deep: object = []
        for _ in range(rng.choice([10, 2000])):
            deep = [deep]
        return deep
    return rng.choice([_number, _tensor, _array, _other])(rng)


def _selection(rng: random.Random) -> list[int] | torch.Tensor | np.ndarray:
    array = _array(rng)
    if isinstance(array, np.ndarray) and rng.random() < 0.5:
        return array
    numbers = [rng.choice([True, False, 0, 1, -1, 2, -3, 2**70]) for _ in range(rng.randrange(4))]
    return numbers if rng.random() < 0.5 else _tensor(rng)


def _bank(rng: random.Random) -> list[torch.Tensor] | torch.Tensor:
    return _tensor(rng) if rng.random() < 0.5 else [_tensor(rng) for _ in range(rng.randrange(3))]


def _ask(goal: dpl.Query, model: dpl.Model, rng: random.Random) -> None:
    budget = dpl.Budget(max_goals=500, max_steps=5000, max_seconds=2)
    ways: list[Callable[[], object]] = [
        lambda: model.prob(goal, budget),
        lambda: model.log_prob([goal], budget),
        lambda: model.log_prob([goal, goal], budget, select=_selection(rng)),
        lambda: model.answers(goal, budget),
        lambda: str(model.best_proof(goal, budget)),
        lambda: model.predict(goal, budget=budget, steps=100),
        lambda: list(dpl.solve(PROGRAM, goal, budget=budget)),
        lambda: dpl.prob(PROGRAM, goal, budget=budget),
        lambda: smc_log_prob(model, [goal], 2),
        lambda: model.compile([goal], budget).with_bank(_bank(rng)),
        lambda: str(goal).encode("utf-8", "backslashreplace"),
    ]
    for way in ways:
        try:
            way()
        except dpl.ProofLogError as error:
            str(error)


def check(rng: random.Random) -> str | None:
    """What a random value shows to be wrong; None when all is right."""
    text = rng.choice(QUERIES)
    given = {name: value(rng) for name in ("X", "Y") if name in text}
    net = torch.nn.Linear(2, 2)
    model = dpl.Model(PROGRAM, networks={"net": net})
    try:
        try:
            goal = dpl.goal(text, **given)
        except dpl.ProofLogError as error:
            str(error)
            return None
        _ask(goal, model, rng)
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]} by {text} with {reprlib.repr(given)}"
    return None


def attack(rounds: Rounds) -> Tally:
    """Random values in random goals."""
    tally = Tally()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, rng in enumerate(rounds):
            wrong = check(rng)
            tally.record(wrong is None, f"case {number} of seed {rounds.seed}: {wrong}")
    return tally
