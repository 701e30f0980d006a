"""Questions that would take hours or all memory: what `fuzz_budgets` asks under a small budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import deepprooflog as dpl

PROGRAM = r"""
loop :- loop.
count(N) :- M is N + 1, count(M).
grow(X) :- grow(f(X)).
grow_list(L) :- grow_list([a|L]).
square(X) :- Y is X * X + 1, square(Y).
texts(A) :- atom_concat(A, A, B), texts(B).
strings(A) :- string_concat(A, A, B), strings(B).
double(0, X, X) :- !.
double(N, X, Y) :- M is N - 1, double(M, f(X, X), Y).
circle(X) :- X = f(X, _, a).
ring(X) :- X = [a, b, c|X].
tree(0, a) :- !.
tree(N, t(X, Y)) :- M is N - 1, tree(M, X), tree(M, Y).
nat(0).
nat(s(X)) :- nat(X).
digits(N, A) :- length(L, N), maplist(=('7'), L), atom_chars(A, L).
"""

# Goals for `solve`.
GOALS = (
    "X is 7**(2**28)",
    "X is 7**(2**22), Y is X // 3**(2**20)",
    "X is 3**(2**21), Y is 5**(2**20), Z is gcd(X, Y)",
    "X is 3**(2**21), Y is 5**(2**20), Z is X mod Y",
    "X is 3**(2**21), Y is 5**(2**20), Z is X rem Y",
    "X is 3**(2**22), Y is X * X, Z is Y * Y, W is Z * Z",
    "X is 1 << (1 << 40)",
    "X is 2**(2**40)",
    "X is lcm(3**(2**21), 5**(2**20))",
    "X is 3**(2**20), Y is X / 5**(2**19)",
    "square(3)",
    "X is 1 << 500000000, Y is X + 1, write(Y)",
    "digits(3000000, A), atom_number(A, N)",
    "length(L, 1000000000000)",
    "length(L, 1000000), length(M, 1000000000)",
    "length(L, L)",
    "functor(T, f, 1000000000000)",
    "functor(T, f, 30000000)",
    "nth0(1000000000000, L, x)",
    "nth1(50000000, L, x)",
    "numlist(1, 1000000000000, L)",
    "numlist(1, 20000000, L)",
    "tab(100000000000)",
    "texts(abcdefgh)",
    "strings(\"abcdefgh\")",
    "texts('日本')",
    "findall(X, between(1, inf, X), L)",
    "findall(X-Y, (between(1, inf, X), Y = f(X, X)), L)",
    "aggregate_all(count, repeat, N)",
    "aggregate_all(sum(X), between(1, inf, X), N)",
    "forall(between(1, inf, X), X > 0)",
    "setof(X, between(1, inf, X), L)",
    "numlist(1, 2000000, L), sort(0, @>=, L, M), msort(M, K)",
    "length(L, 3000000), copy_term(L, M), L = M",
    "repeat, fail",
    "loop",
    "count(0)",
    "grow(a)",
    "grow_list([])",
    "nat(X), fail",
    "length(L, N), N > 100000",
    "circle(X), circle(Y), X = Y",
    "circle(X), circle(Y), X == Y",
    "circle(X), circle(Y), compare(O, X, Y)",
    "circle(X), copy_term(X, Y), X = Y",
    "circle(X), write(X)",
    "circle(X), print(X)",
    "circle(X), term_to_atom(X, A)",
    "circle(X), circle(Y), sort([X, Y, X], L), length(L, N)",
    "circle(X), findall(X, member(_, [a, b]), L), L = [X, X]",
    "circle(X), ground(X)",
    "circle(X), term_variables(X, L), length(L, N)",
    "circle(X), bagof(X-Y, member(Y, [1, 2]), L)",
    "circle(X), setof(Y, member(Y, [X, X]), L)",
    "circle(X), unify_with_occurs_check(X, f(X, Y, a))",
    "circle(X), catch(throw(X), Y, true)",
    "circle(X), Y is X + 1",
    "circle(X), numbervars(X, 0, E)",
    "circle(X), \\+ X \\= X",
    "ring(X), length(X, N)",
    "ring(X), msort(X, L)",
    "ring(X), atom_chars(A, X)",
    "ring(X), nth0(10000000, X, E)",
    "ring(X), sum_list(X, S)",
    "ring(X), last(X, L)",
    "ring(X), memberchk(z, X)",
    "ring(X), ring(Y), X = Y, X == Y",
    "ring(X), append(X, [z], L)",
    "ring(X), write(X)",
    "ring(X), atomic_list_concat(X, A)",
    "double(60, a, X), double(60, a, Y), X = Y",
    "double(60, Z, X), double(60, W, Y), X = Y",
    "double(60, a, X), double(60, a, Y), X == Y",
    "double(60, a, X), double(60, b, Y), compare(O, X, Y)",
    "double(60, Z, X), copy_term(X, Y)",
    "double(60, Z, X), write(X)",
    "double(60, a, X)",
    "double(60, a, X), ground(X)",
    "double(60, Z, X), term_variables(X, L)",
    "double(60, Z, X), unify_with_occurs_check(W, g(X))",
    "double(60, Z, X), findall(X, member(_, [a, b]), L)",
    "double(60, a, X), double(60, a, Y), sort([X, Y], L), length(L, N)",
    "double(60, a, X), term_to_atom(X, A), atom_length(A, N)",
    "double(60, Z, X), numbervars(X, 0, E)",
    "double(60, a, X), catch(throw(X), Y, true)",
    "double(60, 1+1, X), Y is X",
    "tree(40, X)",
    "catch(length(L, 1000000000000), error(resource_error(R), _), true), loop",
)  # fmt: skip

# Programs with the question whose budget must hold, and the functions that ask it.
ENDLESS = "0.5 :: p(X) :- p(f(X)). 0.5 :: p(_)."
WIDE = "0.5 :: s(X) :- s([a|X]). 0.25 :: s(X) :- s([b|X]). 0.25 :: s([b, a, b|_])."
STOCHASTIC = (
    ("0.5 :: p :- length(L, 1000000000), L = [].", "p"),
    ("0.5 :: p :- numlist(1, 100000000, L), L = [].", "p"),
    ("0.5 :: p :- between(1, inf, X), X < 0.", "p"),
    ("0.5 :: p :- p, p. 0.5 :: p.", "p"),
    ("0.4 :: p :- p, p, p. 0.3 :: p :- p. 0.3 :: p.", "p"),
    (WIDE, "s([])"),
    ("0.5 :: s(X, N) :- M is N + 1, s(X, M). 0.5 :: s(X, N) :- X < N, s(X, N).", "s(0, 0)"),
    ("0.5 :: w(N) :- M is N + 1, w(M). 0.5 :: w(N) :- M is N - 1, w(M).", "w(0)"),
    ("0.5 :: p :- q(a). 0.5 :: p. q(X) :- atom_concat(X, X, Y), q(Y).", "p"),
    ("p :- X = f(X), X == X, q(X). 0.5 :: q(_).", "p"),
    ("0.5 :: p :- (loop -> true ; true). 0.5 :: p. loop :- loop.", "p"),
    ("0.5 :: p :- \\+ loop. 0.5 :: p. loop :- loop.", "p"),
    ("0.5 :: p(X) :- between(1, 3000000, X). 0.5 :: p(0).", "p(X)"),
    ("p(X) :- d(60, X, Y), q(Y). 0.5 :: q(_). d(0, X, X) :- !. "
     "d(N, X, Y) :- M is N - 1, d(M, f(X, X), Y).", "p(X)"),
)  # fmt: skip

# Goals that take memory faster than time.
HUNGRY = (
    "grow(a)",
    "grow_list([])",
    "findall(X, between(1, inf, X), L)",
    "tree(40, X)",
    'strings("abcdefgh")',
)

READ = (
    "p(" + "9" * 3_000_000 + ").",
    "0." + "9" * 100_000 + " :: p.",
    "p(" + "f(" * 400_000 + "a" + ")" * 400_000 + ").",
    "p(" + "1+" * 400_000 + "1).",
    "\n".join(f"p{i % 100}(a{i}, [b, c, d|X], X) :- q(X)." for i in range(200_000)),
    "nn(n, [X], D, 0..1000000000000) :: d(X, D).",
    "/*" * 1_000_000 + "*/ p.",
    "p('" + "\\x41\\" * 1_000_000 + "').",
)


def _solve(text: str, goal: str, budget: dpl.Budget) -> object:
    return sum(1 for _ in dpl.solve(dpl.Program(text), goal, budget=budget))


def _model(ask: str) -> Callable[[str, str, dpl.Budget], object]:
    def question(text: str, goal: str, budget: dpl.Budget) -> object:
        model: Any = dpl.Model(dpl.Program(text))
        if ask == "sample":
            return model.sample(goal, 1_000_000, seed=0, budget=budget)
        if ask in ("log_prob", "compile"):
            return getattr(model, ask)([goal], budget)
        return getattr(model, ask)(goal, budget=budget)

    return question


def _read(text: str, goal: str, budget: dpl.Budget) -> object:
    from deepprooflog.logic.limits.watch import watched

    with watched(budget):
        return dpl.Program(text)


Question = Callable[[str, str, dpl.Budget], object]

ASK: dict[str, Question] = {
    "solve": _solve,
    "prob": lambda t, g, b: dpl.prob(dpl.Program(t), g, budget=b),
    "answers": lambda t, g, b: dpl.answers(dpl.Program(t), g, budget=b),
    "bounds": lambda t, g, b: dpl.bounds(dpl.Program(t), g, budget=b),
    "provable": lambda t, g, b: dpl.provable(dpl.Program(t), g, budget=b),
    "best_proof": _model("best_proof"),
    "log_prob": _model("log_prob"),
    "compile": _model("compile"),
    "predict": _model("predict"),
    "sample": _model("sample"),
    "read": _read,
}


@dataclass(frozen=True)
class Attack:
    """One question: how it is asked, of which program."""

    ask: str
    text: str
    goal: str
    hungry: bool = False

    def __str__(self) -> str:
        text = self.text if len(self.text) < 100 else self.text[:60].replace("\n", " ") + "…"
        shown = "" if self.text == PROGRAM else f" of {text}"
        return f"{self.ask}({self.goal!r}){shown}"

    def run(self, budget: dpl.Budget) -> object:
        """Ask, and give what comes."""
        return ASK[self.ask](self.text, self.goal, budget)


_OTHERS = ("prob", "answers", "bounds", "provable", "best_proof", "log_prob", "compile", "predict",
           "sample")  # fmt: skip
ATTACKS = (
    *(Attack("solve", PROGRAM, goal) for goal in GOALS),
    *(Attack(ask, text, goal) for text, goal in STOCHASTIC for ask in _OTHERS),
    *(Attack(ask, ENDLESS, "p(a)") for ask in _OTHERS),
    *(Attack("read", text, "") for text in READ),
    *(Attack("solve", PROGRAM, goal, hungry=True) for goal in HUNGRY),
    *(Attack(ask, WIDE, "s([])", hungry=True) for ask in ("prob", "answers", "log_prob")),
)
