"""MNIST addition from the program's text against a hand-written dynamic program and LeNet alone.

    python benchmarks/mnist_addition.py                     # one CPU thread
    python benchmarks/mnist_addition.py --device cuda
    python benchmarks/mnist_addition.py --n 4 --epoch       # also a whole epoch of 60,000 pictures

Everything is measured in one run, the three in turn, each figure the median after a round that is
not counted; what counts are the ratios. Pictures are MNIST's where the data are found, else noise:
the time does not depend on what they show.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from torch import Tensor

import deepprooflog as dpl
from deepprooflog.data.digits import Digits, mnist
from deepprooflog.recipes.addition.sums import Sums, consecutive, sum_goals
from deepprooflog.recipes.addition.task import lenet, program, tensor

BATCH = {4: 128, 15: 64, 100: 16, 200: 8, 500: 4, 2000: 1}
NEVER = -1e30


def by_hand(log_p: Tensor, digits: Tensor) -> Tensor:
    """log p of sums [B, n + 1] from log-probabilities [B, 2, n, 10]: transfer matrices, a scan."""
    size, _, n, _ = log_p.shape
    joint = (log_p[:, 0].unsqueeze(-1) + log_p[:, 1].unsqueeze(-2)).reshape(size, n, 1, 100)
    ten = torch.arange(10, device=log_p.device)
    pair = (ten[:, None] + ten[None, :]).reshape(-1)
    total = torch.stack([pair, pair + 1])  # [carry in, 100]
    fits = total % 10 == digits[:, :n, None, None]
    columns = [
        torch.logsumexp(joint.masked_fill(~(fits & (total // 10 == carry)), NEVER), dim=-1)
        for carry in (0, 1)
    ]
    matrices = torch.stack(columns, dim=-1)  # [B, n, carry in, carry out]
    while matrices.shape[1] > 1:
        odd = matrices[:, -1:] if matrices.shape[1] % 2 else matrices[:, :0]
        even = matrices[:, : matrices.shape[1] // 2 * 2]
        left, right = even[:, 0::2], even[:, 1::2]
        joined = torch.logsumexp(left.unsqueeze(-1) + right.unsqueeze(-3), dim=-2)
        matrices = torch.cat([joined, odd], dim=1)
    return matrices[:, 0, 0].gather(1, digits[:, n, None])[:, 0]


@dataclass(frozen=True)
class Bench:
    """One n: the same network, pictures and minibatches for all three."""

    sums: Sums
    images: Tensor  # [sums, 2, n, 1, 28, 28]
    digits: Tensor  # [sums, n + 1]
    labels: Tensor  # [sums, 2, n]
    network: torch.nn.Module
    model: dpl.Model
    compiled: object
    build_seconds: float
    build_cpu_seconds: float  # of this process, where others share the machine

    def ours(self, which: Tensor) -> Tensor:
        return -self.model.log_prob(self.compiled, select=which).mean()  # type: ignore[arg-type]

    def hand(self, which: Tensor) -> Tensor:
        there = which.to(self.images.device)
        x = self.images[there]
        logits = self.network(x.flatten(0, 2)).double()
        log_p = torch.log_softmax(logits, 1).view(*x.shape[:3], 10)
        return -by_hand(log_p, self.digits[there]).mean()

    def supervised(self, which: Tensor) -> Tensor:
        there = which.to(self.images.device)
        logits = self.network(self.images[there].flatten(0, 2))
        return torch.nn.functional.cross_entropy(logits, self.labels[there].flatten())


def pictures() -> tuple[Digits, str]:
    """MNIST's training pictures, or noise of their shape."""
    try:
        return mnist()[0], "MNIST"
    except dpl.ProofLogError:
        generator = np.random.default_rng(0)
        images = generator.random((60_000, 28, 28), dtype=np.float32)
        return Digits(images, generator.integers(0, 10, 60_000)), "noise"


def bench(data: Digits, n: int, device: torch.device) -> Bench:
    sums = consecutive(data.labels, n)
    images = tensor(data)
    torch.manual_seed(0)
    network = lenet()
    model = dpl.Model(program(), networks={"lenet": network})
    asked = sum_goals(sums, images)
    began, busy = time.perf_counter(), time.process_time()
    compiled = model.compile(asked)
    seconds, busy = time.perf_counter() - began, time.process_time() - busy
    rows = torch.from_numpy(sums.pictures)
    return Bench(
        sums, images[rows].to(device), torch.from_numpy(sums.digits).to(device),
        torch.from_numpy(data.labels)[rows].to(device), network, model.to(device),
        compiled.to(device), seconds, busy,
    )  # fmt: skip


def stepper(loss: Callable[[Tensor], Tensor], model: torch.nn.Module) -> Callable[[Tensor], None]:
    """A whole training step: loss, gradient, update."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    def step(which: Tensor) -> None:
        optimizer.zero_grad()
        loss(which).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


def timed(work: Callable[[], object], device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize()
    began = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began


def in_turn(
    works: dict[str, Callable[[], object]], rounds: int, device: torch.device
) -> dict[str, float]:
    """The median seconds of each, measured in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for i in range(rounds + 1):
        for name, work in works.items():
            took = timed(work, device)
            if i:
                seconds[name].append(took)
    return {name: statistics.median(values) for name, values in seconds.items()}


def measure(
    b: Bench, size: int, rounds: int, epoch: bool, device: torch.device
) -> dict[str, float]:
    count = len(b.sums)
    size = min(size, count)
    which = torch.randperm(count, generator=torch.Generator().manual_seed(0))[:size]
    with torch.no_grad():
        error = abs(float(b.ours(which) - b.hand(which)))
    steps = {
        "ours": stepper(b.ours, b.model),
        "hand": stepper(b.hand, b.network),
        "lenet": stepper(b.supervised, b.network),
    }
    took = in_turn({k: lambda s=s: s(which) for k, s in steps.items()}, rounds, device)
    result = {
        "batch": size,
        "build_seconds": b.build_seconds,
        "build_cpu_seconds": b.build_cpu_seconds,
        **{f"{k}_ms": 1e3 * v for k, v in took.items()},
        "ours_over_hand": took["ours"] / took["hand"],
        "difference": error,
    }
    if epoch:
        order = torch.randperm(count, generator=torch.Generator().manual_seed(1))

        def whole(step: Callable[[Tensor], None]) -> None:
            for i in range(0, count, size):
                step(order[i : i + size])

        several = {k: lambda s=steps[k]: whole(s) for k in ("ours", "lenet")}
        long = in_turn(several, max(1, rounds // 4), device)
        result |= {f"epoch_{k}_s": v for k, v in long.items()}
        result["epoch_ours_over_lenet"] = long["ours"] / long["lenet"]
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--n", type=int, nargs="+", default=[4, 15, 100, 500])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--epoch", action="store_true", help="also a whole epoch, against LeNet")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    device = torch.device(arguments.device)
    data, kind = pictures()
    name = torch.cuda.get_device_name() if device.type == "cuda" else platform.processor()
    print(f"{kind}, {name or platform.machine()}, torch {torch.__version__}, "
          f"{arguments.threads} CPU threads", flush=True)  # fmt: skip
    rows = {}
    for n in arguments.n:
        b = bench(data, n, device)
        batch = BATCH.get(n, max(1, 1000 // (2 * n)))
        rows[n] = measure(b, batch, arguments.rounds, arguments.epoch, device)
        shown = "  ".join(f"{k} {v:.4g}" for k, v in rows[n].items())
        print(f"n {n:<5} {shown}", flush=True)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory {memory:.2f} GiB on the host", end="")
    if device.type == "cuda":
        print(f", {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB on the GPU", end="")
    print()
    if arguments.json:
        print(json.dumps({str(n): row for n, row in rows.items()}))


if __name__ == "__main__":
    main()
