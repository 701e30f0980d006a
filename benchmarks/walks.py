"""A training step of walks, over what they reach and over all entities, in one run.

    python benchmarks/walks.py --data wn18rr_standard --hops 5 --states 8 --batch 64

CPU seconds of one thread, forward and backward, and their ratio; the losses of both are printed.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
import torch

import deepprooflog as dpl
from deepprooflog.kg.walk import reached
from deepprooflog.kg.walk.model import WalkModel, walk_graph
from deepprooflog.kg.walk.options import WalkOptions
from deepprooflog.kg.walk.queries import WalkQueries
from deepprooflog.kg.walk.training import walk_losses

NEVER = -1.0
WAYS = {"all entities": NEVER, "what is reached": math.inf, "as it chooses": reached.FEW}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="village")
    parser.add_argument("--hops", type=int, default=4)
    parser.add_argument("--states", type=int, default=4)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--steps", type=int, default=3)
    given = parser.parse_args()
    torch.set_num_threads(1)
    graph = dpl.kg.load(given.data)
    model = WalkModel(graph.relations, WalkOptions(hops=given.hops, states=given.states))
    facts = walk_graph(graph, graph.relations)
    queries = WalkQueries.of(graph, graph.relations, graph.train, ("train",))
    print(f"{graph}; {given.hops} hops, {given.states} states, batch {given.batch}")
    first = 0.0
    for name, share in WAYS.items():
        reached.FEW = share
        rng, loss = np.random.default_rng(0), torch.zeros(())
        began = time.process_time()
        for _ in range(given.steps):
            part = queries.batch(rng.integers(len(queries), size=given.batch), "cpu")
            loss = walk_losses(model, facts, part).mean()
            model.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
        seconds = (time.process_time() - began) / given.steps
        first = first or seconds
        print(f"{name:16} {seconds:8.3f} CPU s a step  {first / seconds:6.1f} x  loss {loss:.5f}")


if __name__ == "__main__":
    main()
