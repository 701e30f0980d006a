"""REINFORCE and actor-critic: unbiased gradients, known optima, digits learned from sums."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

import deepprooflog as dpl
from deepprooflog.infer.particles.arena import Arena, steps_ahead
from deepprooflog.infer.particles.prepare import Form, arenas
from deepprooflog.learn.baseline import MovingAverage, Value, features
from deepprooflog.learn.reinforce import (
    Baseline,
    Reinforce,
    behaviour,
    reinforce,
    reinforce_loss,
    rollouts,
    surrogate,
)
from deepprooflog.learn.smc import paths, smc_log_prob

# Labels that leave mass over, a cycle, unlabelled alternatives that weigh more than 1 together.
PROGRAMS = {
    "leftover": ("t(0.5) :: p(a). t(0.3) :: p(b). t(0.2) :: p(c). s :- p(X), p(X).", "s"),
    "cycle": ("t(0.5) :: a :- b. t(0.5) :: a. t(0.6) :: b :- a. t(0.4) :: b :- fail.", "a"),
    "alternatives": ("p :- q. p :- q, r. t(0.5) :: q. t(0.5) :: q :- fail. 0.5 :: r.", "p"),
    "chain": (
        "t(0.6) :: s(1) . t(0.4) :: s(2). 0.9 :: e(1). 0.2 :: e(2). go([]). "
        "go([_|T]) :- s(X), e(X), go(T). q :- go([x, y, z]).",
        "q",
    ),
}


class Exact(Value):
    """A critic that knows V: looking ahead to the end."""

    def forward(self, arena: Arena) -> Tensor:
        return steps_ahead(200)(arena)


def average() -> MovingAverage:
    made = MovingAverage()
    made.update(torch.tensor([0.4]))
    return made


BASELINES: dict[str, tuple[Reinforce, Baseline]] = {
    "none": (Reinforce(), None),
    "the others": (Reinforce(leave_one_out=True), None),
    "moving average": (Reinforce(), average()),
    "value network": (Reinforce(), Value()),
    "actor-critic": (Reinforce(critic=True), Exact()),
}


# A critic sees V only where the goals behind are known.
CASES = [(form, name) for form in ("auto", "steps") for name in BASELINES][:-1]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def within_four_sigma(draws: Tensor, expected: Tensor | float) -> None:
    error = draws.std(0) / math.sqrt(len(draws))
    assert bool(((draws.mean(0) - expected).abs() <= 4 * error + 1e-9).all())


@pytest.mark.parametrize("masked", [True, False], ids=["masked", "on policy"])
@pytest.mark.parametrize(("form", "baseline"), CASES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_gradient_is_unbiased(name: str, form: Form, baseline: str, masked: bool) -> None:
    """E[∇ surrogate] = ∇ p_success, which exact inference gives; and E[R] = p_success."""
    text, query = PROGRAMS[name]
    given, learned = BASELINES[baseline]
    settings = Reinforce(
        rollouts=3, masked=masked, leave_one_out=given.leave_one_out, critic=given.critic
    )
    model = dpl.Model(dpl.Program(text))
    batch = paths(model, [query], form=form)
    [(_, ground)] = arenas(batch, model.weights, [0] * 300)
    drawn = rollouts(ground, settings, generator(5))
    value, log_r = surrogate(drawn, behaviour(drawn), settings, learned)
    eye = torch.eye(len(value), dtype=value.dtype)
    [each] = torch.autograd.grad(value, [model.labels.logits], eye, is_grads_batched=True)
    p = model.log_prob([query]).exp()
    p.sum().backward()
    expected = model.labels.logits.grad
    assert expected is not None
    within_four_sigma(each, expected)
    within_four_sigma(log_r.exp(), p.item())


@pytest.mark.parametrize("masked", [True, False], ids=["masked", "on policy"])
def test_an_exact_critic_leaves_little_variance(masked: bool) -> None:
    """The baseline and the critic are worth their cost: less spread than without."""
    text, query = PROGRAMS["chain"]
    spread = {}
    for name, critic, learned in [("none", False, None), ("critic", True, Exact())]:
        settings = Reinforce(rollouts=4, masked=masked, critic=critic)
        model = dpl.Model(dpl.Program(text))
        batch = paths(model, [query], form="graph")
        [(_, ground)] = arenas(batch, model.weights, [0] * 300)
        drawn = rollouts(ground, settings, generator(1))
        value, _ = surrogate(drawn, behaviour(drawn), settings, learned)
        eye = torch.eye(len(value), dtype=value.dtype)
        [each] = torch.autograd.grad(value, [model.labels.logits], eye, is_grads_batched=True)
        spread[name] = float(each.var(0).sum())
    assert spread["critic"] < spread["none"] / 2


ARMS = "t(0.5) :: pull(left). t(0.5) :: pull(right). 0.9 :: pays(left). 0.2 :: pays(right). " \
    "win :- pull(A), pays(A)."  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "baseline"),
    [
        (Reinforce(), None),
        (Reinforce(masked=False), None),
        (Reinforce(leave_one_out=True), None),
        (Reinforce(masked=False), MovingAverage()),
        (Reinforce(masked=False, critic=True), Value()),
        (Reinforce(objective="log"), None),
    ],
    ids=["off policy", "on policy", "leave one out", "moving average", "actor-critic", "log"],
)
def test_two_arms(settings: Reinforce, baseline: Baseline) -> None:
    """The best policy pulls the left arm: p(win) goes from 0.55 to 0.9."""
    model = dpl.Model(dpl.Program(ARMS))
    assert model.prob("win") == pytest.approx(0.55)
    run = Reinforce(
        rollouts=32, masked=settings.masked, objective=settings.objective, critic=settings.critic,
        leave_one_out=settings.leave_one_out, epochs=150, lr=0.1,
    )  # fmt: skip
    returns: list[float] = []
    history = reinforce(
        model, ["win"], run, baseline=baseline, callback=lambda _, value: returns.append(value)
    )
    assert model.prob("win") > 0.87
    assert returns[-1] > returns[0]
    assert history.losses == tuple(-value for value in returns)


@pytest.mark.parametrize("objective", ["linear", "log"])
def test_a_negative_query_is_unlearned(objective: str) -> None:
    model = dpl.Model(dpl.Program(ARMS))
    run = Reinforce(objective=objective, epochs=150, lr=0.1)  # type: ignore[arg-type]
    reinforce(model, ["win"], run, y=[0])
    assert model.prob("win") < 0.25


def test_the_log_objective_follows_the_likelihood() -> None:
    """Many rollouts: the gradient of log p, and for y = 0 that of log(1 − p)."""
    for y, sign in [(1, 1.0), (0, -1.0)]:
        model = dpl.Model(dpl.Program(ARMS))
        batch = paths(model, ["win"], form="graph")
        settings = Reinforce(rollouts=40_000, objective="log")
        loss, log_p, _ = reinforce_loss(model, batch, settings, y=[y], generator=generator(2))
        loss.backward()
        grad = model.labels.logits.grad
        assert grad is not None
        # p = 0.9 a + 0.2 (1 − a): dp/dlogit = 0.7 a (1 − a) = 0.175 at a = ½.
        p = 0.55
        slope = 0.175 / p if y else 0.175 / (1 - p)
        assert grad.tolist() == pytest.approx([-sign * slope, sign * slope], abs=0.02)
        assert log_p.exp().item() == pytest.approx(p, abs=0.01)


def test_no_rollout_succeeds() -> None:
    model = dpl.Model(dpl.Program("t(0.5) :: p(a). t(0.5) :: p(b). q(X) :- p(X)."))
    for form in ("auto", "graph", "steps"):
        for objective in ("linear", "log"):
            settings = Reinforce(objective=objective)
            batch = paths(model, ["q(c)"], form=form)
            loss, log_p, report = reinforce_loss(model, batch, settings, baseline=Value())
            loss.backward()
            assert log_p.tolist() == [-math.inf]
            assert (report.succeeded, report.lost) == (0.0, 1)
            grad = model.labels.logits.grad
            assert grad is None or grad.abs().max().item() == 0.0


def test_one_rollout_of_a_certain_query() -> None:
    model = dpl.Model(dpl.Program("t(1.0) :: p. q :- p."))
    loss, log_p, report = reinforce_loss(model, ["q"], Reinforce(rollouts=1, leave_one_out=True))
    loss.backward()
    assert (log_p.tolist(), report.succeeded) == ([0.0], 1.0)


def test_rollouts_that_do_not_end_are_given_up_and_counted() -> None:
    model = dpl.Model(dpl.Program("p(N) :- M is N + 1, p(M). r :- p(0). r."))
    batch = paths(model, ["r"], form="steps")
    _, _, report = reinforce_loss(model, batch, Reinforce(max_steps=20), generator=generator())
    assert report.cut_off > 0


def test_a_critic_must_be_given() -> None:
    model = dpl.Model(dpl.Program(ARMS))
    with pytest.raises(dpl.ProofLogError, match="critic"):
        reinforce_loss(model, ["win"], Reinforce(critic=True))


def test_clipping_bounds_the_returns() -> None:
    model = dpl.Model(dpl.Program("p :- q. p :- q. p :- q. 0.9 :: q."))
    _, free, _ = reinforce_loss(model, ["p"], Reinforce())
    _, clipped, _ = reinforce_loss(model, ["p"], Reinforce(clip=1.0))
    assert free.exp().item() == pytest.approx(2.7)
    assert clipped.exp().item() == pytest.approx(1.0)


def test_a_value_network_learns_v() -> None:
    """Trained by Bellman's equation alone, its log V is near the truth at each goal it visits."""
    torch.manual_seed(0)
    text, query = PROGRAMS["chain"]
    model = dpl.Model(dpl.Program(text))
    batch = paths(model, [query], form="graph")
    value = Value()
    optimizer = torch.optim.Adam(value.parameters(), lr=0.02)
    [(_, ground)] = arenas(batch, model.weights)
    arena = ground.at(ground.roots[:, None])
    everywhere = torch.arange(len(arena.begin))[None]
    for _ in range(400):
        loss = value.loss(arena, everywhere)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    truth = steps_ahead(200)(arena)
    live = (truth > -torch.inf) & ~arena.true
    assert float((value(arena) - truth)[live].detach().abs().max()) < 0.25
    # (0.6 · 0.9 + 0.4 · 0.2)³ at the query.
    assert value(arena)[ground.roots].exp().item() == pytest.approx(0.62**3, abs=0.03)
    # As a look-ahead it brings the estimates closer to p.
    spread = []
    for ahead in (None, value):
        log_p, _ = smc_log_prob(
            model, batch, 4, select=[0] * 300, look_ahead=ahead, generator=generator()
        )
        within_four_sigma(log_p.detach().exp(), 0.62**3)
        spread.append(float(log_p.detach().exp().std()))
    assert spread[1] < spread[0] / 2


def test_features_are_finite_everywhere() -> None:
    model = dpl.Model(dpl.Program("0.5 :: p :- q. 0.5 :: p. q :- r. r :- fail."))
    for form in ("graph", "steps"):
        batch = paths(model, ["p"], form=form)
        [(_, ground)] = arenas(batch, model.weights)
        drawn = rollouts(ground, Reinforce(), generator())
        assert bool(features(drawn.arena).isfinite().all())


ADDITION = """
nn(digits, [X], D, 0..9) :: digit(X, D).
add([], [], [], 0).
add([], [], [1], 1).
add([X|Xs], [Y|Ys], [Z|Zs], C) :-
    digit(X, A), digit(Y, B), S is A + B + C, Z is S mod 10, C1 is S // 10, add(Xs, Ys, Zs, C1).
"""


@pytest.mark.parametrize(
    ("settings", "accuracy"),
    [
        (Reinforce(objective="log", epochs=40, lr=0.01), 0.95),
        (Reinforce(epochs=80, lr=0.01, leave_one_out=True), 0.8),
    ],
    ids=["log", "the paper's"],
)
def test_learning_digits_from_sums(settings: Reinforce, accuracy: float) -> None:
    """Off policy, from masked rollouts: two-digit sums of noisy codes of eight numbers.

    The paper's objective, p itself, gains most from the sums that are likely already, and leaves a
    digit that it has mistaken behind.
    """
    torch.manual_seed(0)
    codes = torch.randn(10, 8)
    digits = torch.randint(0, 10, (128, 2, 2))
    pictures = codes[digits] + 0.3 * torch.randn(128, 2, 2, 8)
    goals = []
    for (a, b), (x, y) in zip(digits.tolist(), pictures, strict=True):
        total = a[0] + b[0] + 10 * (a[1] + b[1])
        written = [int(c) for c in reversed(f"{total:02d}")]
        goals.append(dpl.goal("add(X, Y, Z, 0)", X=list(x), Y=list(y), Z=written))
    net = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    model = dpl.Model(dpl.Program(ADDITION), networks={"digits": net})
    reinforce(model, goals, settings)
    assert float((net(pictures).argmax(-1) == digits).double().mean()) > accuracy
