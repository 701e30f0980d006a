"""The programs whose templates, flat graphs, chains and shapes are kept as text.

Each is small enough to be read, and each shows something of its own: two networks' digits with a
carry (a chain two goals wide), a hidden Markov model over labels and a network (a chain whose
layers are states), a list sum whose goals carry a number (templates by its value), a list that may
stop anywhere (no chain: True is behind every layer).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

import deepprooflog as dpl
from deepprooflog.logic.query import Query

BITS = """\
nn(net, [X], D, 0..1) :: bit(X, D).
add([], [], [], 0).
add([], [], [1], 1).
add([X|Xs], [Y|Ys], [Z|Zs], C) :-
    bit(X, A), bit(Y, B),
    S is A + B + C, Z is S mod 2, C1 is S // 2,
    add(Xs, Ys, Zs, C1).
"""
WEATHER = """\
nn(eye, [X], S, [dry, wet]) :: sees(X, S).
t(0.6) :: first(dry).    t(0.4) :: first(wet).
0.8 :: next(dry, dry).   0.2 :: next(dry, wet).
0.3 :: next(wet, dry).   0.7 :: next(wet, wet).
days(Xs) :- first(S), days(Xs, S).
days([], _).
days([X|Xs], S) :- next(S, T), sees(X, T), days(Xs, T).
"""
TOTAL = """\
nn(net, [X], D, 0..1) :: mark(X, D).
total([], S, S).
total([X|Xs], S, T) :- mark(X, D), U is S + D, total(Xs, U, T).
"""

STOPPING = """\
nn(net, [X], D, [on, stop]) :: seen(X, D).
ends([X|Xs]) :- seen(X, D), go(D, Xs).
go(stop, _).
go(on, Xs) :- ends(Xs).
"""


@dataclass(frozen=True)
class Example:
    """A program and goals over pictures."""

    name: str
    text: str
    goals: tuple[Query, ...]

    @property
    def program(self) -> dpl.Program:
        return dpl.Program(self.text)


def _pictures(count: int) -> list[torch.Tensor]:
    return [torch.tensor([float(i)]) for i in range(count)]


a, b, c, d = _pictures(4)
EXAMPLES = (
    Example(
        "two_bits",
        BITS,
        (
            dpl.goal("add(X, Y, Z, 0)", X=[a, b], Y=[c, d], Z=[1, 0]),
            dpl.goal("add(X, Y, Z, 0)", X=[a, b], Y=[a, d], Z=[0, 1, 1]),
        ),
    ),
    Example("weather", WEATHER, (dpl.goal("days(X)", X=[a, b]),)),
    Example(
        "total",
        TOTAL,
        (
            dpl.goal("total(X, 0, S)", X=[a, b], S=1),
            dpl.goal("total(X, 0, S)", X=[b, c], S=2),
        ),
    ),
    Example("stopping", STOPPING, (dpl.goal("ends(X)", X=[a, b]), dpl.goal("ends(X)", X=[c, d]))),
)
