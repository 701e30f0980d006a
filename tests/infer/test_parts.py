"""Which part of a compiled batch a query goes to, and that the parts are asked in its place."""

from __future__ import annotations

import pytest
import torch

import deepprooflog as dpl
from deepprooflog import Budget, Program
from deepprooflog.graph.bundles import place_tensors
from deepprooflog.infer.batches.unfolded_part import may_unfold, unfold_queries, unfolded_parts
from deepprooflog.infer.batches.written_part import GraphPart, TabledPart, selected

TEXT = """
nn(net, [X], D, 0..2) :: digit(X, D).
total([], S, S).
total([X|Xs], A, S) :- digit(X, D), B is A + D, total(Xs, B, S).
0.4 :: s --> s, s. 0.6 :: s --> [a].
whole(L, S) :- length(L, S), L \\== [].
"""
PROGRAM = Program(TEXT)
BANK = torch.tensor([[0.5, 1.0], [2.0, -1.0], [0.0, 0.0]], dtype=torch.float64)


def test_every_unfolded_query_is_in_one_part() -> None:
    batch = dpl.goals("total(X, 0, S)", bank=BANK, X=[[0], [1, 2], [0, 0], []], S=[1, 5, 2, 0])
    queries = list(batch.read(PROGRAM))
    assert may_unfold(PROGRAM, queries, Budget(), "auto")
    unfolded = unfold_queries(PROGRAM, queries, Budget())
    assert unfolded is not None
    parts, rest = unfolded_parts(unfolded, place_tensors(queries).rows)
    where = sorted([*rest.tolist(), *(q for part in parts for q in part.form.queries.tolist())])
    assert where == [0, 1, 2, 3]
    # The empty sum is true at once: there is nothing to unfold.
    assert rest.tolist() == [3]


@pytest.mark.parametrize(
    ("budget", "method"),
    [(Budget(max_goals=10), "auto"), (Budget(max_depth=5), "auto"), (Budget(), "tabled")],
)
def test_what_forbids_unfolding(budget: Budget, method: str) -> None:
    queries = [dpl.goal("total(X, 0, 1)", X=[BANK[0]])]
    assert not may_unfold(PROGRAM, queries, budget, method)  # type: ignore[arg-type]


def test_a_builtin_that_reads_tensors_is_not_unfolded() -> None:
    queries = [dpl.goal("whole(X, 2)", X=[BANK[0], BANK[1]])]
    assert unfold_queries(PROGRAM, queries, Budget()) is None


def test_a_batch_of_all_kinds() -> None:
    """Unfolded, by its graph, by tables: in the order of the goals, and for any selection."""
    net = torch.nn.Linear(2, 3).double()
    model = dpl.Model(PROGRAM, networks={"net": net})
    goals = [
        "s([a,a,a], [])",
        *dpl.goals("total(X, 0, S)", bank=BANK, X=[[0, 1], [2, 2]], S=[3, 1]),
        "s([a], [])",
    ]
    expected = [model.prob(g) for g in goals]
    assert expected[0] == pytest.approx(0.06912)
    compiled = model.compile(goals)
    assert model.log_prob(compiled).exp().tolist() == pytest.approx(expected)
    for some in ([3, 0], [2], [1, 0, 2]):
        found = model.log_prob(compiled, select=some).exp().tolist()
        assert found == pytest.approx([expected[i] for i in some])
    for part in compiled.tabled:
        assert isinstance(part, TabledPart)
        assert selected(part, part.queries[:0]).queries.tolist() == []
    assert all(isinstance(part, GraphPart) for part in compiled.graphs)


def test_a_large_bank_is_not_taken_apart() -> None:
    """A bank of many rows in no memory: only what the goals name is read, by graphs too."""
    bank = torch.ones(1, 2, dtype=torch.float64).expand(10**9, 2)
    model = dpl.Model(PROGRAM, networks={"net": torch.nn.Linear(2, 3).double()})
    batch = dpl.goals("total(X, 0, S)", bank=bank, X=[[5, 10**9 - 1], [7, 7]], S=[3, 3])
    unfolded = model.log_prob(batch)
    torch.testing.assert_close(model.log_prob(model.compile(batch, unfolding=False)), unfolded)
