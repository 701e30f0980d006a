"""The gallery: small programs over pictures of digits, each learned from its outcomes alone.

    python gallery.py sum --size 16
    python gallery.py expression --data mnist --examples 2000

A task is a program beside this file and a way to draw examples of it. Only outcomes are learned
from: a difference, a sum, a value, an order. The labels of single pictures make the outcomes, and
count how many pictures the network reads rightly afterwards.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor, nn

import deepprooflog as dpl
from deepprooflog.data.digits import Digits, mnist, small_digits
from deepprooflog.learn.run import rate
from deepprooflog.recipes.addition import lenet, small_net

HERE = Path(__file__).parent
LETTERS = ("a", "b", "c")


@dataclass(frozen=True)
class Example:
    """A goal with its outcome, or a goal that holds or not where `open` is None."""

    goal: dpl.Query
    open: dpl.Query | None  # the same with the outcome, `Z`, left open
    answer: str  # the outcome as Prolog text
    holds: bool = True


@dataclass(frozen=True)
class Pictures:
    """Pictures of some classes: as a network reads them, and what they show."""

    tensors: tuple[Tensor, ...]
    labels: np.ndarray

    def draw(self, count: int, generator: Generator) -> list[int]:
        return [int(i) for i in generator.integers(len(self.labels), size=count)]

    def of(self, label: int, generator: Generator) -> int:
        return int(generator.choice(np.flatnonzero(self.labels == label)))

    def value(self, numbers: list[int]) -> int:
        """The number that pictures spell, the most significant digit first."""
        return int("".join(str(self.labels[i]) for i in numbers))


def subtraction(pictures: Pictures, size: int, generator: Generator) -> Example:
    """Two numbers, the larger first, and their difference."""
    numbers = (pictures.draw(size, generator), pictures.draw(size, generator))
    large, small = sorted(numbers, key=pictures.value, reverse=True)
    difference = str(pictures.value(large) - pictures.value(small)).zfill(size)
    x, y = ([pictures.tensors[i] for i in reversed(n)] for n in (large, small))
    return _both("sub(X, Y, Z, 0)", [int(d) for d in reversed(difference)], X=x, Y=y)


def digit_sum(pictures: Pictures, size: int, generator: Generator) -> Example:
    """So many pictures and the sum of their digits."""
    drawn = pictures.draw(size, generator)
    total = int(pictures.labels[drawn].sum())
    return _both("sum(X, 0, Z)", total, X=[pictures.tensors[i] for i in drawn])


def abc(pictures: Pictures, size: int, generator: Generator) -> Example:
    """A word aⁿbⁿcⁿ with n up to `size`, or one of the same length that is none."""
    n = int(generator.integers(1, size + 1))
    letters = [letter for letter in range(3) for _ in range(n)]
    holds = bool(generator.integers(2))
    while not holds and letters == sorted(letters):
        letters = [int(v) for v in generator.permutation(letters)]
    shown = [pictures.tensors[pictures.of(letter, generator)] for letter in letters]
    return Example(dpl.goal("word(X, [])", X=shown), None, "", holds)


def expression(pictures: Pictures, size: int, generator: Generator) -> Example:
    """An expression of up to so many digits with +, −, × and perhaps a pair of parentheses."""
    size = int(generator.integers(2, size + 1))
    drawn = pictures.draw(size, generator)
    signs = [str(s) for s in generator.choice(["+", "-", "*"], size=size - 1)]
    begin, end = sorted(int(i) for i in generator.integers(size, size=2))
    text, tokens = "", []
    for place, picture in enumerate(drawn):
        if begin < end and place == begin:
            text, tokens = text + "(", [*tokens, "'('"]
        text += str(pictures.labels[picture])
        tokens.append(f"img(P{place})")
        if begin < end and place == end:
            text, tokens = text + ")", [*tokens, "')'"]
        if place < size - 1:
            text, tokens = text + signs[place], [*tokens, signs[place]]
    named = {f"P{place}": pictures.tensors[i] for place, i in enumerate(drawn)}
    # Python reads sums, products and parentheses as the grammar should.
    return _both(f"value([{', '.join(tokens)}], Z)", int(eval(text)), **named)


def comparison(pictures: Pictures, size: int, generator: Generator) -> Example:
    """Two numbers and which one is larger."""
    x, y = pictures.draw(size, generator), pictures.draw(size, generator)
    a, b = pictures.value(x), pictures.value(y)
    order = "<" if a < b else ">" if a > b else "="
    shown = {"X": [pictures.tensors[i] for i in x], "Y": [pictures.tensors[i] for i in y]}
    return _both("order(X, Y, Z)", order, **shown)


def sorting(pictures: Pictures, size: int, generator: Generator) -> Example:
    """A few pictures and their digits in ascending order."""
    drawn = pictures.draw(size, generator)
    ordered = sorted(int(d) for d in pictures.labels[drawn])
    return _both("sorted(X, Z)", ordered, X=[pictures.tensors[i] for i in drawn])


def _both(text: str, answer: object, **values: object) -> Example:
    open_ = dpl.goal(text, **values)
    return Example(dpl.goal(text, Z=answer, **values), open_, str(answer).replace(" ", ""))


@dataclass(frozen=True)
class Task:
    """How examples are drawn, and settings that suit the 8 × 8 digits."""

    draw: Callable[[Pictures, int, Generator], Example]
    size: int
    examples: int
    epochs: int
    classes: int = 10
    warm: int = 0  # examples of size 2 to begin with: long ones say little to a blank network
    tries: int = 1  # initial weights, where some end in a consistent misreading
    unfolding: bool = True  # steps that look at all they have read gain nothing from templates


TASKS = {
    "subtraction": Task(subtraction, size=2, examples=400, epochs=20, tries=3),
    "sum": Task(digit_sum, size=16, examples=600, epochs=15, warm=200),
    "abc": Task(abc, size=3, examples=300, epochs=15, classes=3),
    "expression": Task(expression, size=3, examples=300, epochs=20),
    "comparison": Task(comparison, size=1, examples=3000, epochs=7, tries=5),
    "sorting": Task(sorting, size=3, examples=300, epochs=20, unfolding=False),
}


@dataclass(frozen=True)
class Result:
    """What a task reached, as shares of test examples and test pictures."""

    task: str
    size: int
    examples: int
    epochs: int
    pictures_before: float  # where there is a warm-up, after it
    pictures_after: float
    outcomes_after: float
    tested: int
    compile_seconds: float
    train_seconds: float


def program(name: str) -> dpl.Program:
    """The program of a task."""
    return dpl.Program.read(HERE / f"{name}.pl")


def read(data: str, classes: int) -> tuple[Pictures, Pictures]:
    """Training and test pictures of the first so many digits."""
    train, test = mnist() if data == "mnist" else small_digits()
    return _pictures(train, classes), _pictures(test, classes)


def _pictures(digits: Digits, classes: int) -> Pictures:
    keep = digits.labels < classes
    return Pictures(
        torch.from_numpy(digits.images[keep]).unsqueeze(1).unbind(0), digits.labels[keep]
    )


def network(shape: tuple[int, ...], classes: int) -> nn.Sequential:
    """A classifier of pictures of 28 × 28 or 8 × 8."""
    net = lenet() if shape[-1] == 28 else small_net()
    last = net[-1]
    assert isinstance(last, nn.Linear)
    net[-1] = nn.Linear(last.in_features, classes)
    return net


def train(
    model: dpl.Model, compiled: object, holds: Tensor, epochs: int, lr: float, tries: int = 1
) -> None:
    """Maximise the likelihood of the outcomes, from several initial weights where one may fail.

    Digits that are consistently misread can explain most outcomes; the training loss tells.
    """
    losses, found = [], []
    for number in range(tries):
        if number:
            model.apply(_restart)
        losses.append(_train_once(model, compiled, holds, epochs, lr))
        found.append({key: value.clone() for key, value in model.state_dict().items()})
    model.load_state_dict(found[int(np.argmin(losses))])
    model.eval()


def _restart(layer: nn.Module) -> None:
    if isinstance(layer, nn.Linear | nn.Conv2d):
        layer.reset_parameters()


def _train_once(model: dpl.Model, compiled: object, holds: Tensor, epochs: int, lr: float) -> float:
    """Adam with a learning rate that rises and falls; the mean loss of the last epoch."""
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    model.train()
    total = 0.0
    for epoch in range(epochs):
        total = 0.0
        batches = torch.randperm(len(holds)).split(16)
        for i, batch in enumerate(batches):
            share = (epoch + i / len(batches)) / epochs
            optimizer.param_groups[0]["lr"] = lr * rate("one-cycle", share)
            log_p = model.log_prob(compiled, select=batch)
            loss = dpl.losses.cross_entropy(log_p, holds[batch]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += float(loss.detach()) * len(batch)
    return total / len(holds)


def right(model: dpl.Model, example: Example) -> bool:
    """True when the most probable outcome is the right one."""
    if example.open is None:
        return (model.prob(example.goal) > 0.5) == example.holds
    best = model.predict(example.open)
    return bool(best) and best[0].bindings["Z"] == example.answer


def share_read(net: nn.Module, pictures: Pictures) -> float:
    """The share of pictures whose most probable class is the right one."""
    net.eval()
    with torch.no_grad():
        found = net(torch.stack(pictures.tensors)).argmax(1).numpy()
    return float((found == pictures.labels).mean())


def run(
    name: str,
    *,
    size: int | None = None,
    examples: int | None = None,
    epochs: int | None = None,
    warm: int | None = None,
    tries: int | None = None,
    data: str = "digits",
    lr: float = 0.01,
    test: int = 50,
    seed: int = 0,
) -> Result:
    """Draw examples of a task, learn from them, and count on test pictures."""
    task = TASKS[name]
    size, epochs = size or task.size, task.epochs if epochs is None else epochs
    warm = task.warm if warm is None else warm
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed)
    train_pictures, test_pictures = read(data, task.classes)
    net = network(tuple(train_pictures.tensors[0].shape), task.classes)
    model = dpl.Model(program(name), networks={"net": net})
    if warm:
        pairs = [task.draw(train_pictures, 2, generator) for _ in range(warm)]
        train(model, model.compile([e.goal for e in pairs]), torch.ones(warm), epochs, lr)
    before = share_read(net, test_pictures)
    drawn = [task.draw(train_pictures, size, generator) for _ in range(examples or task.examples)]
    began = time.perf_counter()
    compiled = model.compile([example.goal for example in drawn], unfolding=task.unfolding)
    built = time.perf_counter()
    holds = torch.tensor([example.holds for example in drawn])
    train(model, compiled, holds, epochs, lr, tries or task.tries)
    trained = time.perf_counter()
    asked = [task.draw(test_pictures, size, generator) for _ in range(test)]
    return Result(
        name, size, len(drawn), epochs, before, share_read(net, test_pictures),
        float(np.mean([right(model, example) for example in asked])) if asked else float("nan"),
        test,
        round(built - began, 2), round(trained - built, 2),
    )  # fmt: skip


def main() -> None:
    """The command line."""
    # Steps are many and small: one thread is faster than all.
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description="Learn a program of the gallery.")
    parser.add_argument("task", choices=sorted(TASKS))
    parser.add_argument("--size", type=int, help="digits, pictures or operands of an example")
    parser.add_argument("--examples", type=int, help="training examples")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--warm", type=int, help="examples of size 2 to begin with")
    parser.add_argument("--tries", type=int, help="initial weights to choose from")
    parser.add_argument("--data", choices=("digits", "mnist"), default="digits")
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--test", type=int, default=50, help="test examples")
    parser.add_argument("--seed", type=int, default=0)
    given = vars(parser.parse_args())
    print(json.dumps(asdict(run(given.pop("task"), **given)), indent=2))


if __name__ == "__main__":
    main()
