"""Look-aheads for particles: how much the estimates of log p scatter, and how many particles count.

    python benchmarks/look_ahead.py

Sums of two numbers of 8 × 8 digits. Each sum is estimated many times with few particles: by none,
by the weights of the next steps (`steps_ahead`), by a value network that learned on other sums
(`Value`), and by V itself. First with an untrained classifier, then after some epochs of exact
gradients on the few other sums, which it learns by heart: it is sure of its steps then, and wrong.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import Tensor

import deepprooflog as dpl
from deepprooflog.infer.particles.arena import Arena, LookAhead, steps_ahead
from deepprooflog.infer.particles.prepare import ParticleBatch, arenas
from deepprooflog.learn.baseline import Value
from deepprooflog.learn.smc import paths, smc_log_prob
from deepprooflog.recipes.addition.sums import consecutive, sum_goals
from deepprooflog.recipes.addition.task import pictures, program, small_net, tensor


def taught(model: dpl.Model, batch: ParticleBatch, steps: int) -> Value:
    """A value network after so many steps of Bellman's equation on all goals of a batch."""
    torch.manual_seed(0)
    value = Value()
    optimizer = torch.optim.Adam(value.parameters(), lr=0.02)
    ((_, ground),) = arenas(batch, model.weights)
    assert isinstance(ground, Arena)
    everywhere = torch.arange(len(ground.begin))
    for _ in range(steps):
        optimizer.zero_grad()
        value.loss(ground, everywhere).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return value


def scatter(
    model: dpl.Model, batch: ParticleBatch, particles: int, repeat: int, ahead: LookAhead | None
) -> tuple[Tensor, Tensor]:
    """The standard deviation of log p̂ of each sum, and the mean effective sample size."""
    select = torch.arange(len(batch)).repeat(repeat)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        log_p, found = smc_log_prob(
            model, batch, particles, select=select, look_ahead=ahead, generator=generator
        )
    return log_p.view(repeat, -1).std(0), found.effective.view(repeat, -1).mean(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=15, help="digits in each number")
    parser.add_argument("--particles", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=100, help="estimates of each sum")
    parser.add_argument("--value-steps", type=int, default=300)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    data = pictures("digits")[0]
    asked = sum_goals(consecutive(data.labels, options.n), tensor(data))
    model = dpl.Model(program(), networks={"lenet": small_net()})
    batch, others = paths(model, asked[-8:]), paths(model, asked[:-8])
    compiled = model.compile(asked[:-8])
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    print(f"standard deviation of log p̂, effective sample size of {options.particles} particles")
    done = 0
    for epochs in (0, 15, 60):
        for _ in range(epochs - done):
            for which in torch.randperm(len(others)).split(8):
                optimizer.zero_grad()
                (-model.log_prob(compiled, select=which).mean()).backward()
                optimizer.step()
        done = epochs
        with torch.no_grad():
            loss = -float(model.log_prob(asked[-8:]).mean())
        print(f"after {epochs} epochs, −log p of a sum {loss:.1f}")
        value = taught(model, others, options.value_steps)
        ways: dict[str, LookAhead | None] = {
            "none": None, "1 step": steps_ahead(1), "3 steps": steps_ahead(3),
            "value network": value, "V itself": steps_ahead(options.n + 1),
        }  # fmt: skip
        for name, ahead in ways.items():
            spread, effective = scatter(model, batch, options.particles, options.repeat, ahead)
            print(f"  {name:<14} {float(spread.mean()):7.3f} {float(effective.mean()):7.2f}")


if __name__ == "__main__":
    main()
