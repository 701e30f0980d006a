"""Sequential Monte Carlo: unbiased for p_success and its gradient, in every form and variant."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import deepprooflog as dpl
from deepprooflog.infer.particles.arena import (
    Arena,
    effective_size,
    groups,
    steps_ahead,
    systematic,
)
from deepprooflog.infer.particles.prepare import Form, arenas
from deepprooflog.infer.particles.smc import Survivors, smc
from deepprooflog.learn.smc import paths, smc_log_prob, smc_loss

RUNS = 1500

PROGRAMS = {
    "two ways": (
        "0.4 :: s(X) :- p(X), p(X). 0.6 :: s(X) :- q(X). "
        "0.3 :: p(a). 0.7 :: p(b). 0.2 :: q(a). 0.8 :: q(b).",
        "s(X)",
        0.832,
    ),
    "a cycle": ("0.5 :: a :- b. 0.5 :: a. 0.5 :: b :- a. 0.5 :: b :- fail.", "a", 2 / 3),
    "unlabelled alternatives": ("p :- q. p :- r. 0.3 :: q. 0.4 :: r.", "p", 0.7),
    "a builtin with three solutions": ("p :- member(X, [1, 2, 3]), r(X). 0.2 :: r(_).", "p", 0.6),
    "goals that grow": ("0.3 :: p :- p, p. 0.4 :: p.", "p", (1 - math.sqrt(0.52)) / 0.6),
    "labels that leave mass over": ("0.2 :: p(a). 0.3 :: p(b). q :- p(a).", "q", 0.2),
    "an ambiguous grammar": ("0.4 :: s --> s, s. 0.6 :: s --> [a].", "s([a,a,a],[])", 0.06912),
}

LOOK: dict[str, object] = {"look_ahead": steps_ahead(2)}
VARIANTS: dict[str, dict[str, object]] = {
    "half": {},
    "never resampled": {"resample_below": 0.0},
    "resampled at each step": {"resample_below": 2.0},
    "looking ahead": LOOK,
    "backwards": {"backward": True, "resample_below": 0.9},
}


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def run(
    text: str,
    query: str,
    particles: int,
    runs: int,
    form: Form = "auto",
    seed: int = 0,
    **kw: object,
) -> tuple[Survivors, dpl.Model]:
    """Many independent runs at once: the same query again and again."""
    model = dpl.Model(dpl.Program(text))
    batch = paths(model, [query], form=form)
    [(_, ground)] = arenas(batch, model.weights, [0] * runs)
    return smc(ground, particles, generator=generator(seed), **kw), model  # type: ignore[arg-type]


def within_four_sigma(draws: Tensor, expected: Tensor | float) -> None:
    """Row by row: the mean over runs lies within 4 standard errors of what is expected."""
    error = draws.std(0) / math.sqrt(len(draws))
    assert bool(((draws.mean(0) - expected).abs() <= 4 * error + 1e-9).all())


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("form", ["auto", "graph", "steps"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_estimate_is_unbiased(name: str, form: Form, variant: str) -> None:
    text, query, p = PROGRAMS[name]
    endless = name in ("goals that grow", "an ambiguous grammar")
    runs = 150 if endless else RUNS
    found, _ = run(text, query, 4, runs, form, **VARIANTS[variant])  # type: ignore[arg-type]
    assert not bool(found.cut_off.any())
    within_four_sigma(found.log_p.exp(), p)


# A weather chain with trainable labels: derivations whose weights differ at every step.
HMM = """
t(0.6) :: init(fair). t(0.4) :: init(loaded).
t(0.9) :: go(fair, fair). t(0.1) :: go(fair, loaded).
t(0.2) :: go(loaded, fair). t(0.8) :: go(loaded, loaded).
0.2 :: roll(fair, 6). 0.8 :: roll(fair, low). 0.9 :: roll(loaded, 6). 0.1 :: roll(loaded, low).
game(Rolls) :- init(S), rolls(S, Rolls).
rolls(_, []).
rolls(S, [R|Rs]) :- roll(S, R), go(S, T), rolls(T, Rs).
"""
GAME = "game([6, low, 6, 6])"
BRANCHES = "t(0.3) :: p :- p, q. t(0.5) :: p. t(0.2) :: p :- fail. t(0.6) :: q. t(0.4) :: q :- p."


def forward(rolls: list[str]) -> float:
    """The forward algorithm, by hand."""
    emit = {"fair": {"6": 0.2, "low": 0.8}, "loaded": {"6": 0.9, "low": 0.1}}
    go = {"fair": {"fair": 0.9, "loaded": 0.1}, "loaded": {"fair": 0.2, "loaded": 0.8}}
    alpha = {"fair": 0.6, "loaded": 0.4}
    for r in rolls:
        weighed = {s: a * emit[s][r] for s, a in alpha.items()}
        alpha = {t: sum(weighed[s] * go[s][t] for s in weighed) for t in go}
    return sum(alpha.values())


@pytest.mark.parametrize("form", ["auto", "graph", "steps"])
def test_a_hidden_markov_model(form: Form) -> None:
    found, _ = run(HMM, "game([6, low, low, 6, 6, low])", 6, RUNS, form)
    within_four_sigma(found.log_p.exp(), forward(["6", "low", "low", "6", "6", "low"]))


def gradients(found: Survivors, model: dpl.Model) -> Tensor:
    """[runs, labels] p̂ · ∇ Σ_k W_k log p(d_k) of each run."""
    likely = found.pseudo_likelihood()
    eye = torch.eye(len(likely), dtype=likely.dtype)
    [each] = torch.autograd.grad(likely, [model.labels.logits], eye, is_grads_batched=True)
    return each * found.log_p.exp()[:, None]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("form", ["auto", "graph", "steps"])
@pytest.mark.parametrize(("text", "query"), [(HMM, GAME), (BRANCHES, "p")], ids=["hmm", "branches"])
def test_the_survivors_gradient_is_unbiased(
    text: str, query: str, form: Form, variant: str
) -> None:
    """E[p̂ · Σ_k W_k ∇ log p(d_k)] = ∇ p_success, which exact inference gives.

    The gradient counts how often each label is used: derivations, not only their number, come as
    often as they should, in all forms alike.
    """
    found, model = run(text, query, 4, 300, form, seed=3, **VARIANTS[variant])
    model.log_prob([query]).exp().sum().backward()
    expected = model.labels.logits.grad
    assert expected is not None
    within_four_sigma(gradients(found, model), expected)


def test_looking_to_the_end_leaves_no_variance() -> None:
    """With h = V every step is drawn from the posterior and every weight is p_success."""
    found, _ = run(HMM, GAME, 3, 50, "graph", look_ahead=steps_ahead(40))
    exact = forward(["6", "low", "6", "6"])
    assert found.log_p.exp().tolist() == pytest.approx([exact] * 50, rel=1e-9)
    assert found.effective.tolist() == pytest.approx([3.0] * 50)


def test_a_look_ahead_that_is_wrong_is_corrected() -> None:
    """Any h gives the same expectation; NaN and −inf count as no opinion."""

    def odd(arena: Arena) -> Tensor:
        values = torch.sin(torch.arange(len(arena.begin), dtype=torch.float64))
        values[::5] = -torch.inf
        values[::7] = torch.nan
        return values

    found, _ = run(HMM, GAME, 8, RUNS, "graph", look_ahead=odd)
    within_four_sigma(found.log_p.exp(), forward(["6", "low", "6", "6"]))


def test_resampling_waits_for_half() -> None:
    rolls = ",".join(["6", "low"] * 15)
    half, _ = run(HMM, f"game([{rolls}])", 32, 20)
    never, _ = run(HMM, f"game([{rolls}])", 32, 20, resample_below=0.0)
    always, _ = run(HMM, f"game([{rolls}])", 32, 20, resample_below=2.0)
    assert int(never.resampled.sum()) == 0
    assert 0 < float(half.resampled.double().mean()) < float(always.resampled.double().mean()) / 2
    # Never below half for long: what is left at the end is no single particle.
    assert float(never.effective.mean()) < float(half.effective.mean())


def test_equal_weights_are_never_resampled() -> None:
    found, _ = run("0.5 :: p :- p. 0.5 :: p.", "p", 16, 10, resample_below=0.999)
    assert int(found.resampled.sum()) == 0
    assert found.log_p.exp().tolist() == pytest.approx([1.0] * 10)


def test_systematic_copies() -> None:
    """A particle of weight W gets ⌊K W⌋ or ⌈K W⌉ copies, K W on average."""
    weights = torch.tensor([0.5, 0.31, 0.0, 0.19], dtype=torch.float64)
    offsets = torch.arange(1000, dtype=torch.float64) / 1000
    ancestors = systematic(weights.expand(1000, 4).contiguous(), offsets)
    counts = torch.nn.functional.one_hot(ancestors, 4).sum(1).double()
    assert bool(((counts - 4 * weights).abs() < 1).all())
    assert counts.mean(0).tolist() == pytest.approx((4 * weights).tolist(), abs=2e-3)


def test_the_effective_sample_size() -> None:
    weights = torch.tensor([[0.25] * 4, [1.0, 0, 0, 0], [0.0] * 4], dtype=torch.float64)
    assert effective_size(weights).tolist() == pytest.approx([4.0, 1.0, 0.0])


def test_drawing_by_groups() -> None:
    """Frequencies are the weights; a weight of 0 is never drawn, whatever the random number."""
    weights = torch.tensor([0.0, 0.2, 0.6, 0.0, 0.5, 0.0], dtype=torch.float64).log()
    group = torch.tensor([0, 0, 0, 0, 2, 2])
    table = groups(weights, group, torch.tensor([0, 4, 4]), torch.tensor([4, 4, 6]))
    assert table.mass.exp().tolist() == pytest.approx([0.8, 0.0, 0.5])
    points = torch.cat([torch.arange(1000) / 1000, torch.tensor([1 - 2**-53])]).double()
    drawn = table.draw(torch.zeros(1001, dtype=torch.int64), points)
    counts = torch.bincount(drawn, minlength=6).tolist()
    assert counts == pytest.approx([0, 250, 750, 0, 0, 0], abs=1)
    assert set(drawn.tolist()) == {1, 2}
    assert set(table.draw(torch.full((1001,), 2), points).tolist()) == {4}


# -- degenerate cases ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["auto", "graph", "steps"])
def test_no_derivation_is_probability_0_and_said(form: Form) -> None:
    model = dpl.Model(dpl.Program("t(0.4) :: p(a). t(0.6) :: p(b). q(X) :- p(X)."))
    batch = paths(model, ["q(c)", "q(a)"], form=form)
    loss, log_p, found = smc_loss(model, batch, 8)
    assert log_p[0].item() == -math.inf
    assert log_p[1].exp().item() == pytest.approx(0.4)
    assert found.lost == 1
    # By single steps it is not known beforehand that there is no derivation.
    assert found.unprovable == (0 if form == "steps" else 1)
    assert loss.item() == pytest.approx(-math.log(0.4))
    loss.backward()
    grad = model.labels.logits.grad
    assert grad is not None
    assert grad.tolist() == pytest.approx([-0.6, 0.6])


def test_nothing_is_proved_at_all() -> None:
    model = dpl.Model(dpl.Program("t(1.0) :: p(a). q(X) :- p(X)."))
    loss, log_p, found = smc_loss(model, ["q(c)"], 8, backward=True)
    assert (loss.item(), log_p.tolist(), found.lost) == (0.0, [-math.inf], 1)
    loss.backward()


@pytest.mark.parametrize("form", ["auto", "graph", "steps"])
def test_one_particle(form: Form) -> None:
    text, query, p = PROGRAMS["two ways"]
    found, _ = run(text, query, 1, RUNS, form)
    within_four_sigma(found.log_p.exp(), p)


@pytest.mark.parametrize("form", ["auto", "graph", "steps"])
def test_a_deterministic_program(form: Form) -> None:
    text = "len([], 0). len([_|T], N) :- len(T, M), N is M + 1."
    found, _ = run(text, "len([a,b,c], 3)", 1, 1, form)
    assert found.log_p.tolist() == [0.0]


def test_an_impossible_label_is_not_drawn() -> None:
    """A weight of 0 in a live structure: its particles never take the step."""
    found, _ = run("0.0 :: p :- q. 0.4 :: p. q.", "p", 50, 20, "graph")
    assert found.log_p.exp().tolist() == pytest.approx([0.4] * 20)


def test_being_cut_off_is_said() -> None:
    """½ + ¼ + ⅛ is found within three steps; the rest of the mass is in particles under way."""
    text = "0.5 :: p :- p. 0.5 :: p."
    found, _ = run(text, "p", 4, RUNS, "graph", resample_below=0.0, max_steps=3)
    assert bool(found.cut_off.any())
    within_four_sigma(found.log_p.exp(), 0.875)


# -- addition --------------------------------------------------------------------------------------

ADDITION = """
nn(digits, [X], D, 0..9) :: digit(X, D).
add([], [], [], 0).
add([], [], [1], 1).
add([X|Xs], [Y|Ys], [Z|Zs], C) :-
    digit(X, A), digit(Y, B), S is A + B + C, Z is S mod 10, C1 is S // 10, add(Xs, Ys, Zs, C1).
"""
Pictures = Callable[[Tensor], Tensor]


def sums(digits: Tensor, pictures: Tensor) -> list[dpl.Query]:
    """Goals for digits [Q, 2, N], the least significant first."""
    goals = []
    for (a, b), (x, y) in zip(digits.tolist(), pictures, strict=True):
        total = sum((d + e) * 10**i for i, (d, e) in enumerate(zip(a, b, strict=True)))
        written = [int(c) for c in reversed(f"{total:0{len(a)}d}")]
        goals.append(dpl.goal("add(X, Y, Z, 0)", X=list(x), Y=list(y), Z=written))
    return goals


def additions(n: int, queries: int) -> tuple[dpl.Model, list[dpl.Query], Tensor, Tensor]:
    """A model with an untrained network, and sums of noisy codes of eight numbers."""
    torch.manual_seed(n)
    digits = torch.randint(0, 10, (queries, 2, n))
    pictures = torch.randn(10, 8)[digits] + 0.3 * torch.randn(queries, 2, n, 8)
    net = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    model = dpl.Model(dpl.Program(ADDITION), networks={"digits": net})
    return model, sums(digits, pictures), digits, pictures


@pytest.mark.parametrize("n", [1, 30])
def test_additions_agree_with_exact_inference(n: int) -> None:
    """p̂ / p averages to 1: at n = 30 each p is about 10⁻³⁰."""
    model, goals, _, _ = additions(n, 12)
    exact = model.log_prob(goals).detach()
    batch = paths(model, goals)
    select = torch.arange(12).repeat(30)
    log_p, found = smc_log_prob(model, batch, 16, select=select, generator=generator())
    assert found.lost == 0
    assert found.steps == n
    within_four_sigma((log_p.detach() - exact[select]).exp().reshape(30, 12), 1.0)


def test_ways_from_goal_to_goal_are_taken_together() -> None:
    """In a sum of one digit every pair of digits leads to the same goal: one particle knows all."""
    model, goals, _, _ = additions(1, queries=6)
    log_p, _ = smc_log_prob(model, goals, particles=1, generator=generator())
    exact = model.log_prob(goals)
    assert log_p.tolist() == pytest.approx(exact.tolist())
    weights = [p for p in model.parameters() if p.numel()]
    ours = torch.autograd.grad(log_p.sum(), weights)
    theirs = torch.autograd.grad(exact.sum(), weights)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b)


def test_the_forms_agree_on_additions() -> None:
    """The same expectation by unfolded columns, by goal graphs and by single steps."""
    model, goals, _, _ = additions(2, 3)
    exact = model.log_prob(goals).detach()
    forms: list[Form] = ["auto", "graph", "steps"]
    for form in forms:
        batch = paths(model, goals, form=form)
        select = torch.arange(3).repeat(80)
        log_p, _ = smc_log_prob(model, batch, 8, select=select, generator=generator(1))
        within_four_sigma((log_p.detach() - exact[select]).exp().reshape(80, 3), 1.0)


def test_selection_bank_and_device() -> None:
    model, goals, digits, pictures = additions(3, 6)
    batch = paths(model, goals)
    exact = model.log_prob(goals).detach()
    ahead = {"look_ahead": steps_ahead(9)}
    log_p, _ = smc_log_prob(model, batch, 2, select=[4, 1, 4], **ahead)  # type: ignore[arg-type]
    assert log_p.tolist() == pytest.approx(exact[[4, 1, 4]].tolist())
    other = torch.randn_like(pictures)
    moved = batch.with_bank(other.reshape(-1, 8)).to("cpu")
    log_p, _ = smc_log_prob(model, moved, 2, **ahead)  # type: ignore[arg-type]
    assert log_p.tolist() == pytest.approx(model.log_prob(sums(digits, other)).tolist())
    with pytest.raises(dpl.ProofLogError, match="36 tensors"):
        batch.with_bank(other.reshape(-1, 8)[:5])


def test_sums_of_different_lengths_in_one_batch() -> None:
    model, goals, _, _ = additions(2, 2)
    _, longer, _, _ = additions(5, 2)
    mixed = [goals[0], longer[0], goals[1], longer[1]]
    log_p, found = smc_log_prob(model, mixed, 4, look_ahead=steps_ahead(9))
    assert log_p.tolist() == pytest.approx(model.log_prob(mixed).tolist())
    assert found.steps == 5


def test_a_scorer_of_whole_goals() -> None:
    """Any scorer: the embedding model's p_success, from steps it renormalises."""
    torch.manual_seed(0)
    text = "p(X) :- q(X, Y), p(Y). p(X) :- r(X). q(a, b). q(b, a). q(a, c). r(c). r(a)."
    program = dpl.Program(text)
    model = dpl.Model(program, scorer=dpl.Embedding(program, dim=6, seed=0))
    exact = model.prob("p(a)")
    forms: list[Form] = ["graph", "steps"]
    for form in forms:
        batch = paths(model, ["p(a)"], form=form)
        log_p, _ = smc_log_prob(model, batch, 4, select=[0] * 400, generator=generator(2))
        within_four_sigma(log_p.detach().exp(), exact)


def test_learning_digits_from_sums() -> None:
    model, goals, digits, pictures = additions(2, 128)
    batch = paths(model, goals)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    draw = generator()
    for _ in range(40):
        for which in torch.randperm(128, generator=draw).split(64):
            loss, _, _ = smc_loss(model, batch, 16, select=which, generator=draw)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    guessed = model.networks["digits"].module(pictures).argmax(-1)  # type: ignore[operator]
    assert float((guessed == digits).double().mean()) > 0.95
