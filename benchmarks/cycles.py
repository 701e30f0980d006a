"""Cycles: seconds and memory by size, from the program's text to the probability.

Run with `python benchmarks/cycles.py`; `--small` leaves out what takes longer than a few seconds.
Every figure is taken in a process of its own: seconds of one core, the part of them that went into
the solution once the goals are explored, the most memory held, and the ratio to half the size.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

os.environ.setdefault("OMP_NUM_THREADS", "1")

import deepprooflog as dpl
from deepprooflog.graph.explore import explore
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.resolve import start

MOST = dpl.Budget(max_goals=10_000_000)


@dataclass(frozen=True)
class Case:
    """A question, how it is asked, and what it must come to (None where no closed form is used)."""

    text: str
    query: str
    ask: Callable[[dpl.Program, str], float]
    value: float | None


def prob(program: dpl.Program, query: str) -> float:
    return dpl.prob(program, query, budget=MOST)


def walk(n: int) -> Case:
    """A fair walk between 0 and n: a quarter of the way up, ¼."""
    text = f"""
    0.5 :: move(1).  0.5 :: move(-1).
    walk(0) :- !, fail.
    walk({n}) :- !.
    walk(N) :- move(D), M is N + D, walk(M).
    """
    return Case(text, f"walk({n // 4})", prob, 0.25)


def ring(n: int) -> Case:
    """A walk round n places that stops at each with 1/100: certain."""
    text = f"""
    0.495 :: at(N) :- M is (N + 1) mod {n}, at(M).
    0.495 :: at(N) :- M is (N - 1) mod {n}, at(M).
    0.01 :: at(_).
    """
    return Case(text, "at(0)", prob, 1.0)


def torus(k: int) -> Case:
    """A walk on k × k squares whose edges are joined; ½ half way between success and failure."""
    text = f"""
    0.25 :: move(0, 1).  0.25 :: move(0, -1).  0.25 :: move(1, 0).  0.25 :: move(-1, 0).
    at(0, 0) :- !.
    at({k // 2}, 0) :- !, fail.
    at(R, C) :- move(A, B), S is (R + A) mod {k}, D is (C + B) mod {k}, at(S, D).
    """
    return Case(text, f"at({k // 4}, 1)", prob, 0.5)


def ruin(goals: int) -> Case:
    """Bounds of a fair game against a bank without end, after so many goals."""
    text = """
    0.5 :: move(1).  0.5 :: move(-1).
    ruin(0) :- !.
    ruin(N) :- move(D), M is N + D, ruin(M).
    """

    def lower(program: dpl.Program, query: str) -> float:
        return dpl.bounds(program, query, dpl.Budget(max_goals=goals))[0]

    return Case(text, "ruin(1)", lower, None)


def fraction(n: int) -> Case:
    """The fair walk as an exact fraction."""
    case = walk(n)

    def exact(program: dpl.Program, query: str) -> float:
        return float(dpl.exact_fraction(program, query, budget=MOST))

    return Case(case.text, case.query, exact, 0.25)


SECTIONS: dict[str, tuple[Callable[[int], Case], list[int], list[int]]] = {
    "walk": (walk, [2500, 5000, 10000], [50000, 100000]),
    "ring": (ring, [5000, 10000], [50000, 100000]),
    "torus": (torus, [20, 40], [80]),
    "bounds of ruin": (ruin, [10000, 20000], [200000, 400000]),
    "exact_fraction": (fraction, [80, 160, 320], [640]),
}


def measure(section: str, size: int) -> dict[str, float]:
    """One figure, in this process."""
    case = SECTIONS[section][0](size)
    program = dpl.Program(case.text)
    began = time.process_time()
    value = case.ask(program, case.query)
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if case.value is not None and abs(value - case.value) > 1e-9 * case.value:
        raise SystemExit(f"{section} {size}: {value} is not {case.value}")
    exploring = 0.0
    if section != "bounds of ruin":
        began = time.process_time()
        interner = Interner()
        explore(program, [start(program.query(case.query).atoms, interner)], interner, MOST)
        exploring = time.process_time() - began
    return {"seconds": seconds, "exploring": exploring, "megabytes": peak, "value": value}


def main() -> None:
    """Print the table, one process for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="leave out the larger sizes")
    parser.add_argument("--sections", nargs="*", choices=list(SECTIONS), help="only these")
    parser.add_argument("--one", nargs=2, metavar=("SECTION", "SIZE"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(asked.one[0], int(asked.one[1]))))
        return
    print(f"{'':16}{'size':>9}{'seconds':>9}{'solving':>9}{'MB':>7}{'ratio':>7}  value")
    for section in asked.sections or SECTIONS:
        _, few, many = SECTIONS[section]
        before: tuple[int, float] | None = None
        for size in few if asked.small else [*few, *many]:
            command = [sys.executable, __file__, "--one", section, str(size)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            seconds, exploring = found["seconds"], found["exploring"]
            ratio = ""
            if before is not None and size == 2 * before[0]:
                ratio = f"{seconds / before[1]:.1f}"
            solving = f"{seconds - exploring:.2f}" if exploring else ""
            print(
                f"{section:16}{size:>9,}{seconds:>9.2f}{solving:>9}{found['megabytes']:>7.0f}"
                f"{ratio:>7}  {found['value']:.12g}",
                flush=True,
            )
            before = size, seconds


if __name__ == "__main__":
    main()
