"""Fitting to batches that stream: read anew each epoch, one at a time."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
import torch

import deepprooflog as dpl


class Draws:
    """Batches of three p(a) and one p(b); counts how often it is read."""

    def __init__(self) -> None:
        self.read = 0

    def __iter__(self) -> Iterator[list[str]]:
        self.read += 1
        for _ in range(5):
            yield ["p(a)", "p(a)", "p(b)", "p(a)"]


def coin() -> dpl.Model:
    return dpl.Model(dpl.Program("t(0.5) :: p(a). t(0.5) :: p(b)."))


def test_a_stream_is_read_each_epoch_and_fits_the_frequencies() -> None:
    model, draws = coin(), Draws()
    dpl.fit(model, draws, stream=True, epochs=60, lr=0.05, tolerance=0)
    assert draws.read == 60
    assert model.prob("p(a)") == pytest.approx(0.75, abs=1e-3)


def test_a_stream_of_one_batch_goes_as_the_whole() -> None:
    whole, stream = coin(), coin()
    batch = [("p(a)", 1), ("p(b)", 0), ("p(a)", 1)]
    for model, data, is_stream in ((whole, batch, False), (stream, [batch], True)):
        dpl.fit(model, data, loss="cross_entropy", epochs=7, stream=is_stream)
    assert whole.prob("p(a)") == pytest.approx(stream.prob("p(a)"), abs=1e-12)


def test_a_loader_of_goals_with_labels() -> None:
    loader: torch.utils.data.DataLoader[tuple[str, int]] = torch.utils.data.DataLoader(
        [("p(a)", 1), ("p(b)", 1), ("p(a)", 1), ("p(a)", 1)],  # type: ignore[arg-type]
        batch_size=4,
    )
    model = coin()
    dpl.fit(model, loader, stream=True, epochs=80, lr=0.05)
    assert model.prob("p(a)") == pytest.approx(0.75, abs=1e-2)


def test_batches_made_by_goals() -> None:
    program = dpl.Program("nn(net, [X], D, 0..1) :: bit(X, D).")
    net = torch.nn.Linear(1, 2)
    model = dpl.Model(program, networks={"net": net})
    bank = torch.tensor([[-1.0], [1.0]])
    batch = dpl.goals("bit(X, D)", bank=bank, X=torch.tensor([0, 1]), D=torch.tensor([0, 1]))
    wrong = dpl.goals("bit(X, D)", bank=bank, X=torch.tensor([0, 1]), D=torch.tensor([1, 0]))
    history = dpl.fit(
        model,
        [batch, (wrong, torch.zeros(2))],
        stream=True,
        loss="cross_entropy",
        epochs=200,
        lr=0.1,
    )
    assert history.losses[-1] < 0.05
    assert model.log_prob(batch).exp().min() > 0.9
    with pytest.raises(dpl.ModelError, match="label each"):
        dpl.fit(model, [(batch, torch.zeros(3))], stream=True)


def test_what_cannot_stream_is_refused() -> None:
    with pytest.raises(dpl.ModelError, match="read once"):
        dpl.fit(coin(), iter(Draws()), stream=True, epochs=2)
    dpl.fit(coin(), iter(Draws()), stream=True, epochs=1)
    with pytest.raises(dpl.ModelError, match="no examples"):
        dpl.fit(coin(), [], stream=True)
    with pytest.raises(dpl.ModelError, match="batches of its own"):
        dpl.fit(coin(), Draws(), stream=True, batch_size=4)
    with pytest.raises(dpl.ModelError, match="all examples"):
        dpl.fit(coin(), Draws(), stream=True, optimizer="lbfgs")


def test_memory_does_not_grow_with_a_stream() -> None:
    """No batch but the last is held, and tensors are as many after 60 batches as after 30.

    Every batch has other goals, of three shapes, which is what compiled forms are kept by.
    """
    program = dpl.Program(
        "nn(net, [X], D, 0..1) :: bit(X, D).\n"
        "sum([], 0). sum([X|Xs], S) :- bit(X, D), sum(Xs, T), S is D + T."
    )
    model = dpl.Model(program, networks={"net": torch.nn.Linear(1, 2)})
    bank, made = torch.randn(50, 1), list[weakref.ref[dpl.GoalBatch]]()
    drawn, alive, tensors = torch.Generator().manual_seed(0), list[int](), list[int]()

    def look() -> None:
        gc.collect()
        alive.append(sum(ref() is not None for ref in made))
        tensors.append(sum(issubclass(type(o), torch.Tensor) for o in gc.get_objects()))

    def batches() -> Iterator[dpl.GoalBatch]:
        for number in range(60):
            length = 1 + number % 3
            rows = torch.randint(50, (4, length), generator=drawn)
            sums = torch.randint(length + 1, (4,), generator=drawn)
            batch = dpl.goals("sum(X, S)", bank=bank, X=rows, S=sums)
            made.append(weakref.ref(batch))
            yield batch
            del batch
            if number in (29, 59):
                look()

    dpl.fit(model, batches(), stream=True, epochs=1)
    assert len(made) == 60 and max(alive) <= 1
    assert tensors[1] == tensors[0]
