"""Goals made anew for every step: a training step against the network alone, and its memory.

    python benchmarks/streaming.py                  # one CPU thread
    python benchmarks/streaming.py --steps 200      # fewer steps for the memory
    python benchmarks/streaming.py --goals 1_000_000    # only the memory of `fit` over a stream

Every step has new pictures and new sums. Measured in turn, in one run, each figure a median: the
network alone (forward and backward), goals over rows of a bank, goals with the tensors in them,
and goals compiled beforehand. What counts are the ratios. Memory is that of the whole process, with
a linear network in place of LeNet; pictures are noise, since time does not depend on what they
show.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from torch import Tensor, nn

import deepprooflog as dpl
from deepprooflog.logic.limits.watch import resident
from deepprooflog.recipes.addition.task import lenet, program

THREE = """
nn(lenet, [X], D, 0..9) :: digit(X, D).
add([], [], [], [], 0).
add([], [], [], [1], 1).
add([], [], [], [2], 2).
add([X|Xs], [Y|Ys], [W|Ws], [Z|Zs], C) :-
    digit(X, A), digit(Y, B), digit(W, D),
    S is A + B + D + C, Z is S mod 10, C1 is S // 10,
    add(Xs, Ys, Ws, Zs, C1).
"""
PICTURES = 10_000
LOOKS = (100, 500, 1000, 2000)


@dataclass(frozen=True)
class Minibatch:
    """Rows of pictures [batch, numbers, digits], and the digits of each sum."""

    rows: Tensor
    sums: list[list[int]]


@dataclass(frozen=True)
class Setting:
    """Sums of some numbers of n digits each."""

    name: str
    program: dpl.Program
    numbers: int
    n: int
    batch: int
    images: Tensor
    labels: Tensor

    @property
    def names(self) -> tuple[str, ...]:
        return ("X", "Y", "W")[: self.numbers]

    @property
    def text(self) -> str:
        return f"add({', '.join(self.names)}, Z, 0)"

    def draw(self, generator: np.random.Generator, batch: int | None = None) -> Minibatch:
        """New pictures, no picture twice, and the sums of what they show."""
        size = (batch or self.batch) * self.numbers * self.n
        once = size <= len(self.images)
        rows = generator.choice(len(self.images), size=size, replace=not once)
        shown = torch.from_numpy(rows.reshape(-1, self.numbers, self.n))
        return Minibatch(shown, [self._sum(sum_) for sum_ in self.labels[shown].tolist()])

    def _sum(self, numbers: list[list[int]]) -> list[int]:
        total = sum(int("".join(map(str, reversed(digits)))) for digits in numbers)
        return [int(c) for c in reversed(str(total).zfill(self.n))]

    def of_bank(self, drawn: Minibatch) -> dpl.GoalBatch:
        columns = {name: drawn.rows[:, i] for i, name in enumerate(self.names)}
        return dpl.goals(self.text, bank=self.images, Z=drawn.sums, **columns)

    def of_tensors(self, drawn: Minibatch) -> list[dpl.Query]:
        pictures = self.images[drawn.rows]  # [batch, numbers, n, 1, 28, 28]
        return [
            dpl.goal(self.text, Z=z, **{v: list(own[i]) for i, v in enumerate(self.names)})
            for own, z in zip(pictures, drawn.sums, strict=True)
        ]

    def model(self, network: nn.Module) -> dpl.Model:
        return dpl.Model(self.program, networks={"lenet": network})


def settings() -> list[Setting]:
    torch.manual_seed(0)
    images, labels = torch.randn(PICTURES, 1, 28, 28), torch.randint(10, (PICTURES,))
    return [
        Setting("three numbers of 20 digits", dpl.Program(THREE), 3, 20, 16, images, labels),
        Setting("two numbers of 4 digits", program(), 2, 4, 32, images, labels),
    ]


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def descend_on(model: nn.Module, loss: Callable[..., Tensor], of: object) -> None:
    """The gradient of a loss: forward and backward."""
    model.zero_grad()
    loss(of).backward()  # type: ignore[no-untyped-call]


def ratios(setting: Setting, rounds: int) -> None:
    """Print a step's time of each kind, and what it is to the network alone."""
    network = lenet()
    model = setting.model(network)
    generator = np.random.default_rng(0)

    def alone(drawn: Minibatch) -> Tensor:
        rows = drawn.rows.reshape(-1)
        return nn.functional.cross_entropy(network(setting.images[rows]), setting.labels[rows])

    losses: dict[str, Callable[[Minibatch], Tensor]] = {
        "network alone": alone,
        "goals of a bank": lambda drawn: -model.log_prob(setting.of_bank(drawn)).mean(),
        "goals of tensors": lambda drawn: -model.log_prob(setting.of_tensors(drawn)).mean(),
    }
    drawn = setting.draw(generator)
    first = seconds(partial(descend_on, model, losses["goals of a bank"], drawn))
    print(f"{setting.name}, batch {setting.batch}: first call {first:.2f} s")
    took: dict[str, list[float]] = {name: [] for name in (*losses, "compiled before")}
    for i in range(rounds + 2):
        drawn = setting.draw(generator)
        compiled = model.compile(setting.of_bank(drawn))
        for name, loss in losses.items():
            spent = seconds(partial(descend_on, model, loss, drawn))
            took[name] += [spent] if i > 1 else []
        spent = seconds(partial(descend_on, model, lambda c: -model.log_prob(c).mean(), compiled))
        took["compiled before"] += [spent] if i > 1 else []
    network_alone = statistics.median(took["network alone"])
    for name, spent in took.items():
        middle = statistics.median(spent)
        print(f"  {name:<18} {1e3 * middle:8.1f} ms   {middle / network_alone:5.2f} times")


def building(setting: Setting, count: int) -> None:
    """Print how many goals a second are made."""
    drawn = setting.draw(np.random.default_rng(1), count)
    model = setting.model(lenet())
    model.log_prob(setting.of_bank(drawn)[:8])
    batch = setting.of_bank(drawn).read(setting.program)
    kinds: dict[str, Callable[[], object]] = {
        "dpl.goals": lambda: setting.of_bank(drawn),
        "and taken one by one": lambda: list(batch),
        "dpl.goal, with tensors": lambda: setting.of_tensors(drawn),
        "compiled": lambda: model.compile(batch),
    }
    print(f"{count:,} goals of {setting.name}")
    for name, work in kinds.items():
        spent = min(seconds(work) for _ in range(3))
        print(f"  {name:<24} {spent:7.4f} s   {count / spent:12,.0f} goals a second")


def memory(setting: Setting, steps: int) -> None:
    """Print the memory of the process while goals stream."""
    model = setting.model(nn.Sequential(nn.Flatten(), nn.Linear(28 * 28, 10)))
    generator = np.random.default_rng(2)
    print(f"memory of {setting.name}, batch {setting.batch}, after so many steps", flush=True)
    for step in range(1, steps + 1):
        goals = setting.of_bank(setting.draw(generator))
        descend_on(model, lambda some: -model.log_prob(some).mean(), goals)
        if step in LOOKS or step == steps:
            print(f"  {step:>5}: {resident() / 2**20:7.1f} MiB", flush=True)


def stream(count: int, batch: int = 1000) -> None:
    """Print the memory of `fit` over a stream of goals, made as they are read: one epoch."""
    setting = Setting(
        "two numbers of 1 digit", program(), 2, 1, batch, torch.randn(PICTURES, 16),
        torch.randint(10, (PICTURES,)),
    )  # fmt: skip
    model, generator = setting.model(nn.Linear(16, 10)), np.random.default_rng(3)
    steps = count // batch
    looks = {max(1, steps * share // 100): share for share in (1, 10, 50, 100)}

    def batches() -> Iterator[dpl.GoalBatch]:
        for step in range(1, steps + 1):
            yield setting.of_bank(setting.draw(generator))
            if step in looks:
                print(f"  {looks[step]:>3} %, {step * batch:>9,} goals: "
                      f"{resident() / 2**20:7.1f} MiB", flush=True)  # fmt: skip

    print(f"fit over a stream of {count:,} goals of {setting.name}, batch {batch:,}", flush=True)
    began = time.process_time()
    dpl.fit(model, batches(), stream=True, epochs=1)
    print(f"  {time.process_time() - began:.0f} CPU s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--steps", type=int, default=2000, help="steps for the memory; 0 for none")
    parser.add_argument("--goals", type=int, help="only a stream of so many goals through `fit`")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(f"{platform.processor() or platform.machine()}, torch {torch.__version__}, "
          f"{arguments.threads} CPU threads", flush=True)  # fmt: skip
    if arguments.goals:
        stream(arguments.goals)
        return
    three, two = settings()
    for setting in (three, two):
        ratios(setting, arguments.rounds)
    building(two, 4096)
    for setting in (three, two) if arguments.steps else ():
        memory(setting, arguments.steps)


if __name__ == "__main__":
    main()
