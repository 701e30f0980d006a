"""Count the groundings of a graph's test set by BC(w, d), at depths 1, 2 and 3.

    python scripts/groundings.py [--data family] [--width 0 1] [--depth 1 2 3]

`distinct` counts a ground rule once, `by round` once in each round in which it is asked for.
"""

from __future__ import annotations

import argparse
import time

import torch
from torch import Tensor

from deepprooflog.kg.data.folder import read_graph
from deepprooflog.kg.data.rules import read_rules
from deepprooflog.kg.ground.backward import Grounder, GroundRound


def as_rows(found: GroundRound) -> Tensor:
    """A grounding as one row of numbers: rule, head, body."""
    head = found.asked[found.head]
    return torch.cat([found.rule[:, None], head, found.body.flatten(1)], 1)


def count_distinct(rounds: list[GroundRound]) -> int:
    """How many ground rules there are in all rounds together."""
    return len(torch.cat([as_rows(one) for one in rounds]).unique(dim=0))


def main() -> None:
    """Print a table."""
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--data", default="family", help="a folder of triples and rules")
    parser.add_argument("--width", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--depth", type=int, nargs="+", default=[1, 2, 3])
    asked = parser.parse_args()
    graph = read_graph(asked.data)
    if graph.rules is None:
        parser.error(f"the folder of {graph.name} has no rules")
    rules, test = read_rules(graph.rules), torch.from_numpy(graph.test)
    print("| BC(w, d) | distinct | by round | seconds |\n|---|---|---|---|")
    for depth in asked.depth:
        for width in asked.width:
            began = time.perf_counter()
            grounder = Grounder.of(graph, rules, width=width, depth=depth)
            rounds = grounder.rounds(test)
            seconds = time.perf_counter() - began
            print(
                f"| BC({width}, {depth}) | {count_distinct(rounds):,} | "
                f"{sum(map(len, rounds)):,} | {seconds:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
