"""Batches: queries that differ only in their tensors share one goal graph."""

from __future__ import annotations

import pytest
import torch

import deepprooflog as dpl
from deepprooflog import Budget, Program, Query
from deepprooflog.graph.bundles import Bundle, bundle, renumber
from deepprooflog.syntax.terms import Slot, Struct, make_list, struct
from logic.stepping import goal_text

ADD = Program(
    "nn(net, [X], D, 0..2) :: digit(X, D).\nadd(X, Y, Z) :- digit(X, A), digit(Y, B), Z is A + B."
)


def images(n: int) -> list[torch.Tensor]:
    return [torch.full((2,), float(i)) for i in range(n)]


def add(x: torch.Tensor, y: torch.Tensor, z: int) -> Query:
    return dpl.goal("add(X, Y, Z)", X=x, Y=y, Z=z)


def test_queries_of_one_form_share_a_graph() -> None:
    a, b, c = images(3)
    batch = bundle(ADD, [add(a, b, 1), add(b, c, 1), add(c, a, 1)])
    (item,) = batch.bundles
    assert item.slots.tolist() == [[0, 1], [1, 2], [2, 0]]
    assert item.queries.tolist() == [[0], [1], [2]]
    assert len(item.graph.roots) == 1
    assert [t is u for t, u in zip(batch.bank, [a, b, c], strict=True)] == [True] * 3


def test_the_form_says_which_tensors_are_the_same() -> None:
    """add(X, X, 1) is another template than add(X, Y, 1)."""
    a, b = images(2)
    batch = bundle(ADD, [add(a, b, 1), add(a, a, 1), add(b, b, 1)])
    rows = sorted(item.slots.tolist() for item in batch.bundles)
    assert rows == [[[0], [1]], [[0, 1]]]


def test_equal_values_are_not_the_same_tensor() -> None:
    a = torch.zeros(2)
    batch = bundle(ADD, [add(a, a.clone(), 1)])
    assert len(batch.bank) == 2


def test_queries_alone_in_their_form_are_explored_together() -> None:
    a, b, c = images(3)
    batch = bundle(ADD, [add(a, b, 1), add(b, c, 2), add(a, c, 3)])
    (item,) = batch.bundles
    assert item.queries.tolist() == [[0, 1, 2]]
    assert len(item.graph.roots) == 3
    assert item.slots.tolist() == [[0, 1, 2]]
    assert [goal_text(batch.goals[i]) for i in range(3)] == [
        goal_text(item.graph.goals[r]) for r in item.graph.roots.tolist()
    ]


def test_one_query_without_an_end_leaves_the_others_complete() -> None:
    program = Program("p(0) :- p(0), p(0). p(0). p(1). p(2) :- p(1).")
    queries = [dpl.goal(f"p({i})") for i in range(3)]
    batch = bundle(program, queries)
    state = {
        q: item.graph.complete for item in batch.bundles for q in item.queries.reshape(-1).tolist()
    }
    assert state == {0: False, 1: True, 2: True}


def test_every_query_is_in_one_bundle() -> None:
    a, b, c = images(3)
    queries = [add(a, b, 1), add(b, c, 1), add(a, a, 1), dpl.goal("add(X, Y, 2)", X=a, Y=b)]
    batch = bundle(ADD, queries, Budget(max_goals=10_000))
    placed = sorted(q for item in batch.bundles for q in item.queries.reshape(-1).tolist())
    assert placed == [0, 1, 2, 3]


@pytest.mark.parametrize("size", [1, 3])
def test_probabilities_do_not_depend_on_the_batch(size: int) -> None:
    """Alone, as one of many of its form, or beside others: the same number, by its closed form."""
    net = torch.nn.Linear(2, 3).double()
    model = dpl.Model(ADD, networks={"net": net})
    pictures = [t.double() for t in images(size + 1)]
    p = torch.stack([torch.softmax(net(t), 0) for t in pictures])
    pairs = [(i, j) for i in range(size + 1) for j in range(size + 1) if i != j]
    goals = [add(pictures[i], pictures[j], 2) for i, j in pairs]
    expected = torch.stack(
        [p[i, 0] * p[j, 2] + p[i, 1] * p[j, 1] + p[i, 2] * p[j, 0] for i, j in pairs]
    )
    together = model.log_prob(goals).exp()
    torch.testing.assert_close(together, expected, rtol=1e-9, atol=0)
    for goal, value in zip(goals, expected, strict=True):
        torch.testing.assert_close(model.log_prob([goal]).exp()[0], value, rtol=1e-9, atol=0)


def test_renumbering() -> None:
    atoms = [struct("p", Slot(5), make_list([Slot(2), Slot(5)])), struct("q", 1)]
    found, met = renumber(atoms)
    assert met == [5, 2]
    first = found[0]
    assert isinstance(first, Struct)
    assert first.args[0] == Slot(0)
    assert found[1] is atoms[1]
    mapped, _ = renumber(atoms, [0, 0, 7, 0, 0, 9])
    assert mapped[0] == struct("p", Slot(9), make_list([Slot(7), Slot(9)]))


def test_a_bundle_says_which_query_is_where() -> None:
    a, b = images(2)
    batch = bundle(ADD, [add(a, b, 1), add(a, b, 2)])
    assert all(isinstance(item, Bundle) for item in batch.bundles)
    (item,) = batch.bundles
    for row in item.queries.tolist():
        for root, q in zip(item.graph.roots.tolist(), row, strict=True):
            assert goal_text(item.graph.goals[root]) == goal_text(batch.goals[q])
