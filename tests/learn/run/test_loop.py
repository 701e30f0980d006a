"""The training loop: which weights it keeps, when it ends, and that a resumed run is the run."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from deepprooflog.device import seeded
from deepprooflog.errors import DataError, ModelError, Stopped
from deepprooflog.learn.run import checkpoint
from deepprooflog.learn.run import loop as module
from deepprooflog.learn.run.average import Average
from deepprooflog.learn.run.descent import Descent
from deepprooflog.learn.run.loop import Loop, Row, Trainer
from deepprooflog.learn.run.progress import Progress
from fuzz.fuzz_checkpoints import same


class Counter(Trainer):
    """A weight that is the number of steps taken, and rows that say which."""

    def __init__(self) -> None:
        self.module = nn.Linear(1, 1, bias=False)
        nn.init.zeros_(self.module.weight)
        self.taken: list[int] = []

    def step(self, done: int) -> str:
        self.taken.append(done)
        next(self.module.parameters()).data += 1
        return "counting"

    def row(self) -> Row:
        steps, self.taken = len(self.taken), []
        return {"steps": steps}

    def state(self) -> dict[str, Any]:
        return {"weights": self.module.state_dict(), "taken": self.taken}

    def restore(self, state: dict[str, Any]) -> None:
        checkpoint.restore_module(self.module, state["weights"])
        self.taken = state["taken"]


def weight(loop: Loop) -> float:
    return float(next(loop.trainer.module.parameters()).detach().sum())


# -- which weights are kept ------------------------------------------------------------------------

LEVELS = st.sampled_from([math.nan, -math.inf, 0.0, 0.5, 1.0])


@given(st.lists(LEVELS, min_size=1, max_size=8))
@settings(max_examples=60)
def test_the_first_of_the_highest_looks_is_kept(values: list[float]) -> None:
    """Also the untrained weights'; without one that is a number the last weights stay."""
    looks = iter(values)
    loop = Loop(Counter(), steps=len(values) - 1, validate=lambda: next(looks))
    learned = loop.run()
    numbers = [v for v in values if v > -math.inf]
    if numbers:
        assert learned.best == max(numbers)
        assert learned.best_step == values.index(max(numbers))
    else:
        assert math.isnan(learned.best)
        assert learned.best_step == len(values) - 1
    assert weight(loop) == learned.best_step
    recorded = [row["validation"] for row in learned.history]
    assert recorded == pytest.approx(values[1:], nan_ok=True)


def test_without_a_validation_the_last_weights_are_kept() -> None:
    loop = Loop(Counter(), steps=5, row_every=2, patience=1)
    learned = loop.run()
    assert (learned.steps, learned.best_step, weight(loop)) == (5, 5, 5)
    assert [(row["step"], row["steps"]) for row in learned.history] == [(2, 2), (4, 2), (5, 1)]


def test_the_last_look_can_be_kept() -> None:
    loop = Loop(Counter(), steps=4, validate=lambda: -weight(loop), keep_last=True)
    assert loop.run().best_step == 4
    assert weight(loop) == 4


def test_looks_between_rows_and_patience_in_rows() -> None:
    """A look every second row and at the end; three rows without a better one end the run."""
    values = iter([0.0, 2.0, 1.0, 1.0, 1.0])
    rows: list[Row] = []
    loop = Loop(
        Counter(), steps=30, row_every=3, unit="epoch", validate=lambda: next(values),
        validate_every=2, patience=3,
    )  # fmt: skip
    learned = loop.run(on_row=rows.append)
    assert rows == learned.history
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row["epoch"] for row in rows if "validation" in row] == [2, 4, 6]
    assert (learned.steps, learned.best_step) == (18, 6)


def test_the_average_is_what_is_looked_at_and_kept() -> None:
    trainer = Counter()
    loop = Loop(
        trainer, steps=1, average=Average(trainer.module, 0.9), validate=lambda: weight(loop)
    )
    loop.run()
    # λ̄ = d·0 + (1 − d)·1 with d = 2/11.
    assert weight(loop) == pytest.approx(9 / 11)


def test_a_look_may_name_its_entries() -> None:
    loop = Loop(Counter(), steps=1, validate=lambda: (-3.0, {"validation_loss": 3.0}))
    assert loop.run().history[0]["validation_loss"] == 3.0
    assert loop.best["value"] == -3.0


# -- a resumed run is the run ----------------------------------------------------------------------


class Ended(Exception):
    pass


class Until(Progress):
    """Progress that does something once so many steps are done."""

    def __init__(self, after: int, act: Callable[[], object]) -> None:
        super().__init__(after)
        self.after, self.act = after, act

    def update(self, done: int, text: str) -> None:
        if done == self.after:
            self.act()


def noisy(path: Path | None, **given: Any) -> Loop:
    """Minibatches, noise in the loss and in the validation, averaged weights."""
    net = nn.Linear(2, 1)
    nn.init.constant_(net.weight, 0.5)
    x = torch.arange(22.0).reshape(11, 2) / 10

    def losses(batch: Tensor) -> Tensor:
        inputs = x[batch] + 0.1 * torch.randn(len(batch), 2)
        return torch.as_tensor((net(inputs)[:, 0] - inputs.sum(1)).square())

    def validate() -> float:
        return -float(losses(torch.arange(11)).mean())

    trainer = Descent(
        net, losses, torch.optim.Adam(net.parameters(), lr=0.05), 11, batch=4, epochs=True,
        rate=lambda done: 0.05 / (1 + done),
    )  # fmt: skip
    return Loop(
        trainer, steps=12, row_every=3, unit="epoch", validate=validate, path=path,
        average=Average(net, 0.9), options={"lr": 0.05}, **given,
    )  # fmt: skip


def end_of(loop: Loop) -> Any:
    rows = [{k: v for k, v in row.items() if k != "seconds"} for row in loop.history]
    return loop.trainer.module.state_dict(), loop.best, rows


@pytest.fixture(scope="module")
def whole() -> Any:
    with seeded(3, torch.device("cpu")):
        loop = noisy(None)
        loop.run()
        return end_of(loop)


def raised() -> None:
    raise Ended


@pytest.mark.parametrize("after", range(2, 13))
def test_killed_and_resumed_bit_by_bit(
    after: int, whole: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkpoint is that of the step before, in the midst of an epoch too."""
    monkeypatch.setattr(module, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    path = tmp_path / "run.pt"
    with seeded(3, torch.device("cpu")), pytest.raises(Ended):
        noisy(path).run(Until(after, raised))
    with seeded(99, torch.device("cpu")):
        loop = noisy(path)
        loop.resume()
        assert loop.step == after - 1
        loop.run()
    assert same(end_of(loop), whole)


def _interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def _own_handlers() -> Any:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_own_handlers")
@pytest.mark.parametrize("look", [1, 2, 3, 5])
def test_a_signal_in_a_look_that_draws_random_numbers(
    look: int, whole: Any, tmp_path: Path
) -> None:
    """What the look had drawn is drawn again, and the average is not left in the weights' place."""
    path = tmp_path / "run.pt"
    looks = 0
    with seeded(3, torch.device("cpu")):
        loop = noisy(path)
        validate = loop.validate
        assert validate is not None

        def signalled() -> Any:
            nonlocal looks
            looks += 1
            found = validate()
            if looks == look:
                signal.raise_signal(signal.SIGINT)
            return found

        loop.validate = signalled
        with pytest.raises(Stopped):
            loop.run()
    with seeded(99, torch.device("cpu")):
        loop = noisy(path)
        loop.resume()
        loop.run()
    assert same(end_of(loop), whole)


@pytest.mark.usefixtures("_own_handlers")
def test_a_signal_saves_the_step_in_hand(whole: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.pt"
    with seeded(3, torch.device("cpu")), pytest.raises(Stopped):
        noisy(path).run(Until(5, _interrupt))
    loop = noisy(path)
    loop.resume()
    assert loop.step == 5
    with torch.random.fork_rng():
        loop.resume()
        loop.run()
    assert same(end_of(loop), whole)


def test_an_ended_run_is_read_and_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "run.pt"
    first = noisy(path)
    first.run()
    raw = path.read_bytes()
    again = noisy(path)
    again.resume()
    assert again.ended
    again.run()
    assert path.read_bytes() == raw
    assert same(end_of(again), end_of(first))


def test_a_run_without_steps_leaves_its_weights(tmp_path: Path) -> None:
    """As any other run does: whoever reads the checkpoint finds the best weights in it."""
    Loop(Counter(), steps=0, path=tmp_path / "run.pt").run()
    state = checkpoint.load(tmp_path / "run.pt", module.SHAPE)
    assert state["best"]["weights"].keys() == {"weight"}


def test_other_options_and_other_modules_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.pt"
    options = {"lr": 0.1, "seed": 3}
    Loop(Counter(), steps=2, path=path, options=options).run()
    with pytest.raises(DataError, match="trained with another seed"):
        Loop(Counter(), steps=2, path=path, options={**options, "seed": 4}).resume()
    other = Counter()
    other.module = nn.Linear(2, 1, bias=False)
    with pytest.raises(DataError, match="does not fit this model: "):
        Loop(other, steps=2, path=path, options=options).resume()
    with pytest.raises(DataError, match="does not fit this model: step 2 of 1"):
        Loop(Counter(), steps=1, path=path, options=options).resume()


def test_a_step_that_fails_leaves_the_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    path = tmp_path / "run.pt"
    net = nn.Linear(1, 1)

    def losses(batch: Tensor) -> Tensor:
        bad = math.nan if loop.step == 3 else 1.0
        return torch.as_tensor(bad * net(torch.ones(len(batch), 1))[:, 0])

    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    loop = Loop(Descent(net, losses, optimizer, 6, batch=2), steps=5, path=path)
    with pytest.raises(ModelError, match=r"the loss of . is nan"):
        loop.run()
    assert checkpoint.load(path, module.SHAPE)["step"] == 3


@pytest.mark.parametrize(("takes", "between"), [(0.5, 30), (1.5, 30), (6.0, 120)])
def test_a_large_checkpoint_is_written_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, takes: float, between: int
) -> None:
    """A step is a second of a clock that only steps and writing move: 5 % of it at most."""
    clock, saved = [0.0], list[float]()

    def save(path: Path, state: Any) -> None:
        clock[0] += takes
        saved.append(clock[0])

    class Slow(Counter):
        def step(self, done: int) -> str:
            clock[0] += 1.0
            return super().step(done)

    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(checkpoint, "save", save)
    Loop(Slow(), steps=400, row_every=400, path=tmp_path / "run.pt").run()
    apart = [later - takes - sooner for sooner, later in pairwise(saved[1:-1])]
    assert len(apart) >= 2 and apart == [between] * len(apart)


def test_the_line_of_progress(tmp_path: Path) -> None:
    lines: list[str] = []

    class Kept(Progress):
        def update(self, done: int, text: str) -> None:
            lines.append(text)

    Loop(Counter(), steps=4, row_every=2, unit="epoch", validate=lambda: 0.25).run(Kept(4))
    assert lines == [f"epoch {e}/2  counting  validation 0.2500" for e in (1, 1, 2, 2)]
