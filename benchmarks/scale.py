"""Graphs of 10⁵ to 10⁸ triples: what indexing, opening and asking cost, and how it grows.

    python benchmarks/scale.py --triples 100_000 1_000_000 10_000_000 --svg docs/images/scale.svg

The graphs are those of `university.py`. Each stage is a process of its own, so that its peak is its
own; a stage's figures are its CPU seconds with and without imports, its seconds by the wall clock,
and the most memory it held, in which pages of mapped files count that other processes share.

    generate    the graph as TSV
    text        reading TSV to a graph as names in Python (up to --text-to triples)
    index       TSV to the index (`dprl data index`)
    load        opening the index
    train       a run of it, trained for one step, and saved
    open        opening the run
    query       the run opened and asked: the first query, the median of each kind, the slowest;
                ten answers with ten proofs each
    command     `dprl query` as a process

A run is made without training anything to speak of: what is timed does not depend on what was
learned. Where the wall clock differs much from the CPU seconds, the machine was busy.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

QUERIES = (
    "taught_by(student_7, X)", "taught_by(X, professor_5)", "studies_at(student_11, X)",
    "studies_at(X, university_0)", "coauthor(X, professor_5)", "taught_by(student_7, professor_3)",
    "taught_by(X, P), employed_at(P, university_0), advisor(X, Q), Q \\= P",
)  # fmt: skip
SHOWN = ("stage", "CPU s", "of it work", "wall s", "peak GB", "own GB", "")


def cpu(work: Callable[[], Any]) -> tuple[Any, float]:
    """A result and the CPU seconds it took."""
    begin = time.process_time()
    found = work()
    return found, time.process_time() - begin


# -- stages: each gets the folder of a size, and gives what it has to say


def generate(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    from university import university, write

    graph = university(options.triples[0])
    write(graph, folder / "graph")
    return {"entities": graph.entities}


def text(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    from deepprooflog.kg.data.folder import read_text_graph

    return {"work_s": cpu(lambda: read_text_graph(folder / "graph"))[1]}


def index(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    from deepprooflog.kg.data.graph_index import index_folder

    made, seconds = cpu(lambda: index_folder(folder / "graph"))
    return {"work_s": seconds, "index_gb": made.bytes / 1e9, "triples": made.triples}


def load(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    import deepprooflog as dpl

    dpl.kg.load("village")  # imports
    return {"work_s": cpu(lambda: dpl.kg.load(folder / "graph"))[1]}


def train(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    import deepprooflog as dpl

    graph = dpl.kg.load(folder / "graph")
    prior: dict[str, object] = {"kind": options.prior}
    if options.prior != "none":
        prior |= {"dimension": 8, "steps": 10, "batch": 512}
    shutil.rmtree(folder / "run", ignore_errors=True)
    model, seconds = cpu(lambda: dpl.kg.train(
        graph, None, prior, learner="exact", exact={"steps": 1, "batch": 8, "negatives": 1},
        policy={"dimension": 16}, evaluation={"validation_size": 4}, threads=1,
    ))  # fmt: skip
    return {"work_s": seconds, "save_s": cpu(lambda: model.save(folder / "run"))[1]}


def opened(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    import deepprooflog as dpl

    dpl.kg.load("village")
    return {"work_s": cpu(lambda: dpl.kg.open(folder / "run"))[1]}


def query(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    import deepprooflog as dpl

    model = dpl.kg.open(folder / "run")
    _, first = cpu(lambda: model.query(QUERIES[0], 10, proofs=10))
    kinds = {}
    for asked in QUERIES:
        model.query(asked, 10, proofs=10)
        kinds[asked] = statistics.median(
            cpu(lambda asked=asked: model.query(asked, 10, proofs=10))[1]  # type: ignore[misc]
            for _ in range(options.repeat)
        )
    return {
        "first_s": first, "query_s": statistics.median(kinds.values()),
        "worst_s": max(kinds.values()), "kinds": kinds,
    }  # fmt: skip


STAGES: dict[str, Callable[[Path, argparse.Namespace], dict[str, Any]]] = {
    "generate": generate, "text": text, "index": index, "load": load, "train": train,
    "open": opened, "query": query,
}  # fmt: skip


# -- the table


def run(command: Sequence[str]) -> dict[str, Any]:
    """A process: what it prints last, its CPU seconds, wall seconds and peak."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        said = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(command)}: exit status {child.returncode}")
    found = {
        "cpu_s": usage.ru_utime + usage.ru_stime, "wall_s": time.perf_counter() - began,
        "peak_gb": usage.ru_maxrss * 1024 / 1e9,
    }  # fmt: skip
    last = said.strip().splitlines()[-1:] or ["{}"]
    return {**found, **(json.loads(last[0]) if last[0].startswith("{") else {})}


def measured(triples: int, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """One size, stage after stage."""
    row: dict[str, Any] = {"asked_for": triples}
    own = [sys.executable, __file__, "--triples", str(triples), "--folder", str(folder),
           "--repeat", str(options.repeat), "--prior", options.prior]  # fmt: skip
    for name in STAGES:
        if name == "text" and triples > options.text_to:
            continue
        if name == "generate" and (folder / "graph" / "train.tsv").exists():
            continue
        row[name] = run([*own, "--stage", name])
        _show(name, row[name])
    ask = [sys.executable, "-m", "deepprooflog", "query", str(folder / "run"), QUERIES[0]]
    row["command"] = {**run(ask)}
    _show("command", row["command"])
    return row


def _show(name: str, found: dict[str, Any]) -> None:
    shown = ("index_gb", "save_s", "first_s", "query_s", "worst_s", "triples", "entities")
    more = "  ".join(f"{key} {found[key]:,.4g}" for key in shown if key in found)
    cells = [f"{found[key]:.3g}" if key in found else "" for key in
             ("cpu_s", "work_s", "wall_s", "peak_gb", "own_gb")]  # fmt: skip
    _print_row([name, *cells, more])
    for asked, seconds in found.get("kinds", {}).items():
        print(f"    {seconds:.4f} s  {asked}", flush=True)


def _print_row(cells: Sequence[str]) -> None:
    print(f"{cells[0]:<10}" + "".join(f"{cell:>12}" for cell in cells[1:6]) + f"  {cells[6]}",
          flush=True)  # fmt: skip


def own_gb() -> float:
    """The memory of this process that is no mapped file."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1e6


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Seconds and gigabytes against triples, both axes logarithmic."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "scale"
    from matplotlib import pyplot

    size = [row["index"]["triples"] for row in rows]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.6))
    for name, stage, key in (
        ("TSV to index", "index", "cpu_s"), ("opening an index", "load", "work_s"),
        ("opening a run", "open", "work_s"), ("first query", "query", "first_s"),
        ("query, median", "query", "query_s"),
    ):  # fmt: skip
        left.plot(size, [row[stage][key] for row in rows], marker="o", markersize=4, label=name)
    for name, stage in (("TSV to index", "index"), ("a run trained", "train"),
                        ("a run opened and asked", "query")):  # fmt: skip
        peaks = [row[stage]["peak_gb"] for row in rows]
        right.plot(size, peaks, marker="o", markersize=4, label=name)
    right.plot(size, [row["index"]["index_gb"] for row in rows], "--", label="the index, on disk")
    for axes, what in ((left, "CPU seconds"), (right, "GB")):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("training triples")
        axes.set_ylabel(what)
        axes.legend(frameon=False, fontsize=7)
        axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


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
    parser.add_argument("--text-to", type=int, default=1_000_000, metavar="N",
                        help="read as names in Python up to so many triples")  # fmt: skip
    parser.add_argument("--keep", type=Path, metavar="FOLDER",
                        help="make graphs there, or take and leave what is there")  # fmt: skip
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)  # of one stage
    parser.add_argument("--json", metavar="FILE", help="write all figures to a file")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw the curves")
    parser.add_argument("--draw", metavar="FILE", help="draw the figures in a JSON file, no more")
    parser.add_argument("--stage", choices=STAGES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stage:
        found, seconds = cpu(lambda: STAGES[options.stage](options.folder, options))
        print(json.dumps({"own_gb": own_gb(), **found, "stage_s": seconds}))
        return
    rows = json.loads(Path(options.draw).read_text()) if options.draw else []
    print(f"prior {options.prior}; {platform.machine()}, Python {platform.python_version()}")
    for triples in () if options.draw else options.triples:
        print(f"\n{triples:,} triples asked for")
        _print_row(SHOWN)
        if options.keep is not None:
            rows.append(measured(triples, options, options.keep / str(triples)))
        else:
            with tempfile.TemporaryDirectory() as folder:
                rows.append(measured(triples, options, Path(folder)))
        if options.json:
            Path(options.json).write_text(json.dumps(rows, indent=1))
    if options.svg:
        draw(rows, options.svg)


if __name__ == "__main__":
    main()
