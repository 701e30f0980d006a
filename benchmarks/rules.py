"""Thousands of rules: what loading, indexing and training cost with 100, 1,000 and 10,000 of them.

    dprl mine fb15k237_standard -o rules.pl --seconds 60
    python benchmarks/rules.py --data fb15k237_standard --rules rules.pl

So many rules are drawn at random from the file. `read_s` is reading their text, `load_s` the
program, its tables and the index of its facts, `step_s` the median of some training steps of the
exact learner (explore, weigh, differentiate), `goals` how many goals a step explores, with
`choices` steps between them, and `rules_a_query` the rules that unify with a query: what a step
costs should follow these, not the number of rules. CPU time of this process, `--threads` threads;
`peak_mb` is the most memory held so far.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from deepprooflog.errors import DataError
from deepprooflog.kg.data.folder import read_graph
from deepprooflog.kg.data.rule_files.rule_writing import write_rules
from deepprooflog.kg.data.rules import Rules, read_rules
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.learn.exact_learner import ExactObjective
from deepprooflog.kg.learn.exact_options import ExactOptions
from deepprooflog.kg.prove.build import prover
from deepprooflog.kg.prove.prover import ExploreLimits, Prover

DEPTH = 40
Row = dict[str, float]


def measured(graph: Graph, rules: Rules, options: argparse.Namespace) -> Row:
    """One row of figures."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rules.pl"
        write_rules(rules, path, "program")
        begin = time.process_time()
        own = read_rules(path)
        read = time.process_time() - begin
    begin = time.process_time()
    proves = prover(graph, own, nesting=options.nesting, limits=ExploreLimits(depth=DEPTH))
    triples = torch.from_numpy(graph.valid[: options.batch])
    layers = proves.explore(proves.goals(triples))
    loaded = time.process_time() - begin
    rule_steps = layers.steps[0].clause < len(proves.database.rules) if layers.steps else triples
    row = {
        "rules": len(rules), "read_s": read, "load_s": loaded,
        **_steps(proves, graph, options),
        "rules_a_query": float(rule_steps.sum()) / len(triples),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }  # fmt: skip
    return row


def _steps(proves: Prover, graph: Graph, options: argparse.Namespace) -> Row:
    """What a training step costs; the first, in which patterns are met, is not counted."""
    batch, repeat = options.batch, options.repeat
    objective = ExactObjective(proves, graph, graph.valid, ExactOptions())
    optimizer = torch.optim.Adam(proves.policy.parameters(), lr=1e-3)
    seconds = []
    for step in range(1 + repeat):
        part = torch.arange(step * batch, (step + 1) * batch) % len(graph.valid)
        begin = time.process_time()
        optimizer.zero_grad()
        torch.autograd.backward(objective.at(step)(part).mean())
        optimizer.step()
        seconds.append(time.process_time() - begin)
    layers = proves.explore(proves.goals(torch.from_numpy(graph.valid[:batch])))
    choices = sum(len(steps.source) for steps in layers.steps)
    return {"step_s": statistics.median(seconds[1:]), "goals": layers.size, "choices": choices}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="fb15k237_standard", help="a folder or a data set's name")
    parser.add_argument("--rules", required=True, help="a file of many rules, as dprl mine writes")
    parser.add_argument("--counts", nargs="+", type=int, default=(100, 1_000, 10_000))
    parser.add_argument("--nesting", type=int, default=1)
    parser.add_argument("--batch", type=int, default=64, help="positives of a step")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", metavar="FILE", help="write all figures to a file")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    try:
        graph, every = read_graph(options.data), read_rules(options.rules)
    except DataError as error:
        parser.error(str(error))
    print(f"{graph.name}, {len(graph.train):,} facts, {len(every):,} rules in the file, nesting "
          f"{options.nesting}; {platform.machine()}, torch {torch.__version__}")  # fmt: skip
    order, rows = np.random.default_rng(0).permutation(len(every)), []
    for count in options.counts:
        chosen = Rules(tuple(every[i] for i in sorted(order[:count].tolist())))
        row = measured(graph, chosen, options)
        rows.append(row)
        print("  ".join(f"{key}={value:,.4g}" for key, value in row.items()), flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
