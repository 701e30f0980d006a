"""The most probable sum of two numbers given as pictures: seconds from the program to the proof.

    python benchmarks/prediction.py
    python benchmarks/prediction.py --data digits --n 4 15

One query for each n, on one thread, first with a network that has seen some labelled digits (how it
learned to read does not matter to the search), then with an untrained one. The best answer is the
one with the largest sum over derivations; beside it the answer of the best derivation. Where the
search ends before it is certain, "×2" says that a better answer has at most twice the probability.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import Tensor, nn

import deepprooflog as dpl
from deepprooflog.graph.explore import explore
from deepprooflog.infer.answers.predict import By
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.resolve import start
from deepprooflog.recipes.addition.sums import consecutive
from deepprooflog.recipes.addition.task import lenet, pictures, program, small_net, tensor


def reader(images: Tensor, labels: Tensor, steps: int) -> nn.Sequential:
    """A classifier after so many minibatches of labelled digits."""
    torch.manual_seed(0)
    net = lenet() if images.shape[-1] == 28 else small_net()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for _ in range(steps):
        which = torch.randint(len(labels), (64,))
        loss = nn.functional.cross_entropy(net(images[which]), labels[which])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return net.eval()


def goals_of(query: dpl.Query) -> int:
    """How many goals the query reaches."""
    interner = Interner()
    return explore(program(), [start(query.atoms, interner)], interner).nodes


def predicted(net: nn.Module, query: dpl.Query, by: By) -> str:
    """Seconds for the best answer; where a better one may exist, by what factor at most."""
    began = time.perf_counter()
    model = dpl.Model(program(), networks={"lenet": net})
    (found,) = model.predict(query, by=by)
    seconds = f"{time.perf_counter() - began:.1f}"
    if found.certain or by == "derivation":
        return seconds
    return f"{seconds}, ×{math.exp(found.log_others - found.log_prob):.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", choices=("mnist", "digits"), default="mnist")
    parser.add_argument("--n", type=int, nargs="+", default=[4, 15, 100, 500])
    parser.add_argument("--steps", type=int, default=400, help="minibatches of labelled digits")
    options = parser.parse_args()
    torch.set_num_threads(1)
    train, test = pictures(options.data)
    images, labels = tensor(test), torch.from_numpy(test.labels)
    net = reader(tensor(train), torch.from_numpy(train.labels), options.steps)
    with torch.no_grad():
        right = float((net(images).argmax(1) == labels).double().mean())
    blank = reader(images, labels, 0)
    print(f"Python {platform.python_version()}, torch {torch.__version__}, one thread")
    print(f"{options.data}, {right:.1%} of the digits right; seconds")
    print(f"{'n':>4} {'goals':>9} {'best answer':>12} {'by derivation':>14} {'untrained':>12}")
    for n in options.n:
        x, y = consecutive(test.labels, n).pictures[0].tolist()
        query = dpl.goal("add(X, Y, Z, 0)", X=[images[i] for i in x], Y=[images[i] for i in y])
        seconds = predicted(net, query, "answer"), predicted(net, query, "derivation")
        row = (*seconds, predicted(blank, query, "answer"))
        print(f"{n:>4} {goals_of(query):>9,} {row[0]:>12} {row[1]:>14} {row[2]:>12}", flush=True)


if __name__ == "__main__":
    main()
