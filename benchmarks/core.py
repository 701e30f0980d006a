"""The logic core against ProbLog and SWI-Prolog, and against itself at twice the size.

Run with `make bench` or `python benchmarks/core.py`. Everything is measured in one run on one
thread; what counts are the ratios. Each figure is the median of several repetitions after one
that is not counted. ProbLog and SWI-Prolog are used where they are installed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import deepprooflog as dpl
from deepprooflog.logic.body import conjunction
from deepprooflog.logic.query import parse_query
from deepprooflog.logic.solver.solver import Solver

HMM_SLP = """
0.6 :: init(s1). 0.4 :: init(s2).
0.7 :: tr(s1, s1). 0.3 :: tr(s1, s2). 0.2 :: tr(s2, s1). 0.8 :: tr(s2, s2).
0.9 :: em(s1, a). 0.1 :: em(s1, b). 0.3 :: em(s2, a). 0.7 :: em(s2, b).
hmm(L) :- init(S), go(S, L).
go(_, []).
go(S, [O|Os]) :- em(S, O), tr(S, S2), go(S2, Os).
"""
HMM_PROBLOG = """
0.6::init(s1); 0.4::init(s2).
0.7::tr(T,s1,s1); 0.3::tr(T,s1,s2).  0.2::tr(T,s2,s1); 0.8::tr(T,s2,s2).
0.9::em(T,s1,a); 0.1::em(T,s1,b).  0.3::em(T,s2,a); 0.7::em(T,s2,b).
hmm(L) :- init(S), go(S,0,L).
go(_,_,[]).
go(S,T,[O|Os]) :- em(T,S,O), tr(T,S,S2), T1 is T+1, go(S2,T1,Os).
"""
PCFG_SLP = """
0.3 :: s --> [a], s.
0.2 :: s --> [b], s.
0.4 :: s --> [a].
0.1 :: s --> [b].
"""
# One annotated disjunction for each step of a derivation, told apart by the step's number.
PCFG_PROBLOG = """
0.3::rule(T,1); 0.2::rule(T,2); 0.4::rule(T,3); 0.1::rule(T,4).
s(T,S0,S) :- rule(T,R), use(R,T,S0,S).
use(1,T,[a|S0],S) :- T1 is T+1, s(T1,S0,S).
use(2,T,[b|S0],S) :- T1 is T+1, s(T1,S0,S).
use(3,_,[a|S],S).
use(4,_,[b|S],S).
"""
PLAIN = """
app([], L, L).
app([H|T], L, [H|R]) :- app(T, L, R).
nrev([], []).
nrev([H|T], R) :- nrev(T, RT), app(RT, [H], R).
range(N, N, [N]).
range(I, N, [I|T]) :- I < N, J is I + 1, range(J, N, T).
queens(N, Qs) :- range(1, N, L), place(L, [], Qs).
place([], Qs, Qs).
place(L, Acc, Qs) :- sel(Q, L, R), safe(Q, 1, Acc), place(R, [Q|Acc], Qs).
sel(X, [X|T], T).
sel(X, [H|T], [H|R]) :- sel(X, T, R).
safe(_, _, []).
safe(Q, D, [Q1|Qs]) :- Q =\\= Q1 + D, Q =\\= Q1 - D, D1 is D + 1, safe(Q, D1, Qs).
"""


# Nodes and steps of the walk: ProbLog's compilation grows steeply with both.
WALK = (6, 10)


def median_seconds(run: Callable[[], object], repeat: int) -> float:
    """The median time of `repeat` runs, after one to warm up."""
    if repeat > 1:
        run()
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def word(n: int) -> str:
    rng = random.Random(0)
    return "[" + ",".join(rng.choice("ab") for _ in range(n)) + "]"


def walk_programs(nodes: int, steps: int) -> tuple[str, str, str]:
    """A random walk on a graph with cycles, cut off after some steps, for both systems."""
    rng = random.Random(1)
    slp, problog = [], []
    for i in range(nodes):
        a, b = rng.sample(range(nodes), 2)
        slp.append(f"0.6 :: next(n{i}, n{a}). 0.4 :: next(n{i}, n{b}).")
        problog.append(f"0.6::next(T,n{i},n{a}); 0.4::next(T,n{i},n{b}).")
    goal = f"n{nodes - 1}"
    slp.append(f"walk({goal}, _) :- !.")
    slp.append(f"walk(X, T) :- T < {steps}, next(X, Y), T1 is T+1, walk(Y, T1).")
    problog.append(f"walk({goal},_).")
    problog.append(f"walk(X,T) :- X \\= {goal}, T < {steps}, next(T,X,Y), T1 is T+1, walk(Y,T1).")
    return "\n".join(slp), "\n".join(problog), "walk(n0, 0)"


def problog_probability(text: str, query: str) -> float:
    from problog import get_evaluatable
    from problog.program import PrologString

    result = get_evaluatable().create_from(PrologString(f"{text}\nquery({query}).")).evaluate()
    return float(next(iter(result.values())))


def exact_inference(rows: list[dict[str, object]], have_problog: bool) -> None:
    walk_slp, walk_problog, walk_query = walk_programs(*WALK)
    cases = [
        ("HMM of length 200", HMM_SLP, HMM_PROBLOG, f"hmm({word(200)})", f"hmm({word(200)})"),
        ("PCFG sentence of 100", PCFG_SLP, PCFG_PROBLOG,
         f"s({word(100)}, [])", f"s(0,{word(100)},[])"),
        ("walk on a cyclic graph", walk_slp, walk_problog, walk_query, walk_query),
    ]  # fmt: skip
    for name, slp, problog, query, problog_query in cases:
        value = dpl.prob(dpl.Program(slp), query)
        ours = median_seconds(lambda s=slp, q=query: dpl.prob(dpl.Program(s), q), 5)
        row: dict[str, object] = {"case": name, "ours_s": ours}
        if have_problog:
            begin = time.perf_counter()
            other = problog_probability(problog, problog_query)
            row["problog_s"] = time.perf_counter() - begin
            row["ratio"] = row["problog_s"] / ours
            row["agree"] = abs(value - other) <= 1e-6 * max(value, other)
        rows.append(row)
        show(row)


def scaling(rows: list[dict[str, object]]) -> None:
    hmm = dpl.Program(HMM_SLP)
    chain = dpl.Program(
        "0.5 :: step(a, a). 0.5 :: step(a, b). 0.5 :: step(b, a). 0.5 :: step(b, b).\n"
        "chain(0, _).\nchain(N, S) :- N > 0, step(S, T), M is N - 1, chain(M, T).\n"
    )
    cases = [
        ("HMM", [2500, 5000, 10000], lambda n: dpl.success(hmm, f"hmm({word(n)})")),
        # A link of the chain takes eight goals: four steps in each of two states.
        ("2-state chain of goals", [25000, 50000, 100000],
         lambda n: dpl.success(chain, f"chain({n // 8}, a)")),
    ]  # fmt: skip
    for name, sizes, run in cases:
        # Sizes take turns, so that a machine that gets slower or faster does so for all of them.
        times: dict[int, list[float]] = {n: [] for n in sizes}
        results = {n: run(n) for n in sizes}
        for _ in range(7):
            for n in sizes:
                begin = time.perf_counter()
                run(n)
                times[n].append(time.perf_counter() - begin)
        for n in sizes:
            row = {
                "case": f"{name} {n}", "ours_s": statistics.median(times[n]),
                "goals": results[n].goals, "log_p": results[n].log_lower, "peak_mb": peak_mb(),
            }  # fmt: skip
            rows.append(row)
            show(row)
        ratios = [c / a for a, c in zip(times[sizes[0]], times[sizes[2]], strict=True)]
        row = {"case": f"{name}: two doublings cost", "ratio": statistics.median(ratios)}
        rows.append(row)
        show(row)


def plain_resolution(rows: list[dict[str, object]], have_problog: bool, swipl: str | None) -> None:
    program = dpl.Program(PLAIN)
    thirty = "[" + ",".join(map(str, range(1, 31))) + "]"
    inferences = 496  # (n + 1)(n + 2) / 2 for n = 30

    def all_answers(query: str) -> int:
        goal = conjunction(parse_query(query).atoms)
        return sum(1 for _ in Solver(program).run(goal))

    def many_reversals(times: int = 50) -> None:
        for _ in range(times):
            all_answers(f"nrev({thirty}, R)")

    ours_nrev = median_seconds(many_reversals, 5) / 50
    ours_queens = median_seconds(lambda: all_answers("queens(6, Qs)"), 5)
    found = {"naive reverse of 30": ours_nrev, "queens 6, all solutions": ours_queens}
    problog = problog_plain(thirty) if have_problog else {}
    swi = swi_plain(swipl, thirty) if swipl else {}
    for name, seconds in found.items():
        row: dict[str, object] = {"case": name, "ours_s": seconds}
        if name.startswith("naive"):
            row["ours_lips"] = inferences / seconds
        if name in problog:
            row["problog_s"] = problog[name]
            row["ratio"] = problog[name] / seconds
        if name in swi:
            row["swi_s"] = swi[name]
            row["slower_than_swi"] = seconds / swi[name]
        rows.append(row)
        show(row)


def problog_plain(thirty: str) -> dict[str, float]:
    from problog.engine import DefaultEngine
    from problog.logic import Constant, Term, list2term
    from problog.program import PrologString

    engine = DefaultEngine()
    database = engine.prepare(PrologString(PLAIN))
    items = list2term([Constant(i) for i in range(1, 31)])

    # ProbLog tables every call, so a second run would be a look-up: each run has its own engine.
    def fresh(query: Term) -> float:
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            assert DefaultEngine().query(database, query)
            times.append(time.perf_counter() - begin)
        return statistics.median(times)

    return {
        "naive reverse of 30": fresh(Term("nrev", items, None)),
        "queens 6, all solutions": fresh(Term("queens", Constant(6), None)),
    }


def swi_plain(swipl: str, thirty: str) -> dict[str, float]:
    program = (
        PLAIN
        + f"""
time(Goal, Times, S) :- statistics(cputime, T0), forall(between(1, Times, _), forall(Goal, true)),
    statistics(cputime, T1), S is (T1 - T0) / Times.
main :- time(nrev({thirty}, _), 2000, A), time(queens(6, _), 50, B), write(A), nl, write(B), nl.
:- initialization((main, halt)).
"""
    )
    with tempfile.NamedTemporaryFile("w", suffix=".pl") as f:
        f.write(program)
        f.flush()
        out = subprocess.run([swipl, "-q", f.name], capture_output=True, text=True, timeout=120)
    first, second = (float(line) for line in out.stdout.split())
    return {"naive reverse of 30": first, "queens 6, all solutions": second}


def facts(rows: list[dict[str, object]]) -> None:
    rng = random.Random(2)
    n = 1_000_000
    text = "\n".join(f"r{rng.randrange(20)}(e{rng.randrange(200000)},e{rng.randrange(200000)})."
                     for _ in range(n))  # fmt: skip
    begin = time.perf_counter()
    program = dpl.Program(text)
    row: dict[str, object] = {"case": "load 1,000,000 facts", "ours_s": time.perf_counter() - begin}
    begin = time.perf_counter()
    list(dpl.solve(program, "r3(e5, X)"))
    row["first_lookup_s"] = time.perf_counter() - begin
    row["later_lookup_s"] = median_seconds(lambda: list(dpl.solve(program, "r3(e77, X)")), 5)
    row["peak_mb"] = peak_mb()
    rows.append(row)
    show(row)


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def show(row: dict[str, object]) -> None:
    parts = [f"{row['case']:<34}"]
    for key, value in row.items():
        if key != "case":
            parts.append(f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}")
    print("  ".join(parts), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="FILE", help="write all figures to a file")
    options = parser.parse_args()
    try:
        import problog  # noqa: F401

        have_problog = True
    except ImportError:
        have_problog = False
        print("ProbLog is not installed: its columns are left out", file=sys.stderr)
    swipl = shutil.which("swipl")
    if swipl is None:
        print("SWI-Prolog is not installed: its columns are left out", file=sys.stderr)
    print(f"Python {platform.python_version()}, {platform.machine()}, one thread")
    rows: list[dict[str, object]] = []
    scaling(rows)
    exact_inference(rows, have_problog)
    plain_resolution(rows, have_problog, swipl)
    facts(rows)
    if options.json:
        with open(options.json, "w") as f:
            json.dump(rows, f, indent=1)


if __name__ == "__main__":
    main()
