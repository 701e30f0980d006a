"""Goal graph or tables: seconds by the automatic choice, by tables alone, and their ratio.

Run with `python benchmarks/method.py`. The cases are those in which a goal graph outgrows the
tables: grammars, folds whose recursive call is not last, left recursion; and one in which it does
not, a chain. `log_prob` is the batched question, with the choice and by tables; `long clause` is a
clause of n atoms, whose cost should double with n.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable

import torch

import deepprooflog as dpl
from deepprooflog.infer.method import Method
from deepprooflog.infer.success import Success

RNA = """
0.4 :: s --> l, s.  0.2 :: s --> l.  0.4 :: s --> p.
0.25 :: l --> [a]. 0.25 :: l --> [c]. 0.25 :: l --> [g]. 0.25 :: l --> [u].
0.25 :: p --> [a], s, [u]. 0.25 :: p --> [c], s, [g]. 0.25 :: p --> [g], s, [c].
0.25 :: p --> [u], s, [a].
"""
SUM = "sum([], 0). sum([X|Xs], S) :- d(X, A), sum(Xs, T), S is A + T.\n"
DIGITS = "".join(f"0.1 :: d(_, {i}). " for i in range(10))
LEFT = "0.2 :: s --> s, [a]. 0.4 :: s --> [a]. 0.2 :: s --> s, [b]."
AND = "0.6 :: s --> np, vp. 0.4 :: s --> s, [and], s. 1 :: np --> [we]. 1 :: vp --> [run]."
CHAIN = (
    "0.5 :: step(a, a). 0.5 :: step(a, b). 0.5 :: step(b, a). 0.5 :: step(b, b).\n"
    "chain(0, _). chain(N, S) :- N > 0, step(S, T), M is N - 1, chain(M, T).\n"
)


def bases(n: int) -> str:
    """A sequence of n bases."""
    rng = random.Random(1)
    return f"[{','.join(rng.choice('acgu') for _ in range(n))}]"


CASES = [
    ("RNA grammar, 14 bases", RNA, f"s({bases(14)}, [])"),
    ("RNA grammar, 30 bases", RNA, f"s({bases(30)}, [])"),
    ("RNA grammar, 60 bases", RNA, f"s({bases(60)}, [])"),
    ("sum of 8 digits, not last", DIGITS + SUM, f"sum({[0] * 8}, 30)"),
    ("left recursion, 5 words", LEFT, "s([a,b,b,a,b], [])"),
    ("conjunction, 2 words", AND, "s([we,run], [])"),
    ("conjunction, 8 words", AND, "s([we,run,and,we,run,and,we,run], [])"),
    ("chain of 2,000 steps", CHAIN, "chain(2000, a)"),
]


def seconds(run: Callable[[], object], repeat: int = 3) -> float:
    """The median time of a few runs."""
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def show(name: str, auto: float, tables: float, note: str = "") -> None:
    """A line of the table."""
    print(f"{name:<34}{auto:>9.3f}{tables:>9.3f}{auto / tables:>8.1f}  {note}", flush=True)


def choices() -> None:
    """Each case as a question of its own and as a batch of one."""
    print(f"{'seconds':<34}{'auto':>9}{'tables':>9}{'ratio':>8}")
    for name, text, query in CASES:
        program = dpl.Program(text)
        model = dpl.Model(program)

        def ask(method: Method, p: dpl.Program = program, q: str = query) -> Success:
            return dpl.success(p, q, method=method)

        def batch(method: Method, m: dpl.Model = model, q: str = query) -> torch.Tensor:
            return m.log_prob([q], method=method)

        used = ask("auto").method
        show(name, seconds(lambda: ask("auto")), seconds(lambda: ask("tabled")), used)
        show("  log_prob", seconds(lambda: batch("auto")), seconds(lambda: batch("tabled")))


def tensors(queries: int) -> None:
    """Sums of eight pictures by a network, in a batch that shares its tables."""
    torch.manual_seed(0)
    net = torch.nn.Linear(4, 10)
    program = dpl.Program("nn(net, [X], D, 0..9) :: d(X, D).\n" + SUM)
    model = dpl.Model(program, networks={"net": net})
    rows = torch.randn(queries, 8, 4)
    goals = [dpl.goal("sum(L, S)", L=list(row), S=36) for row in rows]
    for some in (goals[:1], goals):
        compiling = seconds(lambda g=some: model.compile(g), 1)
        compiled = model.compile(some)
        solving = seconds(lambda c=compiled: model.log_prob(c).sum().backward(), 1)
        print(f"sums of 8 pictures, batch of {len(some):<5} compile {compiling:.3f} s, "
              f"log_prob and gradient {solving:.3f} s", flush=True)  # fmt: skip


def long_clause() -> None:
    """A clause of n atoms by graph and tables, and what doubling n costs."""
    print(f"{'long clause':<34}{'graph':>9}{'tables':>9}")
    before: tuple[float, float] | None = None
    for n in (400, 800, 1600, 3200):
        body = ", ".join(f"q(X{i}, X{i + 1})" for i in range(n))
        program = dpl.Program(f"p :- {body}. 0.5 :: q(a, b). 0.5 :: q(b, a).")
        graph, tables = (
            seconds(lambda m=m, p=program: dpl.success(p, "p", method=m), 1)
            for m in ("graph", "tabled")
        )
        ratio = "" if before is None else f"  ×{graph / before[0]:.1f} ×{tables / before[1]:.1f}"
        print(f"{n:<34}{graph:>9.3f}{tables:>9.3f}{ratio}", flush=True)
        before = graph, tables


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=32, help="size of the batch of sums")
    options = parser.parse_args()
    choices()
    tensors(options.queries)
    long_clause()


if __name__ == "__main__":
    main()
