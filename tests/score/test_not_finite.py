"""A parameter that is NaN or infinite is named by every question, with the clause it belongs to."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

import deepprooflog as dpl

LABELS = "q(X) :- p(X).\nt(0.3) :: p(a).\nt(0.4) :: p(b)."

QUESTIONS: dict[str, Callable[[dpl.Model, str | dpl.Query], object]] = {
    "prob": lambda model, goal: model.prob(goal),
    "success": lambda model, goal: model.success(goal),
    "bounds": lambda model, goal: model.bounds(goal),
    "answers": lambda model, goal: model.answers(goal),
    "best_proof": lambda model, goal: model.best_proof(goal),
    "predict": lambda model, goal: model.predict(goal),
    "sample": lambda model, goal: model.sample(goal, 3, seed=1),
    "log_prob": lambda model, goal: model.log_prob([goal]),
    "log_prob tabled": lambda model, goal: model.log_prob([goal], method="tabled"),
    "prob tabled": lambda model, goal: model.prob(goal, method="tabled"),
}
ask = pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
wrong = pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])


@ask
@wrong
@pytest.mark.parametrize("entry", [0, 1, 2], ids=["a", "b", "failing"])
def test_a_trainable_label(
    ask: Callable[[dpl.Model, str], object], value: float, entry: int
) -> None:
    model = dpl.Model(dpl.Program(LABELS))
    with torch.no_grad():
        model.labels.logits[entry] = value
    with pytest.raises(dpl.ModelError, match=rf"label of p/1 is {value}") as caught:
        ask(model, "q(X)")
    assert caught.value.line == (3 if entry == 1 else 2)


@ask
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_network(ask: Callable[[dpl.Model, dpl.Query], object], value: float) -> None:
    program = dpl.Program("q(X, Y) :- p(X, Y).\nnn(net, [X], D, [a, b]) :: p(X, D).\n")
    linear = torch.nn.Linear(2, 2)
    model = dpl.Model(program, networks={"net": linear})
    with torch.no_grad():
        linear.bias[1] = value
    goal = dpl.goal("q(T, Y)", T=torch.ones(2))
    with pytest.raises(dpl.ModelError, match="the network net returned") as caught:
        ask(model, goal)
    assert caught.value.line == 2


@pytest.mark.parametrize("name", [n for n in QUESTIONS if "tabled" not in n])
def test_a_scorer(name: str) -> None:
    program = dpl.Program("q(X) :- p(X).\np(a).\np(b).")
    model = dpl.Model(program, scorer=dpl.Embedding(program))
    with torch.no_grad():
        for parameter in model.scorer.parameters():
            parameter.fill_(math.nan)
    with pytest.raises(dpl.ModelError, match="the scorer weighs a step of") as caught:
        QUESTIONS[name](model, "q(X)")
    assert caught.value.line in (1, 2)


def test_finite_parameters_of_any_size_are_taken() -> None:
    model = dpl.Model(dpl.Program(LABELS))
    with torch.no_grad():
        model.labels.logits[:] = torch.tensor([800.0, -800.0, 0.0])
    assert model.prob("q(a)") == 1.0
    assert float(model.log_prob(["q(b)"]).detach()) == pytest.approx(-1600.0)
