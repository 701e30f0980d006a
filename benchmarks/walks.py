"""A training step of walks, over what they reach and over all entities, in one run.

    python benchmarks/walks.py --data wn18rr_standard --hops 5 --states 8 --batch 64
    python benchmarks/walks.py --data wn18rr_standard --hops 6 --states 16 --device cuda

Seconds of a step, forward and backward, by the clock, and their ratio to the first; the losses of
all are printed. A CPU has one thread. On a GPU dense hops are added up by torch and by kernels of
its own. `--shares` says up to which shares of all edges walks go over what they reach.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
import torch

import deepprooflog as dpl
from deepprooflog.device import GPU
from deepprooflog.kg.walk import model as walk_model
from deepprooflog.kg.walk.hops import reached
from deepprooflog.kg.walk.hops.sums import PLAIN, HopSums, fused_sums
from deepprooflog.kg.walk.model import WalkModel, walk_graph
from deepprooflog.kg.walk.options import WalkOptions
from deepprooflog.kg.walk.queries import WalkQueries
from deepprooflog.kg.walk.training import walk_losses

NEVER, ALWAYS = -1.0, math.inf


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="village")
    parser.add_argument("--hops", type=int, default=4)
    parser.add_argument("--states", type=int, default=4)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--shares", type=float, nargs="*", default=[NEVER, ALWAYS, reached.FEW])
    given = parser.parse_args()
    torch.set_num_threads(1)
    device = torch.device(given.device)
    graph = dpl.kg.load(given.data)
    model = WalkModel(graph.relations, WalkOptions(hops=given.hops, states=given.states)).to(device)
    facts = walk_graph(graph, graph.relations, device=device)
    queries = WalkQueries.of(graph, graph.relations, graph.train, ("train",))
    print(f"{graph}; {given.hops} hops, {given.states} states, batch {given.batch}, {device}")

    def step(rng: np.random.Generator) -> float:
        part = queries.batch(rng.integers(len(queries), size=given.batch), device)
        loss = walk_losses(model, facts, part).mean()
        model.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        return float(loss.detach())

    first = 0.0
    for sums in (PLAIN, fused_sums()) if device.type == GPU else (PLAIN,):
        walk_model.sums_for = lambda *_, sums=sums: sums  # type: ignore[assignment]
        for share in given.shares:
            reached.FEW = reached.FEW_OF_GPU = share
            rng = np.random.default_rng(0)
            loss = step(rng)  # kernels are compiled
            began = time.perf_counter()
            for _ in range(given.steps):
                loss = step(rng)
            seconds = (time.perf_counter() - began) / given.steps
            first = first or seconds
            print(
                f"{named(sums):8} {told(share):24} {seconds:8.4f} s a step "
                f"{first / seconds:6.1f} x  loss {loss:.5f}",
                flush=True,
            )


def named(sums: HopSums) -> str:
    """Who adds up."""
    return "torch" if sums is PLAIN else "kernels"


def told(share: float) -> str:
    """Where walks go over what they reach."""
    named = {NEVER: "over all entities", ALWAYS: "over what is reached"}
    return named.get(share, f"reached, up to {share:g}")


if __name__ == "__main__":
    main()
