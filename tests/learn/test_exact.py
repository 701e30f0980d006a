"""Fitting by exact gradients: published estimates, closed forms, and what may go wrong."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

import deepprooflog as dpl
from deepprooflog.learn import fit, losses

CUSSENS = """
t(0.5) :: s(X, p) :- p(X), p(X).
t(0.5) :: s(X, q) :- q(X).
t(0.5) :: p(a).  t(0.5) :: p(b).
t(0.4) :: q(a).  t(0.6) :: q(b).
"""
SEEN = {"s(a, p)": 4, "s(a, q)": 3, "s(b, p)": 2, "s(b, q)": 3}
ESTIMATES = [0.6602, 0.3398, 0.5858, 0.4142, 0.5, 0.5]


def test_cussens_maximum_likelihood_example() -> None:
    """Failure-adjusted maximisation's estimates, by conditioning on success."""
    model = dpl.Model(dpl.Program(CUSSENS))
    history = fit(model, SEEN, given="s(X, Y)", optimizer="lbfgs")
    assert model.labels.values().tolist() == pytest.approx(ESTIMATES, abs=5e-5)
    assert history.converged
    # p: √(4/2) = p(a)/p(b), so p(a) = √2/(1 + √2); the rest follows.
    assert model.labels.values()[2].item() == pytest.approx(2 - math.sqrt(2), abs=1e-6)


def test_adam_and_mini_batches_come_near_the_same_estimates() -> None:
    model = dpl.Model(dpl.Program(CUSSENS))
    rows = [goal for goal, n in SEEN.items() for _ in range(n)]
    fit(model, rows, given="s(X, Y)", epochs=150, lr=0.03)
    assert model.labels.values().tolist() == pytest.approx(ESTIMATES, abs=2e-3)
    fit(model, rows, given=["s(X, Y)"] * len(rows), epochs=20, lr=0.003, batch_size=4)
    assert model.labels.values().tolist() == pytest.approx(ESTIMATES, abs=0.05)


def test_a_grammar_with_one_derivation_each_is_fitted_by_counting() -> None:
    """S → a S | b S | a | b: relative frequencies of the rules in the sentences' derivations."""
    program = dpl.Program(
        """
        t(0.25) :: s --> [a], s.   t(0.25) :: s --> [b], s.
        t(0.25) :: s --> [a].      t(0.25) :: s --> [b].
        """
    )
    sentences = {"ab": 3, "aab": 2, "b": 4, "ba": 1}
    counts = {"aS": 0, "bS": 0, "a": 0, "b": 0}
    for sentence, n in sentences.items():
        for letter in sentence[:-1]:
            counts[letter + "S"] += n
        counts[sentence[-1]] += n
    expected = [c / sum(counts.values()) for c in counts.values()]
    model = dpl.Model(program)
    fit(model, {f"s([{','.join(w)}], [])": n for w, n in sentences.items()}, optimizer="lbfgs")
    assert model.labels.values().tolist() == pytest.approx(expected, abs=1e-6)


def test_rows_of_a_chain_are_distributions_of_their_own() -> None:
    """A Markov chain whose states are seen: transition frequencies, row by row."""
    program = dpl.Program(
        """
        t(0.5) :: next(sun, sun).   t(0.5) :: next(sun, rain).
        t(0.5) :: next(rain, sun).  t(0.3) :: next(rain, rain).  t(0.2) :: next(rain, snow).
        walk([_]).
        walk([X, Y | Rest]) :- next(X, Y), walk([Y | Rest]).
        """
    )
    walks = {"walk([sun, sun, rain, rain, sun])": 2, "walk([rain, snow])": 3}
    model = dpl.Model(program)
    fit(model, walks, optimizer="lbfgs")
    # From sun: 2 to sun, 2 to rain. From rain: 2 to sun, 2 to rain, 3 to snow.
    expected = [0.5, 0.5, 2 / 7, 2 / 7, 3 / 7]
    assert model.labels.values().tolist() == pytest.approx(expected, abs=1e-6)


def test_a_recursion_is_fitted_through_its_tables() -> None:
    """p ← p, p dies out with (1 − π)/π = 0.8 seen 8 times in 10: π = 5/9 by cross-entropy."""
    model = dpl.Model(dpl.Program("t(0.7) :: p :- p, p. t(0.3) :: p."))
    data = [("p", 1, 8), ("p", 0, 2)]
    fit(model, data, loss="cross_entropy", epochs=400, lr=0.02)
    assert model.labels.values()[0].item() == pytest.approx(5 / 9, abs=1e-5)


def test_the_papers_objective_separates_positive_from_negative() -> None:
    model = dpl.Model(dpl.Program("t(0.5) :: p(a). t(0.3) :: p(b). t(0.2) :: p(c)."))
    history = fit(model, [("p(a)", 0), ("p(b)", 1)], loss="linear", epochs=300, lr=0.1)
    assert model.log_prob(["p(b)"]).exp().item() > 0.95
    assert history.losses[0] == pytest.approx((0.5 - 0.3) / 2)
    assert history.losses[-1] < -0.45


def test_a_network_learns_digits_from_their_sums() -> None:
    """Four symbols, seen only in pairs with their sum; the network tells them apart afterwards."""
    torch.manual_seed(1)
    text = "nn(net, [X], D, 0..3) :: d(X, D). add(X, Y, Z) :- d(X, A), d(Y, B), Z is A + B."
    network = nn.Linear(4, 4)
    model = dpl.Model(dpl.Program(text), networks={"net": network})
    symbols = list(torch.eye(4))
    data = [
        dpl.goal("add(X, Y, Z)", X=symbols[a], Y=symbols[b], Z=a + b)
        for a in range(4)
        for b in range(4)
    ]
    history = fit(model, data, epochs=200, lr=0.05, batch_size=8)
    assert network(torch.eye(4)).argmax(1).tolist() == [0, 1, 2, 3]
    assert history.losses[-1] < 0.1 < history.losses[0]


def test_the_same_seed_gives_the_same_fit() -> None:
    def fitted(seed: int) -> list[float]:
        model = dpl.Model(dpl.Program(CUSSENS))
        rows = [goal for goal, n in SEEN.items() for _ in range(n)]
        fit(model, rows, epochs=5, batch_size=3, seed=seed)
        return model.labels.values().tolist()

    assert fitted(0) == fitted(0)
    assert fitted(0) != fitted(1)


def test_a_loss_and_an_optimizer_of_ones_own() -> None:
    """Squared error to ¾ by plain gradient descent."""
    model = dpl.Model(dpl.Program("t(0.5) :: p. t(0.5) :: p :- fail."))
    fit(
        model,
        ["p"],
        loss=lambda log_p, y: (log_p.exp() - 0.75) ** 2,
        optimizer=lambda parameters: torch.optim.SGD(parameters, lr=2.0),
        epochs=500,
    )
    assert model.log_prob(["p"]).exp().item() == pytest.approx(0.75, abs=1e-4)


def test_a_callback_sees_each_epoch_and_may_end_the_fit() -> None:
    seen: list[tuple[int, float]] = []

    def callback(epoch: int, loss: float) -> bool:
        seen.append((epoch, loss))
        return epoch == 4

    model = dpl.Model(dpl.Program(CUSSENS))
    history = fit(model, SEEN, epochs=50, callback=callback)
    assert [epoch for epoch, _ in seen] == [0, 1, 2, 3, 4]
    assert history.losses == tuple(loss for _, loss in seen)
    assert not history.converged


def test_progress_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    fit(dpl.Model(dpl.Program(CUSSENS)), SEEN, epochs=2, progress=True)
    out, err = capsys.readouterr()
    assert not out
    assert "epoch 2/2  loss" in err


ONE_SIDED = "t(0.5) :: p(a). t(0.5) :: p(b). q :- p(c)."


def test_an_impossible_example_is_an_error_by_default() -> None:
    model = dpl.Model(dpl.Program(ONE_SIDED))
    with pytest.raises(dpl.ModelError, match="holds q to be impossible"):
        fit(model, ["p(a)", "q"])
    certain = dpl.Model(dpl.Program(ONE_SIDED + " r."))
    with pytest.raises(dpl.ModelError, match="holds r to be certain"):
        fit(certain, [("p(a)", 1), ("r", 0)], loss="cross_entropy")


def test_impossible_examples_can_be_skipped_and_are_counted() -> None:
    model = dpl.Model(dpl.Program(ONE_SIDED))
    history = fit(model, {"p(a)": 3, "p(b)": 1, "q": 5}, optimizer="lbfgs", impossible="skip")
    assert history.skipped == 1
    assert model.labels.values().tolist() == pytest.approx([0.75, 0.25], abs=1e-6)
    assert history.losses[0] == pytest.approx(math.log(2))
    history = fit(model, {"p(a)": 3, "q": 5}, epochs=1, impossible="inf")
    assert history.losses == (math.inf,)
    program = dpl.Program("t(0.5) :: p(a, 1). t(0.5) :: p(b, 1). 0 :: z. q :- p(a, X), z.")
    with pytest.raises(dpl.ModelError, match="every example"):
        fit(dpl.Model(program), ["q"], impossible="skip")


class Broken(nn.Module):
    """Finite outputs whose gradient is NaN: the root of 0, taken 0 times."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.zeros(2))

    def forward(self, x: Tensor) -> Tensor:
        return (self.w.sqrt() * 0).expand(len(x), 2)


def test_a_gradient_that_is_not_finite_never_reaches_the_weights() -> None:
    network = Broken()
    program = dpl.Program("nn(net, [X], D, [a, b]) :: d(X, D).")
    model = dpl.Model(program, networks={"net": network})
    goal = dpl.goal("d(X, a)", X=torch.zeros(1))
    with pytest.raises(dpl.ModelError, match=r"gradient of networks\.net\.module\.w is not finite"):
        fit(model, [goal])
    assert network.w.tolist() == [0.0, 0.0]


def test_a_loss_that_is_nan_names_the_goal() -> None:
    model = dpl.Model(dpl.Program(ONE_SIDED))
    with pytest.raises(dpl.ModelError, match=r"loss of p\(b\) is nan"):
        fit(model, ["p(a)", "p(b)"], loss=lambda log_p, y: log_p * torch.tensor([1.0, math.nan]))
    assert model.labels.values().tolist() == [0.5, 0.5]


def test_a_step_too_far_is_taken_back() -> None:
    model = dpl.Model(dpl.Program(ONE_SIDED))
    with pytest.raises(dpl.ModelError, match="smaller lr"):
        fit(model, ["p(a)"], optimizer=lambda p: torch.optim.SGD(p, lr=math.inf))
    assert model.labels.values().tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data": []}, "no examples"),
        ({"data": [("p(a)", 0.5)]}, "label of p"),
        ({"data": [("p(a)", 1, -1.0)]}, "weight of p"),
        ({"data": [("p(a)", 0)]}, "nll is for positive examples"),
        ({"data": ["p(a)"], "loss": "hinge"}, "no loss 'hinge'"),
        ({"data": ["p(a)"], "optimizer": "sgdd"}, "no optimizer 'sgdd'"),
        ({"data": ["p(a)", "p(b)"], "optimizer": "lbfgs", "batch_size": 1}, "all examples at once"),
        ({"data": ["p(a)"], "batch_size": 0}, "empty"),
        ({"data": ["p(a)"], "given": ["p(X)", "p(Y)"]}, "1 examples have 2 conditions"),
        ({"data": ["r"]}, "does not depend on the model's parameters"),
    ],
)
def test_mistakes_are_named(arguments: dict[str, object], message: str) -> None:
    model = dpl.Model(dpl.Program(ONE_SIDED + " 0.5 :: r."))
    # The wrong names among the arguments are what is tested, so types are not checked here.
    unchecked = getattr(fit, "__wrapped__", fit)
    with pytest.raises(dpl.ModelError, match=message):
        unchecked(model, **arguments)  # type: ignore[arg-type]


def test_a_model_without_parameters_cannot_be_fitted() -> None:
    with pytest.raises(dpl.ModelError, match="no parameters"):
        fit(dpl.Model(dpl.Program("0.5 :: p.")), ["p"])


def test_the_mode_of_the_model_is_left_as_it_was() -> None:
    model = dpl.Model(dpl.Program(CUSSENS)).eval()
    fit(model, SEEN, epochs=1)
    assert not model.training


def test_conditional_nll_is_what_given_minimises() -> None:
    model = dpl.Model(dpl.Program(CUSSENS))
    goals = list(SEEN)
    weights = torch.tensor(list(SEEN.values()), dtype=torch.float64)
    log_p, log_z = model.log_prob(goals), model.log_prob(["s(X, Y)"])
    each = losses.conditional_nll(log_p, log_z.expand(len(goals)))
    history = fit(model, SEEN, given="s(X, Y)", epochs=1)
    assert history.losses[0] == pytest.approx((each * weights).sum().item() / 12)


class Observed(torch.utils.data.Dataset[object]):
    """p(a) three times and p(b) once, with or without labels."""

    def __init__(self, labels: bool) -> None:
        goals = ["p(a)", "p(a)", "p(b)", "p(a)"]
        self.rows: list[object] = [(g, 1) for g in goals] if labels else list(goals)

    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> object:
        return self.rows[i]


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("collate", [None, list])
def test_a_loader_of_batches(labels: bool, collate: object) -> None:
    """In any form its batches come: put together in columns, or as lists of examples."""
    loader = torch.utils.data.DataLoader(
        Observed(labels),
        batch_size=2,
        collate_fn=collate,  # type: ignore[arg-type]
    )
    model = dpl.Model(dpl.Program("t(0.5) :: p(a). t(0.5) :: p(b)."))
    fit(model, loader, optimizer="lbfgs", batch_size=4)
    assert model.prob("p(a)") == pytest.approx(0.75, abs=1e-4)


def test_what_is_no_example_is_named() -> None:
    model = dpl.Model(dpl.Program("t(0.5) :: p(a). t(0.5) :: p(b)."))
    for data in ([torch.ones(3)], [7], [[torch.ones(2), torch.ones(2)]]):
        with pytest.raises(dpl.ModelError, match="an example is a goal") as caught:
            fit(model, iter(data))  # type: ignore[arg-type]
        assert "collate_fn=list" in (caught.value.hint or "")
