"""Unfolding from templates gives what the goal graph gives, in values and in gradients.

The goal graph is the reference; brute-force enumeration stands behind it in test_model.py.
"""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import deepprooflog as dpl
from deepprooflog.infer.batches.batch import Compiled

ADDITION = """
nn(digit_net, [X], D, 0..9) :: digit(X, D).
add([], [], [], 0).   add([], [], [1], 1).
add([X|Xs], [Y|Ys], [Z|Zs], C) :-
    digit(X, A), digit(Y, B), S is A+B+C, Z is S mod 10, C1 is S // 10, add(Xs, Ys, Zs, C1).
"""
HMM = """
t(0.6) :: init(s1). t(0.4) :: init(s2).
0.7 :: tr(s1, s1). 0.3 :: tr(s1, s2). 0.2 :: tr(s2, s1). 0.8 :: tr(s2, s2).
0.9 :: em(s1, a). 0.1 :: em(s1, b). 0.3 :: em(s2, a). 0.7 :: em(s2, b).
hmm(L) :- init(S), go(S, L).
go(_, []).
go(S, [O|Os]) :- em(S, O), tr(S, S2), go(S2, Os).
"""
GRAMMAR = """
0.3 :: s --> [a], s.   0.2 :: s --> [b], s.   0.4 :: s --> [a].   0.1 :: s --> [b].
"""
REVERSED = """
nn(digit_net, [X], D, 0..9) :: digit(X, D).
same(Xs, Ds) :- rev(Xs, [], Ys), all(Ys, Ds).
rev([], Ys, Ys).
rev([X|Xs], Acc, Ys) :- rev(Xs, [X|Acc], Ys).
all([], []).
all([X|Xs], [D|Ds]) :- digit(X, D), all(Xs, Ds).
"""
TOTAL = """
nn(digit_net, [X], D, 0..9) :: digit(X, D).
total(Xs, T) :- total(Xs, 0, T).
total([], T, T).
total([X|Xs], A, T) :- digit(X, D), A1 is A + D, total(Xs, A1, T).
"""
GUARDED = """
nn(digit_net, [X], D, 0..9) :: digit(X, D).
big([], _, 0).
big([X|Xs], Seen, N) :-
    digit(X, D), ( D > 4 -> K = 1 ; K = 0 ), \\+ member(D, Seen), length(Xs, L), L >= 0,
    big(Xs, [D|Seen], M), N is M + K.
"""
PAIRS = """
nn(pair_net, [X, Y]) :: alike(X, Y).
0.5 :: noise(yes). 0.5 :: noise(no).
chain([_]).
chain([X, Y|Zs]) :- alike(X, Y), noise(N), skip(N), chain([Y|Zs]).
skip(yes). skip(no).
"""
SORTED = """
nn(digit_net, [X], D, 0..9) :: digit(X, D).
sorted([_]).
sorted([X, Y|Zs]) :- digit(X, A), digit(Y, B), A =< B, sorted([Y|Zs]).
"""


class Pair(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(6, 1)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(self.linear(torch.cat([x, y], dim=1)))


def addition() -> dpl.Model:
    program = dpl.Program(ADDITION)
    return dpl.Model(program, networks=networks(program))


def tensors(n: int) -> list[torch.Tensor]:
    return [torch.randn(3, dtype=torch.float64) for _ in range(n)]


def networks(program: dpl.Program) -> dict[str, torch.nn.Module]:
    torch.manual_seed(1)
    known = {"digit_net": torch.nn.Linear(3, 10), "pair_net": Pair()}
    return {name: known[name].double() for name in program.networks()}


def check_both(text: str, goals: list[str | dpl.Query]) -> Compiled:
    """Compare unfolded and explored log-probabilities and gradients; returns the unfolded batch."""
    program = dpl.Program(text)
    model = dpl.Model(program, networks=networks(program))
    unfolded = model.compile(goals)
    explored = model.compile(goals, unfolding=False)
    assert not explored.unfolded
    fast, slow = model.log_prob(unfolded), model.log_prob(explored)
    torch.testing.assert_close(fast, slow, rtol=1e-10, atol=1e-10)
    parameters = [p for p in model.parameters() if p.numel()]
    if parameters:
        finite = slow > -math.inf
        first = torch.autograd.grad(fast[finite].sum(), parameters, allow_unused=True)
        second = torch.autograd.grad(slow[finite].sum(), parameters, allow_unused=True)
        for a, b in zip(first, second, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)
    return unfolded


def sums(n: int, count: int) -> list[str | dpl.Query]:
    generator = torch.Generator().manual_seed(n)
    goals: list[str | dpl.Query] = []
    for _ in range(count):
        digits = torch.randint(0, 10, (2, n), generator=generator).tolist()
        total = sum(10**i * (a + b) for i, (a, b) in enumerate(zip(*digits, strict=True)))
        written = [int(c) for c in reversed(str(total).zfill(n))]
        goals.append(dpl.goal("add(X, Y, Z, 0)", X=tensors(n), Y=tensors(n), Z=written))
    return goals


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_addition_is_a_chain(n: int) -> None:
    """Every sum unfolds into two goals a column, whatever its digits."""
    compiled = check_both(ADDITION, sums(n, 12))
    assert not compiled.graphs
    assert not compiled.tabled
    (part,) = compiled.unfolded
    assert part.form.index.shape[2] == min(n, 2)


def test_sums_that_cannot_be() -> None:
    """Too long, too short, or a carry too much: probability 0, not an error."""
    x = tensors(2)
    goals = [
        dpl.goal("add(X, Y, Z, 0)", X=x, Y=x, Z=z) for z in ([1], [9, 9, 2], [9, 9, 1], [1, 2, 3])
    ]
    model = dpl.Model(
        dpl.Program(ADDITION), networks={"digit_net": torch.nn.Linear(3, 10).double()}
    )
    assert model.log_prob(goals).tolist() == [-math.inf] * 4
    check_both(ADDITION, goals)  # type: ignore[arg-type]


def test_selection_and_new_tensors() -> None:
    goals = sums(3, 9)
    model = dpl.Model(
        dpl.Program(ADDITION), networks={"digit_net": torch.nn.Linear(3, 10).double()}
    )
    compiled = model.compile(goals)
    every = model.log_prob(compiled)
    picked = [7, 0, 3]
    torch.testing.assert_close(model.log_prob(compiled, select=picked), every[picked])
    torch.testing.assert_close(model.log_prob(compiled, select=torch.tensor(picked)), every[picked])
    bank = torch.randn_like(compiled.bank)  # type: ignore[arg-type]
    fresh = model.log_prob(compiled.with_bank(bank))
    again = model.log_prob(model.compile(goals, unfolding=False).with_bank(bank))
    torch.testing.assert_close(fresh, again)
    with pytest.raises(dpl.ModelError, match="tensors"):
        compiled.with_bank(bank[1:])


@pytest.mark.parametrize("word", ["a", "ab", "bba", "abababbaab"])
def test_hidden_markov_model(word: str) -> None:
    assert check_both(HMM, [f"hmm([{','.join(word)}])", "hmm([b,b])"]).unfolded


@pytest.mark.parametrize("goal", ["at(a,[a,b,c])", "at(b,[b,a,a])", "at(c,[a,b])", "at(a,[a,a])"])
def test_branches_that_fail_late(goal: str) -> None:
    """A goal that succeeds at once beside a branch that dies some steps later."""
    check_both("1/3 :: at(X, [X|_]). 2/3 :: at(X, [_|Xs]) :- at(X, Xs).", [goal])


def test_grammar_and_other_lengths_together() -> None:
    goals: list[str | dpl.Query] = [f"s([{','.join(w)}], [])" for w in ("a", "ab", "bbbb", "c")]
    check_both(GRAMMAR, goals)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_accumulated_lists(n: int) -> None:
    """Lists the program builds from tensors become contents of holes in their turn."""
    goals: list[str | dpl.Query] = [
        dpl.goal("same(X, D)", X=tensors(n), D=[(3 * i + k) % 10 for i in range(n)])
        for k in range(3)
    ]
    check_both(REVERSED, goals)


@pytest.mark.parametrize("n", [1, 3, 6])
def test_wide_layers(n: int) -> None:
    goals: list[str | dpl.Query] = [
        dpl.goal("total(X, T)", X=tensors(n), T=t) for t in (0, 4 * n, 9 * n, 9 * n + 1)
    ]
    check_both(TOTAL, goals)


def test_guards_look_at_whole_terms() -> None:
    goals: list[str | dpl.Query] = [
        dpl.goal("big(X, [], N)", X=tensors(2), N=k) for k in (0, 1, 2, 3)
    ]
    check_both(GUARDED, goals)


def test_networks_of_two_inputs_and_labels() -> None:
    goals: list[str | dpl.Query] = [dpl.goal("chain(X)", X=tensors(n)) for n in (1, 2, 4, 4)]
    check_both(PAIRS, goals)


def test_a_tensor_read_twice() -> None:
    """An element shared by two steps, and one tensor in two goals."""
    x = tensors(3)
    check_both(SORTED, [dpl.goal("sorted(X)", X=x), dpl.goal("sorted(X)", X=[x[2], x[0]])])


def test_open_goals_and_several_atoms() -> None:
    check_both(HMM, ["hmm([a,b]), hmm([b])", "init(S), go(S, [a,b])", "em(s1, O), go(s2, [O,O])"])


def test_the_whole_chain_of_500_digits() -> None:
    """Memory and time are linear in the length: 500 columns, 1,000 images."""
    goals = sums(500, 1)
    model = dpl.Model(
        dpl.Program(ADDITION), networks={"digit_net": torch.nn.Linear(3, 10).double()}
    )
    compiled = model.compile(goals)
    assert compiled.unfolded
    assert compiled.unfolded[0].form.index.shape[1] in (500, 501)
    assert math.isfinite(model.log_prob(compiled).item())


INSIDE = """
nn(digit_net, [X], D, 0..3) :: digit(X, D).
minus(box(X), Y, S) :- digit(X, A), digit(Y, B), S is A-B.
minus([X], Y, S) :- digit(X, A), digit(Y, B), S is A-B.
minus([X, Y], S) :- digit(X, A), digit(Y, B), S is A-B.
minus([X-Y], S) :- digit(X, A), digit(Y, B), S is A-B.
minus(n(leaf(X), leaf(Y)), S) :- digit(X, A), digit(Y, B), S is A-B.
"""


@pytest.mark.parametrize(
    "goal", ["minus(box(X), Y, 1)", "minus([X], Y, 1)", "minus([X, Y], 1)", "minus([X-Y], 1)",
             "minus(n(leaf(X), leaf(Y)), 1)"],
)  # fmt: skip
def test_tensors_inside_terms(goal: str) -> None:
    """Σ p(A) q(B) over A − B = 1, whatever term holds the two tensors."""
    torch.manual_seed(1)
    net = torch.nn.Linear(3, 4).double()
    x, y = torch.randn(2, 3).double()
    p, q = (torch.log_softmax(net(t), 0).exp() for t in (x, y))
    expected = p[1] * q[0] + p[2] * q[1] + p[3] * q[2]
    model = dpl.Model(dpl.Program(INSIDE), networks={"digit_net": net})
    query = dpl.goal(goal, X=x, Y=y)
    assert model.log_prob([query]).exp().item() == pytest.approx(expected.item(), rel=1e-12)
    assert model.prob(query) == pytest.approx(expected.item(), rel=1e-12)


def test_a_tensor_met_again_is_the_same_tensor() -> None:
    """r(X, [X]) matches where both are one tensor, although each is met at another step."""
    torch.manual_seed(1)
    net = torch.nn.Linear(3, 4).double()
    x, y = torch.randn(2, 3).double()
    p = torch.softmax(net(x), 0).tolist()
    text = """
    nn(digit_net, [X], D, 0..3) :: digit(X, D).
    q(X, L, S) :- digit(X, A), r(X, L, A, S).
    r(X, [X], A, S) :- S is A + 1.
    r(X, [Y, X], A, S) :- digit(Y, B), S is A - B.
    """
    model = dpl.Model(dpl.Program(text), networks={"digit_net": net})
    same, other = dpl.goal("q(X, [X], 2)", X=x), dpl.goal("q(X, [Y], 2)", X=x, Y=y)
    thrice = dpl.goal("q(X, [X, X], 0)", X=x)
    expected = [p[1], 0.0, sum(v * v for v in p)]
    assert model.log_prob([same, other, thrice]).exp().tolist() == pytest.approx(expected)


@given(
    st.lists(st.sampled_from(["a", "b", "f(a)", "g(a,b)", "[a]"]), max_size=4),
    st.lists(st.sampled_from(["a", "b", "f(a)", "[a]"]), max_size=3),
    st.sampled_from(["walk(L, M)", "walk(M, L)", "walk(L, L)", "twice(L)", "nested([L,M])"]),
)
def test_random_lists(left: list[str], right: list[str], goal: str) -> None:
    """Programs that compare, rebuild and repeat lists of all kinds of terms."""
    text = """
    0.5 :: coin(h). 0.3 :: coin(t).
    walk([], _).
    walk([X|Xs], Ys) :- coin(C), see(C, X, Ys), walk(Xs, [X|Ys]).
    see(h, X, [X|_]).
    see(h, f(_), []).
    see(t, X, Ys) :- X \\== Ys.
    twice(L) :- coin(_), walk(L, L), eq(L, L).
    eq(X, X).
    nested([]).
    nested([L|Ls]) :- walk(L, Ls), coin(h), nested(Ls).
    """
    written = goal.replace("L", f"[{','.join(left)}]").replace("M", f"[{','.join(right)}]")
    check_both(text, [written])
