"""Sums of two digits, learned in DeepProbLog, in DeepStochLog and here: seconds an epoch.

    pip install deepproblog scikit-learn
    pip install --no-deps deepstochlog; pip install 'pyparsing<3' pandas
    python benchmarks/other_systems.py

The programs are those of docs/comparison.md. The pictures are the 8 × 8 digits of scikit-learn, in
their order; the network, its first weights, Adam, batches and epochs are the same, and so is the
loss, the mean of −log p of the sums. Seconds are those of the processor, child processes included;
the first epoch has the reading, grounding and compiling in it. A system that is not installed is
left out by name. Before training, each says the probability of the first sum: they must agree.
"""

from __future__ import annotations

import argparse
import collections
import collections.abc
import contextlib
import importlib.metadata
import importlib.util
import io
import itertools
import json
import os
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

import deepprooflog as dpl

DEEPPROBLOG = """
nn(mnist_net, [X], Y, [0,1,2,3,4,5,6,7,8,9]) :: digit(X, Y).
addition(X, Y, Z) :- digit(X, X2), digit(Y, Y2), Z is X2 + Y2.
"""
DEEPSTOCHLOG = """
digit_dom(Y) :- member(Y, [0,1,2,3,4,5,6,7,8,9]).
nn(number, [X], Y, digit_dom) :: digit(Y) --> [X].
1 :: addition(N) --> digit(N1), digit(N2), {N is N1 + N2}.
"""
HERE = """
nn(net, [X], D, 0..9) :: digit(X, D).
addition(X, Y, Z) :- digit(X, A), digit(Y, B), Z is A + B.
"""


@dataclass(frozen=True)
class Task:
    """Pictures 2i and 2i + 1 are the two of sum i; the first `train` pictures are learned from."""

    pictures: Tensor  # [P, 64]
    labels: list[int]
    train: int
    batch: int
    epochs: int
    lr: float

    def sums(self) -> list[tuple[int, int, int]]:
        """The training sums: the rows of two pictures, and their sum."""
        first = range(0, self.train - 1, 2)
        return [(row, row + 1, self.labels[row] + self.labels[row + 1]) for row in first]


@dataclass(frozen=True)
class Learned:
    """One system's run: p of the first sum before training, seconds an epoch, digits read right."""

    system: str
    version: str
    first_p: float
    seconds: list[float]
    digits_right: float


def network() -> nn.Sequential:
    """The classifier, with the same first weights every time; it returns logits."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def processor_seconds() -> float:
    """Seconds of this process and of its children that ended."""
    return sum(os.times()[:4])


def digits_right(net: nn.Module, task: Task) -> float:
    """The share of the other pictures that the network reads right."""
    with torch.no_grad():
        read = net(task.pictures[task.train :]).argmax(-1)
    return float((read == torch.tensor(task.labels[task.train :])).double().mean())


def deepproblog(task: Task) -> Learned:
    """The exact engine, with its circuits kept, as in the example that it comes with."""
    from deepproblog.dataset import DataLoader, Dataset
    from deepproblog.engines import ExactEngine
    from deepproblog.model import Model
    from deepproblog.network import Network
    from deepproblog.query import Query
    from deepproblog.train import train_model
    from problog.logic import Constant, Term

    class Pictures(dict):  # type: ignore[type-arg]
        def __getitem__(self, key: tuple[Constant, ...]) -> Tensor:
            return task.pictures[int(key[0])]

    class Sums(Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return len(task.sums())

        def to_query(self, i: int) -> Query:
            x, y, z = task.sums()[i]
            images = (Term("tensor", Term("train", Constant(row))) for row in (x, y))
            return Query(Term("addition", *images, Constant(z)))

    classifier = network()
    began = processor_seconds()
    net = Network(nn.Sequential(classifier, nn.Softmax(1)), "mnist_net", batching=True)
    net.optimizer = torch.optim.Adam(classifier.parameters(), lr=task.lr)
    with tempfile.NamedTemporaryFile("w", suffix=".pl") as file:
        file.write(DEEPPROBLOG)
        file.flush()
        model = Model(file.name, [net])
    model.set_engine(ExactEngine(model), cache=True)
    model.add_tensor_source("train", Pictures())
    loader = DataLoader(Sums(), task.batch, seed=0)
    (first,) = model.solve([Sums().to_query(0)])[0].result.values()
    spent = processor_seconds() - began
    seconds = []
    for _ in range(task.epochs):
        began = processor_seconds()
        train_model(model, loader, 1, verbose=0)
        seconds.append(processor_seconds() - began + spent)
        spent = 0.0
    version = importlib.metadata.version("deepproblog")
    return Learned("DeepProbLog", version, float(first), seconds, digits_right(classifier, task))


def deepstochlog(task: Task) -> Learned:
    """One tree for the open query, filled with the pictures of each sum."""
    from deepstochlog.context import Context, ContextualizedTerm
    from deepstochlog.dataloader import DataLoader
    from deepstochlog.model import DeepStochLogModel
    from deepstochlog.network import Network, NetworkStore
    from deepstochlog.term import List, Term
    from deepstochlog.trainer import DeepStochLogTrainer

    random.seed(0)
    classifier = network()
    began = processor_seconds()
    domain = [Term(str(digit)) for digit in range(10)]
    store = NetworkStore(Network("number", nn.Sequential(classifier, nn.Softmax(-1)), domain))
    tokens = Term("t1"), Term("t2")
    model = DeepStochLogModel.from_string(
        DEEPSTOCHLOG, query=Term("addition", Term("_"), List(*tokens)), networks=store
    )
    asked = [
        ContextualizedTerm(
            Context(dict(zip(tokens, (task.pictures[x], task.pictures[y]), strict=True))),
            Term("addition", Term(str(z)), List(*tokens)),
        )
        for x, y, z in task.sums()
    ]
    loader = DataLoader(asked, batch_size=task.batch)
    trainer = DeepStochLogTrainer(log_freq=10**9, accuracy_tester=("", lambda: ""))
    optimizer = torch.optim.Adam(model.get_all_net_parameters(), lr=task.lr)
    first = float(model.predict_sum_product(asked[:1])[0])
    spent = processor_seconds() - began
    seconds = []
    for _ in range(task.epochs):
        began = processor_seconds()
        trainer.train(model=model, optimizer=optimizer, dataloader=loader, epochs=1)
        seconds.append(processor_seconds() - began + spent)
        spent = 0.0
    version = importlib.metadata.version("deepstochlog")
    return Learned("DeepStochLog", version, first, seconds, digits_right(classifier, task))


def here(task: Task) -> Learned:
    """`dpl.fit`, which compiles the goals once."""
    classifier = network()
    began = processor_seconds()
    model = dpl.Model(dpl.Program(HERE), networks={"net": classifier})
    x, y, z = map(list, zip(*task.sums(), strict=True))
    goals = dpl.goals("addition(X, Y, Z)", bank=task.pictures, X=x, Y=y, Z=z)
    first = model.prob(goals[0])
    marks = [began]

    def tick(epoch: int, loss: float) -> None:
        marks.append(processor_seconds())

    dpl.fit(model, goals, epochs=task.epochs, lr=task.lr, batch_size=task.batch, callback=tick)
    seconds = [after - before for before, after in itertools.pairwise(marks)]
    return Learned("here", dpl.__version__, first, seconds, digits_right(classifier, task))


def why_not(package: str) -> str | None:
    """Why a system cannot be run; None if it can."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return "not installed"
    if package == "deepstochlog" and not (Path(spec.origin).parent / _LEFT_OUT).exists():
        return f"its package lacks {_LEFT_OUT}, which it reads: copy it from its repository"
    return None


_LEFT_OUT = "_meta_program_suffix.pl"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--train", type=int, default=1400, help="pictures to learn from")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    # What DeepStochLog 0.0.1 imports from `collections` moved to `collections.abc` in Python 3.10.
    collections.Sized = collections.abc.Sized  # type: ignore[attr-defined]
    digits = load_digits()
    pictures = torch.tensor(digits.images / 16, dtype=torch.float32).flatten(1)
    labels = [int(label) for label in digits.target]
    task = Task(pictures, labels, options.train, options.batch, options.epochs, options.lr)
    systems: dict[str, Callable[[Task], Learned]] = {
        "deepproblog": deepproblog, "deepstochlog": deepstochlog, "deepprooflog": here,
    }  # fmt: skip
    rows: list[Learned] = []
    for package, run in systems.items():
        reason = why_not(package)
        if reason is not None:
            print(f"{package} left out: {reason}", file=sys.stderr)
            continue
        began = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            rows.append(run(task))
        if not options.json:
            row = rows[-1]
            later = " ".join(f"{second:.3g}" for second in row.seconds[1:])
            print(
                f"{row.system + ' ' + row.version:<20} first p {row.first_p:.6f}, "
                f"first epoch {row.seconds[0]:.3g} s, later {later} s, digits right "
                f"{row.digits_right:.3f} ({time.perf_counter() - began:.0f} s by the clock)"
            )
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    if max(row.first_p for row in rows) - min(row.first_p for row in rows) > 1e-5:
        raise SystemExit("the systems do not agree on the first sum's probability")


if __name__ == "__main__":
    main()
