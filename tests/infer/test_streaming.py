"""Goals made anew for every call: what was learned before changes no value and no gradient.

The reference are goals one by one through `prob`, and goal graphs built step by step.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import deepprooflog as dpl
from deepprooflog.graph.unfold import unfold as kept

TEXT = """
nn(digit_net, [X], D, 0..3) :: digit(X, D).
nn(pair_net, [X, Y]) :: alike(X, Y).
t(0.3) :: noise(a). t(0.7) :: noise(b).
0.25 :: slip(0). 0.75 :: slip(1).

add([], [], [], 0).   add([], [], [1], 1).
add([X|Xs], [Y|Ys], [Z|Zs], C) :-
    digit(X, A), digit(Y, B), S is A+B+C, Z is S mod 4, C1 is S // 4, add(Xs, Ys, Zs, C1).

total(T, S) :- total(T, 0, S).
total([], S, S).
total([X|Xs], A, S) :- digit(X, D), slip(E), B is A + D * E, total(Xs, B, S).

tree(leaf(X), V) :- digit(X, V).
tree(n(L, X), V) :- digit(X, D), noise(N), turn(N, D, W), tree(L, W, V).
tree(leaf(X), W, V) :- digit(X, D), V is (D + W) mod 4.
tree(n(L, X), W, V) :- digit(X, D), U is (D + W) mod 4, tree(L, U, V).
turn(a, D, D). turn(b, D, W) :- W is 3 - D.

chain([_]).
chain([X, Y|Zs]) :- alike(X, Y), chain([Y|Zs]).
same(X, [X|_]) :- alike(X, X).
same(X, [_|Xs]) :- slip(1), same(X, Xs).
"""
TENSORS = 5


class Pair(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(6, 1)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.as_tensor(self.linear(torch.cat([x, y], dim=1)))


def model_of(program: dpl.Program) -> dpl.Model:
    torch.manual_seed(1)
    networks = {"digit_net": torch.nn.Linear(3, 4).double(), "pair_net": Pair().double()}
    return dpl.Model(program, networks=networks)


PROGRAM = dpl.Program(TEXT)
MODEL = model_of(PROGRAM)
BANK = torch.randn(TENSORS, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2))

row = st.integers(0, TENSORS - 1)
rows = st.lists(row, max_size=3)


tree = row.map(lambda r: f"leaf(T{r})") | st.builds(
    lambda first, others: (
        "".join("n(" for _ in others) + f"leaf(T{first})" + "".join(f", T{r})" for r in others)
    ),
    row,
    st.lists(row, max_size=2),
)


def named(items: list[int]) -> str:
    return f"[{', '.join(f'T{i}' for i in items)}]"


goal_texts = st.one_of(
    st.builds(
        lambda pairs, z: (
            f"add({named([a for a, _ in pairs])}, {named([b for _, b in pairs])}, {z}, 0)"
        ),
        st.lists(st.tuples(row, row), max_size=3),
        st.lists(st.integers(0, 3), max_size=4),
    ),
    st.builds(lambda x, s: f"total({named(x)}, {s})", rows, st.integers(0, 6)),
    st.builds(lambda t, v: f"tree({t}, {v})", tree, st.integers(0, 3)),
    st.builds(lambda x: f"chain({named(x)})", rows),
    st.builds(lambda x, xs: f"same(T{x}, {named(xs)})", row, rows),
    st.builds(lambda x, v: f"total({named(x)}, {v}), noise(a)", rows, st.integers(0, 3)),
)


def goal(text: str, tensors: Tensor) -> dpl.Query:
    used = {f"T{i}": tensors[i] for i in range(TENSORS) if f"T{i}" in text}
    return dpl.goal(text, **used)


def gradients(model: dpl.Model, log_p: Tensor) -> list[Tensor]:
    parameters = [p for p in model.parameters() if p.numel()]
    if not log_p.requires_grad:
        return [torch.zeros_like(p) for p in parameters]
    found = torch.autograd.grad(log_p[log_p > -torch.inf].sum(), parameters, allow_unused=True)
    return [torch.zeros_like(p) if g is None else g for p, g in zip(parameters, found, strict=True)]


@given(st.lists(st.lists(goal_texts, min_size=1, max_size=4), min_size=1, max_size=3))
@settings(max_examples=15)
def test_a_stream_of_batches(batches: list[list[str]]) -> None:
    """A program that has answered many questions answers as one that has answered none."""
    for number, texts in enumerate(batches):
        tensors = BANK + number
        asked = [goal(text, tensors) for text in texts]
        warm = MODEL.log_prob(asked)
        reference = MODEL.log_prob(MODEL.compile(asked, unfolding=False))
        torch.testing.assert_close(warm, reference, rtol=1e-9, atol=1e-12)
        one_by_one = [MODEL.prob(query) for query in asked]
        torch.testing.assert_close(
            warm.exp(), torch.tensor(one_by_one, dtype=torch.float64), rtol=1e-9, atol=1e-12
        )
        if bool((reference > -torch.inf).any()):
            for a, b in zip(gradients(MODEL, warm), gradients(MODEL, reference), strict=True):
                torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-10)


pairs = st.integers(1, 3).flatmap(
    lambda n: st.lists(
        st.tuples(
            st.lists(row, min_size=n, max_size=n),
            st.lists(row, min_size=n, max_size=n),
            st.lists(st.integers(0, 3), min_size=n, max_size=n),
        ),
        min_size=1,
        max_size=4,
    )
)


@given(pairs, st.sampled_from(["list", "tensor", "named"]))
@settings(max_examples=15)
def test_rows_of_a_bank(sums: list[tuple[list[int], list[int], list[int]]], form: str) -> None:
    """Goals over rows are worth what the goals with the tensors themselves are worth."""
    x, y, z = (list(column) for column in zip(*sums, strict=True))
    alone = [
        dpl.goal("add(X, Y, Z, 0)", X=[BANK[i] for i in a], Y=[BANK[i] for i in b], Z=c)
        for a, b, c in sums
    ]
    bank: Any = {"X": BANK, "Y": BANK} if form == "named" else BANK
    if form == "tensor":
        batch = dpl.goals(
            "add(X, Y, Z, 0)", bank=bank, X=torch.tensor(x), Y=torch.tensor(y), Z=torch.tensor(z)
        )
    else:
        batch = dpl.goals("add(X, Y, Z, 0)", bank=bank, X=x, Y=y, Z=z)
    found, expected = MODEL.log_prob(batch), MODEL.log_prob(MODEL.compile(alone, unfolding=False))
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(MODEL.log_prob(list(batch)), found)
    torch.testing.assert_close(MODEL.log_prob(MODEL.compile(batch, unfolding=False)), found)
    if bool((expected > -torch.inf).any()):
        for a, b in zip(gradients(MODEL, found), gradients(MODEL, expected), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-10)


def test_gradients_reach_the_bank() -> None:
    """Pictures that are themselves computed, by an encoder before the bank, are learned too."""
    bank = BANK.clone().requires_grad_()
    batch = dpl.goals("add(X, Y, Z, 0)", bank=bank, X=[[0, 1]], Y=[[1, 2]], Z=[[1, 3]])
    (found,) = torch.autograd.grad(MODEL.log_prob(batch).sum(), [bank])
    own = [BANK[i].clone().requires_grad_() for i in range(3)]
    asked = dpl.goal("add(X, Y, Z, 0)", X=own[:2], Y=own[1:], Z=[1, 3])
    expected = torch.autograd.grad(MODEL.log_prob([asked]).sum(), own)
    torch.testing.assert_close(found[:3], torch.stack(expected))
    assert not found[3:].any()


def test_every_way_of_asking_takes_goals_of_a_bank() -> None:
    batch = dpl.goals("total(X, S)", bank=BANK, X=[[0, 1], [2, 2]], S=[3, 2])
    one_by_one = [MODEL.prob(q) for q in batch]
    assert MODEL.log_prob(batch).exp().tolist() == pytest.approx(one_by_one)
    compiled = MODEL.compile(batch)
    assert MODEL.log_prob(compiled, select=[1]).exp().tolist() == pytest.approx(one_by_one[1:])
    shifted = MODEL.log_prob(compiled.with_bank(BANK + 1))
    again = dpl.goals("total(X, S)", bank=BANK + 1, X=[[0, 1], [2, 2]], S=[3, 2])
    torch.testing.assert_close(shifted, MODEL.log_prob(again))
    assert MODEL.best_proof(batch[0]).check()
    assert MODEL.sample(batch[0], 2, seed=0)
    with_numpy = dpl.goals("total(X, S)", bank=BANK.numpy(), X=[[0, 1], [2, 2]], S=[3, 2])
    torch.testing.assert_close(MODEL.log_prob(with_numpy), MODEL.log_prob(batch))
    of_list = dpl.goals("total(X, S)", bank=list(BANK), X=[[0, 1], [2, 2]], S=[3, 2])
    torch.testing.assert_close(MODEL.log_prob(of_list), MODEL.log_prob(batch))
    open_goal = dpl.goals("total(X, S)", bank=BANK, X=[[0]])[0]
    assert MODEL.answers(open_goal) == MODEL.answers(dpl.goal("total(X, S)", X=[BANK[0]]))
    mixed: list[str | dpl.Query] = [
        batch[0],
        "noise(a)",
        dpl.goal("total(X, 2)", X=[BANK[2], BANK[2]]),
        batch[1],
    ]
    expected = [one_by_one[0], MODEL.prob("noise(a)"), MODEL.prob(mixed[2]), one_by_one[1]]
    assert MODEL.log_prob(mixed).exp().tolist() == pytest.approx(expected)


def test_a_scorer_on_whole_goals_reads_rows_of_a_bank() -> None:
    program = dpl.Program(TEXT)
    torch.manual_seed(0)
    scorer = dpl.Embedding(program, 4, encoders=torch.nn.Linear(3, 4).double()).double()
    model = dpl.Model(program, networks=dict(MODEL.networks.items()), scorer=scorer)
    batch = dpl.goals("total(X, S)", bank=BANK, X=[[4, 1], [2, 2]], S=[3, 2])
    alone = torch.cat(
        [model.log_prob([dpl.goal("total(X, S)", X=[BANK[i] for i in x], S=s)])
         for x, s in (([4, 1], 3), ([2, 2], 2))]
    )  # fmt: skip
    torch.testing.assert_close(model.log_prob(batch), alone)


def test_fit_takes_goals_of_a_bank() -> None:
    model = model_of(dpl.Program(TEXT))
    batch = dpl.goals("add(X, Y, Z, 0)", bank=BANK, X=[[0], [1]], Y=[[2], [3]], Z=[[2], [3]])
    before = model.log_prob(batch).sum().item()
    dpl.fit(model, batch, epochs=5, lr=0.1)
    assert model.log_prob(batch).sum().item() > before


def test_a_kept_program_is_not_rebuilt_from_its_copies() -> None:
    """A model that is copied has clauses of its own, and learns about them by itself."""
    import copy

    model = model_of(dpl.Program(TEXT))
    asked = [goal("tree(n(leaf(T0), T1), 2)", BANK)]
    value = model.log_prob(asked)
    twin = copy.deepcopy(model)
    assert twin.program is not model.program
    assert twin.program not in kept._KEPT
    torch.testing.assert_close(twin.log_prob(asked), value)
