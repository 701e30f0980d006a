"""The programs of SWI-Prolog's benchmark set, in SWI-Prolog and in the plain solver.

    python benchmarks/swi.py FOLDER [NAME ...]

FOLDER holds the programs (`NAME.pl`, each with `top/0`); it is `swi_bench` in the folder that
DEEPPROOFLOG_CONFORMANCE names, when none is given. Both run `top` until a quarter of a second has
passed, after a first run; what counts is the ratio of the two times for one run. Here the first run
compiles what it comes upon, and has a ratio of its own.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import deepprooflog as dpl
from deepprooflog.logic.solver.solver import Solver
from deepprooflog.syntax.reader import read_term

ENOUGH = 0.25
TIMING = f"""
seconds(Seconds) :-
    once(top), statistics(cputime, T0), runs(T0, 0, Runs, T1), Seconds is (T1 - T0) / Runs.
runs(T0, Done, Runs, T1) :-
    once(top), Next is Done + 1, statistics(cputime, T),
    ( T - T0 > {ENOUGH} -> Runs = Next, T1 = T ; runs(T0, Next, Runs, T1) ).
"""


def theirs(swipl: str, file: Path) -> float:
    """Seconds that SWI-Prolog takes for one run of `top`."""
    goal = f"consult('{file}'), load_timing, seconds(S), print(S), nl"
    load = f'load_timing :- open_string("{TIMING}", In), load_files(timing, [stream(In)]).'
    run = subprocess.run(
        [swipl, "-O", "-q", "-g", f"assertz(({load[:-1]}))", "-g", goal, "-t", "halt"],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return float(run.stdout.split()[-1])


def ours(file: Path) -> tuple[float, float]:
    """Seconds that the plain solver takes for the first run of `top`, and for one after it."""
    solver = Solver(dpl.Program.read(file))
    top = read_term("top.").term

    def once() -> None:
        run = solver.run(top)
        next(run)
        run.close()

    began = time.process_time()
    once()
    first = time.process_time() - began
    began, runs = time.process_time(), 0
    while time.process_time() - began < ENOUGH:
        once()
        runs += 1
    return first, (time.process_time() - began) / runs


def main() -> int:
    """Print a line for each program and the geometric mean of the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    folder = asked.folder
    if folder is None:
        place = os.environ.get("DEEPPROOFLOG_CONFORMANCE")
        if place is None:
            parser.error("name the folder of the programs, or set DEEPPROOFLOG_CONFORMANCE")
        folder = Path(place) / "swi_bench"
    swipl = shutil.which("swipl")
    if swipl is None:
        parser.error("swipl is not installed (Debian: swi-prolog-nox)")
    warnings.simplefilter("ignore")
    ratios: list[tuple[float, float]] = []
    print("program            SWI-Prolog    first run  ratio        later  ratio")
    for file in sorted(folder.glob("*.pl")):
        if asked.names and file.stem not in asked.names:
            continue
        try:
            first, later = ours(file)
        except dpl.ProofLogError as error:
            print(f"{file.stem:<16} {error.message}")
            continue
        there = theirs(swipl, file)
        ratios.append((first / there, later / there))
        print(
            f"{file.stem:<16} {there * 1e3:>9.3f} ms {first * 1e3:>9.3f} ms {first / there:>6.0f}"
            f" {later * 1e3:>9.3f} ms {later / there:>6.0f}",
            flush=True,
        )
    for which, column in zip(("first run", "later runs"), zip(*ratios, strict=True), strict=False):
        mean = math.exp(sum(map(math.log, column)) / len(column))
        print(
            f"{which}: {min(column):.0f} to {max(column):.0f} times slower, "
            f"geometric mean {mean:.0f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
