"""Random types of terms that hold tensors, programs that read them, and what they are worth.

What a term is worth follows from the networks' outputs by convolution over its parts, written here
without a line of the library: a distribution over the values 0 … 4.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

WIDTH, DIGITS, VALUES, TENSORS = 2, 3, 5, 3


Worth = dict[int, Tensor]


@dataclass
class Nets:
    """What the two networks say: digit probabilities, and the probability that two are alike."""

    tensors: list[Tensor]
    digit: torch.nn.Linear
    alike: torch.nn.Linear

    def digits(self, number: int) -> Tensor:
        return torch.softmax(self.tensors[number] @ self.digit.weight.T + self.digit.bias, 0)

    def pair(self, first: int, second: int) -> Tensor:
        both = torch.cat([self.tensors[first], self.tensors[second]])
        return torch.sigmoid(both @ self.alike.weight.T + self.alike.bias)[0]


class Alike(torch.nn.Module):
    """The Bernoulli network as the program calls it: two inputs."""

    def __init__(self, linear: torch.nn.Linear) -> None:
        super().__init__()
        self.linear = linear

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        result: Tensor = self.linear(torch.cat([x, y], dim=1))
        return result


@dataclass(frozen=True)
class Tensored:
    """A tensor in a term, by its number among those of the case."""

    number: int


@dataclass(frozen=True)
class Made:
    """A compound; a list is '.'."""

    functor: str
    args: tuple[Term, ...]


Term = int | str | Tensored | Made
Join = Callable[[list[Worth]], Worth]


@dataclass
class Kind:
    """A type of terms: its predicate's clauses, how to draw one, and what one is worth."""

    name: str
    clauses: list[str]
    draw: Callable[[random.Random], Term]
    worth: Callable[[Term, Nets, Join], Worth]


@dataclass
class Maker:
    """Random types; each gets a predicate of its own."""

    rng: random.Random
    kinds: list[Kind] = field(default_factory=list)

    def kind(self, depth: int) -> Kind:
        makers = [self.tensor, self.number, self.symbol]
        if depth:
            makers = [self.tensor, self.struct, self.struct, self.list, self.list, self.tree,
                      self.same, self.pair, self.carried]  # fmt: skip
        return self.rng.choice(makers)(depth - 1)

    def add(self, clauses: Callable[[str], list[str]], draw: Callable[[random.Random], Term],
            worth: Callable[[Term, Nets, Join], Worth]) -> Kind:  # fmt: skip
        name = f"p{len(self.kinds)}"
        kind = Kind(name, clauses(name), draw, worth)
        self.kinds.append(kind)
        return kind

    def tensor(self, depth: int) -> Kind:
        def worth(term: Term, nets: Nets, join: Join) -> Worth:
            assert isinstance(term, Tensored)
            return dict(enumerate(nets.digits(term.number)))

        body = self.rng.choice(["digit(X, V)", "digit(X, V)", "once(X = Y), digit(Y, V)"])
        return self.add(
            lambda p: [f"{p}(X, V) :- {body}."], lambda r: Tensored(r.randrange(TENSORS)), worth
        )

    def number(self, depth: int) -> Kind:
        return self.add(
            lambda p: [f"{p}(V, V) :- integer(V)."],
            lambda r: r.randrange(VALUES),
            lambda term, nets, join: {_int(term): torch.ones((), dtype=torch.float64)},
        )

    def symbol(self, depth: int) -> Kind:
        table: dict[object, dict[int, float]] = {"a": {0: 0.25, 2: 0.5}, "b": {1: 0.75}}

        def worth(term: Term, nets: Nets, join: Join) -> Worth:
            return {v: torch.tensor(p, dtype=torch.float64) for v, p in table[term].items()}

        return self.add(
            lambda p: [f"0.25 :: {p}(a, 0). 0.5 :: {p}(a, 2). 0.75 :: {p}(b, 1)."],
            lambda r: r.choice("ab"),
            worth,
        )

    def struct(self, depth: int) -> Kind:
        functor = self.rng.choice(["box", "f", "-", "n"])
        parts = [self.kind(depth) for _ in range(1 if functor == "box" else 2)]
        names, values = ["X", "Y"][: len(parts)], ["A", "B"][: len(parts)]
        calls = [f"{k.name}({x}, {a})" for k, x, a in zip(parts, names, values, strict=True)]
        last = f"V is ({' + 2 * '.join(values)}) mod {VALUES}"
        if self.rng.random() < 0.5:
            calls.reverse()

        def worth(term: Term, nets: Nets, join: Join) -> Worth:
            args = _args(term)
            own = [k.worth(a, nets, join) for k, a in zip(parts, args, strict=True)]
            return _combine(own, lambda v: (v[0] + 2 * sum(v[1:])) % VALUES, join)

        return self.add(
            lambda p: [f"{p}('{functor}'({', '.join(names)}), V) :- {', '.join([*calls, last])}."],
            lambda r: Made(functor, tuple(k.draw(r) for k in parts)),
            worth,
        )

    def list(self, depth: int) -> Kind:
        item = self.kind(depth)
        q = item.name
        style = self.rng.choice(["plain", "tail", "reversed", "pick"])
        step = f"V is (A + 2 * B) mod {VALUES}"
        texts = {
            "plain": "@([], 0). @([X|Xs], V) :- Q(X, A), @(Xs, B), " + step + ".",
            "tail": "@(L, V) :- @t(L, 0, V). @t([], V, V). @t([X|Xs], A, W) :- Q(X, B), "
            + step + ", @t(Xs, V, W).",
            "reversed": "@(L, V) :- @r(L, [], M), @t(M, 0, V). @r([], M, M). "
            "@r([X|Xs], M, N) :- @r(Xs, [X|M], N). @t([], V, V). @t([X|Xs], A, W) :- Q(X, B), "
            + step + ", @t(Xs, V, W).",
            "pick": "@(L, V) :- @p(L, X), Q(X, V). 0.5 :: @p([X|_], X). "
            "0.25 :: @p([_|Xs], X) :- @p(Xs, X).",
        }  # fmt: skip

        def worth(term: Term, nets: Nets, join: Join) -> Worth:
            items = [item.worth(t, nets, join) for t in _items(term)]
            if style == "pick":
                return _add([(0.5 * 0.25**i, w) for i, w in enumerate(items)], join)
            total: Worth = {0: torch.ones((), dtype=torch.float64)}
            # Plain recursion folds from the right, as does a list turned round.
            for own in items if style == "tail" else reversed(items):
                pair = [own, total] if style == "plain" else [total, own]
                total = _combine(pair, lambda v: (v[0] + 2 * v[1]) % VALUES, join)
            return total

        return self.add(
            lambda p: [texts[style].replace("@", p).replace("Q(", f"{q}(")],
            lambda r: _list([item.draw(r) for _ in range(r.randrange(4))]),
            worth,
        )

    def tree(self, depth: int) -> Kind:
        item = self.kind(depth)

        def draw(r: random.Random) -> Term:
            if r.random() < 0.5:
                return Made("leaf", (item.draw(r),))
            return Made("n", (Made("leaf", (item.draw(r),)), draw(r)))

        def worth(term: Term, nets: Nets, join: Join) -> Worth:
            assert isinstance(term, Made)
            if term.functor == "leaf":
                return item.worth(term.args[0], nets, join)
            own = [worth(a, nets, join) for a in term.args]
            return _combine(own, lambda v: (v[0] - v[1]) % VALUES, join)

        return self.add(
            lambda p: [
                f"{p}(leaf(X), V) :- {item.name}(X, V).",
                f"{p}(n(L, R), V) :- {p}(L, A), {p}(R, B), V is (A - B) mod {VALUES}.",
            ],
            draw,
            worth,
        )

    def same(self, depth: int) -> Kind:
        item = self.kind(depth)
        text = self.rng.choice(
            ["@(s(X, X), 1). @(s(X, Y), 0) :- X \\== Y.",
             "@(s(X, Y), V) :- ( X == Y -> V = 1 ; V = 0 ).",
             "@(s(X, Y), V) :- @i([X], X, Y, V). @i([X], X, X, 1). @i(_, X, Y, 0) :- X \\= Y.",
             "@(s(X, Y), V) :- Q(X, _), @e(X, Y, V). @e(X, X, 1). @e(X, Y, 0) :- X \\== Y."]
        )  # fmt: skip

        def worth(term: Term, nets: Nets, join: Join) -> Worth:
            x, y = _args(term)
            value = int(x == y)
            one = torch.ones((), dtype=torch.float64)
            if "Q" not in text:
                return {value: one}
            return _add([(1.0, {value: p}) for p in item.worth(x, nets, join).values()], join)

        return self.add(
            lambda p: [text.replace("@", p).replace("Q(", f"{item.name}(")],
            lambda r: Made("s", (item.draw(r), item.draw(r))),
            worth,
        )

    def pair(self, depth: int) -> Kind:
        head = self.rng.choice(["[X, Y]", "X-Y", "f(box(X), [Y])", "f(X, box([a, Y]))"])

        def draw(r: random.Random) -> Term:
            x, y = Tensored(r.randrange(TENSORS)), Tensored(r.randrange(TENSORS))
            return {
                "[X, Y]": _list([x, y]),
                "X-Y": Made("-", (x, y)),
                "f(box(X), [Y])": Made("f", (Made("box", (x,)), _list([y]))),
                "f(X, box([a, Y]))": Made("f", (x, Made("box", (_list(["a", y]),)))),
            }[head]

        def worth(term: Term, nets: Nets, join: Join) -> Worth:
            x, y = tensors_in(term)
            return {1: nets.pair(x, y)}

        return self.add(lambda p: [f"{p}({head}, 1) :- alike(X, Y)."], draw, worth)

    def carried(self, depth: int) -> Kind:
        """A term wrapped up, handed on unseen and taken apart again."""
        item = self.kind(depth)
        text = self.rng.choice(
            ["@(X, V) :- @c(box(X), [X, a], V). @c(box(X), [X, _], V) :- Q(X, V).",
             "@(X, V) :- Y = f(X, 1, X), @c(Y, V). @c(f(_, 1, X), V) :- Q(X, V).",
             "@(X, V) :- copy_term(X, Y), Q(Y, V).",
             "@(X, V) :- Q(X, V), @c([V, X], X). @c([_, X], X)."]
        )  # fmt: skip
        return self.add(
            lambda p: [text.replace("@", p).replace("Q(", f"{item.name}(")], item.draw, item.worth
        )


def _combine(own: list[Worth], value: Callable[[list[int]], int], join: Join) -> Worth:
    ways: list[tuple[list[int], Tensor]] = [([], torch.ones((), dtype=torch.float64))]
    for worth in own:
        ways = [([*v, w], p * q) for v, p in ways for w, q in worth.items()]
    return join([{value(v): p} for v, p in ways])


def _add(parts: list[tuple[float, Worth]], join: Join) -> Worth:
    return join([{v: c * p} for c, worth in parts for v, p in worth.items()])


def total(parts: list[Worth]) -> Worth:
    """The sum over derivations."""
    result: Worth = {}
    for part in parts:
        for v, p in part.items():
            result[v] = result[v] + p if v in result else p
    return result


def best(parts: list[Worth]) -> Worth:
    """The most probable derivation."""
    result: Worth = {}
    for part in parts:
        for v, p in part.items():
            result[v] = torch.maximum(result[v], p) if v in result else p
    return result


def _int(term: Term) -> int:
    assert isinstance(term, int)
    return term


def _args(term: Term) -> tuple[Term, ...]:
    assert isinstance(term, Made)
    return term.args


def _list(items: list[Term]) -> Term:
    result: Term = "[]"
    for item in reversed(items):
        result = Made(".", (item, result))
    return result


def _items(term: Term) -> Iterator[Term]:
    while isinstance(term, Made):
        yield term.args[0]
        term = term.args[1]


def tensors_in(term: Term) -> list[int]:
    if isinstance(term, Tensored):
        return [term.number]
    return [n for a in term.args for n in tensors_in(a)] if isinstance(term, Made) else []


def text_of(term: Term) -> str:
    if isinstance(term, Tensored):
        return f"T{term.number}"
    if isinstance(term, Made):
        if term.functor == ".":
            return f"[{text_of(term.args[0])}|{text_of(term.args[1])}]"
        return f"'{term.functor}'({', '.join(map(text_of, term.args))})"
    return str(term)
