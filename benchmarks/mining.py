"""Mining: seconds, memory and rules found on knowledge graphs.

Run with `python benchmarks/mining.py [GRAPH …]`; a graph is a folder or a name that `dprl mine`
takes. Each is mined in a process of its own: seconds of one core and of the clock, the most memory
held, and how many rules there are of each kind.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

from deepprooflog.errors import DataError
from deepprooflog.kg.data.folder import find_graph, read_graph
from deepprooflog.kg.mining.miner import mine
from deepprooflog.syntax.terms import Struct, Var

GRAPHS = ("village", "family", "wn18rr", "fb15k237_standard")


def measure(name: str, seconds: float | None) -> dict[str, object]:
    """Mine one graph, in this process."""
    graph = read_graph(name)
    began, clock = time.process_time(), time.perf_counter()
    rules = mine(graph, seconds=seconds)
    kinds = {1: 0, 2: 0, 3: 0, "constants": 0}
    for rule in rules:
        atoms = (rule.clause.head, *rule.clause.body)
        variables = all(type(t) is Var for a in atoms if type(a) is Struct for t in a.args)
        kinds[len(rule.clause.body) if variables else "constants"] += 1
    return {
        "cpu": time.process_time() - began,
        "wall": time.perf_counter() - clock,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "rules": len(rules),
        "kinds": list(kinds.values()),
        "notices": [notice.message for notice in rules.notices],
    }


def main() -> None:
    """Print the table, one process for each graph."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", default=GRAPHS)
    parser.add_argument("--seconds", type=float, help="as of `dprl mine`; default: no limit")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(asked.graphs[0], asked.seconds)))
        return
    heads = ("cpu s", "wall s", "MB", "rules", "length 1", "2", "3", "constants")
    print(f"{'':20}" + "".join(f"{head:>10}" for head in heads))
    for name in asked.graphs:
        try:
            find_graph(name)
        except DataError:
            print(f"{name:20}  not here")
            continue
        command = [sys.executable, __file__, name, "--one"]
        command += ["--seconds", str(asked.seconds)] if asked.seconds else []
        found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        figures = [f"{found[key]:.1f}" for key in ("cpu", "wall")] + [f"{found['megabytes']:.0f}"]
        counts = [f"{count:,}" for count in (found["rules"], *found["kinds"])]
        print(f"{name:20}" + "".join(f"{text:>10}" for text in (*figures, *counts)), flush=True)
        for notice in found["notices"]:
            print(f"  {notice}")


if __name__ == "__main__":
    main()
