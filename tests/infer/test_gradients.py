"""Gradients of log p_success, against finite differences and against brute force."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from torch import Tensor, nn
from torch.autograd import gradcheck

import deepprooflog as dpl
from deepprooflog.graph.explore import explore
from deepprooflog.graph.schedule import schedule
from deepprooflog.infer.graphs.exact import layered, log_values
from deepprooflog.infer.tables.levels import tabled_log_values
from deepprooflog.infer.tables.tabled import tabulate
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.resolve import start
from deepprooflog.score.fixed import fixed_weights
from programs.labelled import Labelled, chains

Function = Callable[..., Tensor]


def by_graph(text: str, query: str) -> tuple[Function, Tensor]:
    """log V(query) as a function of the steps' log-weights, and the program's own weights."""
    program = dpl.Program(text)
    interner = Interner()
    graph = explore(program, [start(program.query(query).atoms, interner)], interner)
    assert graph.complete
    layers = layered(schedule(graph))
    weights = torch.as_tensor(fixed_weights(program)(graph, graph.choices))
    root = int(graph.roots[0])
    return lambda w: log_values(layers, w)[root], weights[:, None]


def by_tables(text: str, query: str) -> tuple[Function, Tensor]:
    program = dpl.Program(text)
    interner = Interner()
    table = tabulate(program, interner.goal(program.query(query).atoms), interner)
    assert table.complete
    weights = fixed_weights(program)(table.calls, table.system.choices)
    (root,) = table.answers.values()
    return lambda w: tabled_log_values(table.system, w)[root], torch.as_tensor(weights)


ACYCLIC = "0.4 :: s :- p, p. 0.6 :: s :- q. 0.3 :: p. 0.2 :: p :- q. 0.7 :: q. 0.1 :: q."
CYCLIC = "0.5 :: a :- b. 0.3 :: a. 0.5 :: b :- a. 0.1 :: b :- b. 0.2 :: b :- c, a. 0.6 :: c."
TWO_CYCLES = CYCLIC + " 0.2 :: d :- fail. 0.3 :: d :- c, d. 0.5 :: d :- a."
QUADRATIC = "0.3 :: p :- p, p. 0.4 :: p. 0.2 :: p :- q. 0.3 :: q :- p, q. 0.5 :: q."


@pytest.mark.parametrize(
    ("text", "query"), [(ACYCLIC, "s"), (CYCLIC, "a"), (TWO_CYCLES, "d"), (CYCLIC, "b, a")]
)
def test_graphs(text: str, query: str) -> None:
    function, weights = by_graph(text, query)
    batch = torch.cat([weights, weights - 0.1, weights - torch.rand_like(weights)], dim=1)
    assert gradcheck(function, batch.requires_grad_())


@pytest.mark.parametrize(
    ("text", "query"), [(ACYCLIC, "s"), (CYCLIC, "a"), (TWO_CYCLES, "d"), (QUADRATIC, "p")]
)
def test_tables(text: str, query: str) -> None:
    function, weights = by_tables(text, query)
    assert gradcheck(function, weights.clone().requires_grad_())


@given(chains())
def test_random_graphs_and_tables_agree(case: Labelled) -> None:
    """Steps and productions are different arrays over the same labels: compare by clause."""
    model = dpl.Model(dpl.Program(re.sub(r"^(\S+) ::", r"t(\1) ::", case.text, flags=re.M)))
    log = model.log_prob(["p0"])
    if log.item() == -torch.inf:
        return
    (graph_gradient,) = torch.autograd.grad(log.sum(), model.labels.logits)
    program = model.program
    interner = Interner()
    table = tabulate(program, interner.goal(program.query("p0").atoms), interner)
    numbers = [
        None if c.clause is None or c.clause.label is None else model.labels.numbers([c.clause])[0]
        for c in table.system.choices
    ]
    values = model.labels.log_values()
    weights = torch.stack([values.new_zeros(()) if n is None else values[n] for n in numbers])
    (root,) = table.answers.values()
    again = tabled_log_values(table.system, weights)[root]
    assert again.item() == pytest.approx(log.item(), abs=1e-9)
    (table_gradient,) = torch.autograd.grad(again, model.labels.logits)
    np.testing.assert_allclose(graph_gradient, table_gradient, rtol=1e-7, atol=1e-9)


def through(model: dpl.Model, goals: list[str] | list[dpl.Query]) -> Function:
    """log p as a function of the model's parameters, in their order."""
    compiled = model.compile(goals)
    names = [name for name, _ in model.named_parameters()]

    class Call(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self) -> Tensor:
            return self.model.log_prob(compiled)

    def function(*values: Tensor) -> Tensor:
        given = {f"model.{n}": v for n, v in zip(names, values, strict=True)}
        return torch.as_tensor(torch.func.functional_call(Call(), given, ()))

    return function


def parameters(model: dpl.Model) -> tuple[Tensor, ...]:
    return tuple(p.detach().clone().requires_grad_() for p in model.parameters())


def test_trainable_labels() -> None:
    """A softmax with failing in it, one without, and the rows of a table."""
    model = dpl.Model(
        dpl.Program(
            """
            t(0.3) :: s :- p(X), r(X, Y), s.   t(0.5) :: s :- p(a).
            t(0.4) :: p(a).   t(0.6) :: p(b).
            t(0.2) :: r(a, a).  t(0.8) :: r(a, b).  t(0.5) :: r(b, a).  t(0.5) :: r(b, c).
            """
        )
    )
    assert gradcheck(through(model, ["s", "p(X), r(X, b)", "s, p(a)"]), parameters(model))


def test_trainable_labels_in_tables() -> None:
    text = "t(0.3) :: p :- p, p. t(0.5) :: p. t(0.2) :: p :- q, p. t(0.7) :: q. t(0.3) :: q."
    model = dpl.Model(dpl.Program(text))
    assert gradcheck(through(model, ["p", "p, p"]), parameters(model))


ADDITION = """
nn(net, [X], D, 0..9) :: digit(X, D).
add([], [], [], 0).
add([], [], [1], 1).
add([X|Xs], [Y|Ys], [D|Ds], C) :-
    digit(X, A), digit(Y, B), S is A + B + C, D is S mod 10, E is S // 10, add(Xs, Ys, Ds, E).
"""


def addition(model_inputs: list[Tensor], total: int) -> dpl.Query:
    """Two two-digit numbers, least significant digit first."""
    digits = [int(c) for c in reversed(f"{total:02d}")]
    x, y = model_inputs[:2], model_inputs[2:]
    return dpl.goal("add(X, Y, Z, 0)", X=x, Y=y, Z=digits)


@pytest.mark.parametrize("total", [0, 7, 57, 99, 100, 198])
def test_two_digit_addition_by_brute_force(total: int) -> None:
    """The value, and the gradient of every weight, from all 10,000 digit sequences."""
    torch.manual_seed(total)
    network = nn.Linear(3, 10).double()
    inputs = list(torch.randn(4, 3, dtype=torch.float64))
    model = dpl.Model(dpl.Program(ADDITION), networks={"net": network})
    log = model.log_prob([addition(inputs, total)])
    found = torch.autograd.grad(log.sum(), list(network.parameters()))
    p = torch.softmax(network(torch.stack(inputs)), dim=1)
    ways = [
        p[0, a] * p[1, b] * p[2, c] * p[3, d]
        for a, b, c, d in itertools.product(range(10), repeat=4)
        if a + 10 * b + c + 10 * d == total
    ]
    expected = torch.stack(ways).sum().log()
    assert log.item() == pytest.approx(expected.item(), rel=1e-12)
    for mine, theirs in zip(
        found, torch.autograd.grad(expected, list(network.parameters())), strict=True
    ):
        torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-12)


def test_neural_labels_in_a_batch_of_templates() -> None:
    """Three queries of one template, one of another, and one that is alone."""
    torch.manual_seed(0)
    text = """
    nn(net, [X], D, [a, b, c]) :: seen(X, D).
    nn(gate, [X, Y]) :: near(X, Y).
    t(0.6) :: step(a).  t(0.4) :: step(b).
    same(X, Y) :- near(X, Y), seen(X, D), seen(Y, D), step(D).
    """

    class Gate(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(2, dtype=torch.float64))

        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return (x * y) @ self.weight

    networks = {"net": nn.Linear(2, 3).double(), "gate": Gate()}
    model = dpl.Model(dpl.Program(text), networks=networks)
    x = list(torch.randn(4, 2, dtype=torch.float64))
    goals = [
        dpl.goal("same(X, Y)", X=x[0], Y=x[1]),
        dpl.goal("same(X, Y)", X=x[2], Y=x[0]),
        dpl.goal("same(X, X)", X=x[3]),
        dpl.goal("same(X, Y)", X=x[1], Y=x[1]),
        dpl.goal("near(X, Y), seen(X, b)", X=x[1], Y=x[3]),
    ]
    function = through(model, goals)
    assert gradcheck(function, parameters(model))
    together = model.log_prob(goals)
    alone = torch.cat([model.log_prob([goal]) for goal in goals])
    torch.testing.assert_close(together, alone)


def test_a_network_that_rules_out_a_value_has_a_finite_gradient() -> None:
    class Table(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.p = nn.Parameter(torch.tensor([0.0, 0.4, 0.6], dtype=torch.float64))

        def forward(self, x: Tensor) -> Tensor:
            return self.p.expand(len(x), 3)

    table = Table()
    network = dpl.Network(table, outputs="probabilities")
    program = dpl.Program("nn(n, [X], D, 0..2) :: d(X, D). q(X) :- d(X, 0). q(X) :- d(X, 1).")
    model = dpl.Model(program, networks={"n": network})
    log = model.log_prob([dpl.goal("q(X)", X=torch.zeros(1))])
    log.sum().backward()
    assert log.exp().item() == pytest.approx(0.4)
    assert table.p.grad is not None
    assert table.p.grad.tolist() == pytest.approx([0.0, 1 / 0.4, 0.0])


def test_a_goal_without_proof_has_gradient_zero() -> None:
    model = dpl.Model(dpl.Program("t(0.5) :: p(a). t(0.5) :: p(b). q :- p(c)."))
    log = model.log_prob(["q", "p(a)"])
    assert log.tolist()[0] == -torch.inf
    log.exp().sum().backward()
    assert model.labels.logits.grad is not None
    assert model.labels.logits.grad.tolist() == pytest.approx([0.25, -0.25])


@pytest.mark.parametrize("body", ["p", "p, p"])
def test_second_derivatives_are_refused(body: str) -> None:
    model = dpl.Model(dpl.Program(f"t(0.6) :: p :- {body}. t(0.4) :: p."))
    log = model.log_prob(["p"])
    with pytest.raises(dpl.ModelError, match="first derivatives only"):
        torch.autograd.grad(log.sum(), model.labels.logits, create_graph=True)
