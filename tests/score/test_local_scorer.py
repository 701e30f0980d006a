"""A scorer that reads only the leftmost atom is asked in goal graphs and in tables alike."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import deepprooflog as dpl
from deepprooflog.errors import ProgramError
from deepprooflog.infer.method import SolveRequest
from deepprooflog.infer.success import answer_weights, success
from deepprooflog.infer.tables.levels import tabled_log_values
from deepprooflog.infer.tables.tabled import tabulate
from deepprooflog.learn.smc import smc_log_prob
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.resolve import start, successors
from deepprooflog.score.edges import edge_table
from deepprooflog.score.scorer import Scene, Scorer
from deepprooflog.score.weigh import WeighRequest, edge_weights
from score.leftmost_network import LeftmostNetwork

# A tree of calls with two ways at most calls, one of them a dead end.
TREE = """
s(X, Y) :- p(X, Z), q(Z, Y).
s(X, Y) :- q(X, Y).
p(a, b).
p(a, c).
p(X, d) :- q(X, X).
q(b, e).
q(X, e) :- r(X).
q(a, a).
r(c).
r(d).
r(a) :- fail.
"""
# Sentences of one word: left recursive, so that only tables end.
GRAMMAR = """
s --> s, s.
s --> [a].
"""


def derivations(
    program: dpl.Program, goal: Goal, scorer: LeftmostNetwork
) -> Iterator[tuple[Tensor, Goal]]:
    """log p and end of every derivation, step by step from the definition."""
    if goal.is_true:
        yield torch.zeros((), dtype=torch.float64), goal
        return
    steps = list(successors(program, goal))
    scored = [s for s in steps if s.choice.clause is not None]
    log = torch.zeros(len(steps), dtype=torch.float64)
    if scored:
        lines = [s.choice.clause.place.line for s in scored]  # type: ignore[union-attr]
        log = scorer.distribution(goal.atoms[0], lines)
    for step, weight in zip(steps, log, strict=True):
        for rest, end in derivations(program, step.goal, scorer):
            yield weight + rest, end


@pytest.mark.parametrize("query", ["s(a, e)", "s(a, Y)", "s(X, e)", "p(a, Z), q(Z, Y)"])
@settings(max_examples=10)
@given(st.integers(0, 1000))
def test_every_method_is_the_sum_over_derivations(query: str, seed: int) -> None:
    program = dpl.Program(TREE)
    scorer = LeftmostNetwork(program, local=True, seed=seed)
    model = dpl.Model(program, scorer=scorer)
    begin = start(program.query(query).atoms, Interner())
    listed = list(derivations(program, begin, scorer))
    expected = torch.logsumexp(torch.stack([w for w, _ in listed]), 0)
    wanted = torch.autograd.grad(expected, scorer.net.weight)[0]
    for log in (model.log_prob(query)[0], tabled_log_prob(model, query)):
        torch.testing.assert_close(log, expected.detach())
        torch.testing.assert_close(torch.autograd.grad(log, scorer.net.weight)[0], wanted)
    best = max(float(w.detach()) for w, _ in listed)
    assert model.best_proof(query).log_prob == pytest.approx(best)


def tabled_log_prob(model: dpl.Model, query: str) -> Tensor:
    """log p by tables, also where the goal graph ends."""
    interner = Interner()
    table = tabulate(model.program, interner.goal(model.program.query(query).atoms), interner)
    asked = WeighRequest(
        edge_table(table.system.choices), table.calls, torch.zeros((1, 0)).long().numpy()
    )
    (weights,) = edge_weights([asked], [], model.weights)
    (answer,) = table.answers.values()
    return tabled_log_values(table.system, weights[:, 0])[answer]


@settings(max_examples=10)
@given(st.integers(0, 1000))
def test_answers_by_tables_are_those_by_the_graph(seed: int) -> None:
    program = dpl.Program(TREE)
    model = dpl.Model(program, scorer=LeftmostNetwork(program, local=True, seed=seed))
    query, state, interner = model.begin("s(X, Y)")
    weigh = model.weigher(query)
    found = {
        method: answer_weights(SolveRequest(program, state, interner, weigh, method=method))
        for method in ("graph", "tabled")
    }
    assert found["graph"].keys() == found["tabled"].keys()
    for answer, log in found["graph"].items():
        assert found["tabled"][answer] == pytest.approx(log)


@pytest.mark.parametrize("query", ["s(a, Y)", "s(X, e)"])
def test_saying_that_it_is_local_changes_no_value(query: str) -> None:
    program = dpl.Program(TREE)
    found = []
    for local in (False, True):
        model = dpl.Model(program, scorer=LeftmostNetwork(program, local=local))
        log = model.log_prob(query)
        (grad,) = torch.autograd.grad(log.sum(), model.scorer.net.weight)  # type: ignore[union-attr, arg-type]
        found.append((log.detach(), grad))
        (likely,) = model.predict(query)
        assert likely.probability == pytest.approx(max(model.answers(query).values()))
        estimate, _ = smc_log_prob(model, [query], 4000, generator=torch.Generator().manual_seed(0))
        torch.testing.assert_close(estimate, log, atol=0.05, rtol=0)
    torch.testing.assert_close(found[0], found[1])


def test_a_left_recursive_grammar_is_tabled() -> None:
    """S → S S with q, S → a with 1 − q, q by the network: Catalan numbers times powers."""
    program = dpl.Program(GRAMMAR)

    class ByName(LeftmostNetwork):
        def distribution(self, atom: object, lines: list[int]) -> Tensor:
            # Whether the word comes first or not, both clauses are weighed.
            every = torch.log_softmax(self.net.bias[2:4], 0)
            return every[[line - 2 for line in lines]]

    scorer = ByName(program, local=True)
    model = dpl.Model(program, scorer=scorer)
    for n, catalan in enumerate([1, 1, 2, 5], 1):
        goal = f"s([{', '.join('a' * n)}], [])"
        log = model.log_prob(goal)
        up, stop = torch.log_softmax(scorer.net.bias[2:4], 0)
        expected = math.log(catalan) + (n - 1) * up + n * stop
        torch.testing.assert_close(log[0], expected.detach())
        (grad,) = torch.autograd.grad(log[0], scorer.net.bias)
        torch.testing.assert_close(grad, torch.autograd.grad(expected, scorer.net.bias)[0])
        assert model.prob(goal) == pytest.approx(math.exp(expected.detach()))
        assert model.success(goal).method == "tabled"
        best = float(((n - 1) * up + n * stop).detach())
        assert model.best_proof(goal).log_prob == pytest.approx(best)


def test_a_scorer_on_whole_goals_is_refused_there() -> None:
    program = dpl.Program(GRAMMAR)
    model = dpl.Model(program, scorer=LeftmostNetwork(program, local=False))
    with pytest.raises(ProgramError, match="reads whole goals"):
        model.log_prob("s([a], [])")


def test_lists_are_weighed_step_by_step() -> None:
    """Unfolding leaves out certain steps, and under this scorer none is certain."""
    program = dpl.Program(
        "w([]).\nw([a | T]) :- w(T).\nw([X | T]) :- v(X), w(T).\nv(a).\nv(b).\nv(_) :- fail.\n"
    )
    found = []
    for local in (False, True):
        model = dpl.Model(program, scorer=LeftmostNetwork(program, local=local))
        found.append(model.log_prob(["w([a, b, a])", "w([b, b])"]))
    torch.testing.assert_close(found[0], found[1])
    assert bool((found[0] < 0).all())


def test_an_unfinished_table_is_a_lower_bound() -> None:
    """A call whose clauses were not all met has no weights yet: they would be too large."""
    program = dpl.Program(TREE)
    model = dpl.Model(program, scorer=LeftmostNetwork(program, local=True))
    query, state, interner = model.begin("s(a, e)")
    exact = model.prob("s(a, e)")
    for most in range(1, 30):
        limits, weigh = dpl.Budget(max_goals=most), model.weigher(query)
        asked = SolveRequest(program, state, interner, weigh, budget=limits, method="tabled")
        found = success(asked)
        assert found.lower <= exact * (1 + 1e-12)


class Alike(Scorer):
    """Every clause weighs 0.4."""

    local = True

    def log_weights(self, scene: Scene) -> Tensor:
        return torch.full((len(scene.steps), 1), math.log(0.4), dtype=torch.float64)


def test_constant_weights_are_labels() -> None:
    """A weight of 0.4 for each clause is the label 0.4: x = 0.4 x² + 0.4 has the root 1/2."""
    plain = dpl.Program("p :- p, p.\np.\n")
    labelled = dpl.Program("0.4 :: p :- p, p.\n0.4 :: p.\n")
    model = dpl.Model(plain, scorer=Alike())
    assert model.prob("p") == pytest.approx(0.5, rel=1e-12)
    assert dpl.prob(labelled, "p") == pytest.approx(0.5, rel=1e-12)
