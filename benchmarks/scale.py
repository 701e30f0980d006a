"""Graphs of 10⁵ to 10⁷ triples: what reading, opening and asking cost, and how it grows.

    python benchmarks/scale.py --triples 100_000 1_000_000 --repeat 5

The graphs are those of `university.py`. A run is made without training anything to speak of: what
is timed does not depend on what was learned. CPU seconds of one thread:

    read_s      from TSV to a graph
    index_s     making its index (reading included), indexed_s loading the graph from that
    save_s      writing the run
    open_s      opening it, where the process knows its names already
    first_s     the first query, for which indexes are sorted
    query_s     the median over the kinds of queries; ten answers with ten proofs each
    worst_s     the slowest kind
    command_s   a whole `dprl query` process, imports of a second or more included

Where the wall clock differs much, the machine was busy. `peak_mb` is the most memory held so far.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch
from university import RULES, university, write

import deepprooflog as dpl
from deepprooflog.kg.data.graph_index import index_folder

QUERIES = (
    "taught_by(student_7, X)", "taught_by(X, professor_3)", "studies_at(student_11, X)",
    "studies_at(X, university_0)", "coauthor(X, professor_5)", "taught_by(student_7, professor_3)",
    "taught_by(X, P), employed_at(P, university_0), advisor(X, Q), Q \\= P",
)  # fmt: skip
Result = TypeVar("Result")


def cpu(work: Callable[[], Result]) -> tuple[Result, float]:
    """A result and the CPU seconds it took."""
    begin = time.process_time()
    found = work()
    return found, time.process_time() - begin


def child_cpu(command: list[str]) -> float:
    """The CPU seconds of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(triples: int, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """One row of figures."""
    write(university(triples), folder / "graph")
    graph, read = cpu(lambda: dpl.kg.load(folder / "graph"))
    _, index = cpu(lambda: index_folder(folder / "graph"))
    indexed, load = cpu(lambda: dpl.kg.load(folder / "graph"))
    assert (indexed.train == graph.train).all()
    prior: dict[str, object] = {"kind": options.prior}
    if options.prior != "none":
        prior |= {"dimension": 8, "steps": 10, "batch": 512}
    model = dpl.kg.train(
        graph, RULES, prior, learner="exact", exact={"steps": 1, "batch": 8, "negatives": 1},
        policy={"dimension": 16}, evaluation={"validation_size": 4}, threads=1,
    )  # fmt: skip
    _, save = cpu(lambda: model.save(folder / "run"))
    opens = [cpu(lambda: dpl.kg.open(folder / "run")) for _ in range(options.repeat)]
    opened = opens[-1][0]
    _, first = cpu(lambda: opened.query(QUERIES[0], 10, proofs=10))
    kinds = {}
    for text in QUERIES:
        opened.query(text, 10, proofs=10)
        kinds[text] = statistics.median(
            cpu(lambda text=text: opened.query(text, 10, proofs=10))[1]  # type: ignore[misc]
            for _ in range(options.repeat)
        )
    command = [sys.executable, "-m", "deepprooflog", "query", str(folder / "run"), QUERIES[0]]
    return {
        "triples": len(graph.train), "entities": len(graph.entities), "read_s": read,
        "index_s": index, "indexed_s": load, "save_s": save,
        "open_s": statistics.median(seconds for _, seconds in opens), "first_s": first,
        "query_s": statistics.median(kinds.values()), "worst_s": max(kinds.values()),
        "command_s": statistics.median(child_cpu(command) for _ in range(options.repeat)),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "kinds": kinds,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--triples", nargs="+", type=lambda text: int(text.replace("_", "")),
        default=(100_000, 1_000_000),
    )  # fmt: skip
    parser.add_argument("--prior", default="none", help="none, or an embedding such as complex")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", metavar="FILE", help="write all figures to a file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"prior {options.prior}; {platform.machine()}, torch {torch.__version__}")
    rows = []
    for triples in options.triples:
        with tempfile.TemporaryDirectory() as folder:
            row = measured(triples, options, Path(folder))
        rows.append(row)
        shown = ((key, value) for key, value in row.items() if key != "kinds")
        print("  ".join(f"{key}={value:,.4g}" for key, value in shown), flush=True)
        for text, seconds in row["kinds"].items():
            print(f"    {seconds:.4f} s  {text}", flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
