"""Random labelled programs by every method: grammars, left recursion, folds, trees, cyclic walks.

Whatever the method, the value is one: auto, goal graph, tables, batches unfolded or not, and the
exact fraction where the graph is finite and small. Whatever the question, a budget is one: what
prob solves within it, answers, log_prob and best_proof solve, and what it does not, they do not
(but for a best proof that nothing outside the budget can beat).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import deepprooflog as dpl
from deepprooflog.infer.method import Method
from fuzz.rounds import Rounds, Tally

PROMISE = "every method gives one value, every question reads one budget alike"
QUICK = 6

FEW = dpl.Budget(max_goals=600)
MANY = dpl.Budget(max_goals=6_000)


@dataclass(frozen=True)
class Drawn:
    """A program, a ground query, and its value where the drawing knows it."""

    text: str
    query: str
    value: Fraction | None = None


def labels(rng: random.Random, n: int) -> list[Fraction]:
    """n labels with a sum below 1: no recursion is critical."""
    parts = [rng.randint(1, 9) for _ in range(n)]
    total = sum(parts) + rng.randint(2, 9)
    return [Fraction(part, total) for part in parts]


def grammar(rng: random.Random) -> Drawn:
    """Rules over two or three symbols, recursive on any side, and a sentence."""
    symbols = ["s", "t", "u"][: rng.randint(1, 3)]
    lines = []
    for symbol in symbols:
        bodies = [f"[{rng.choice('ab')}]"]
        for _ in range(rng.randint(1, 3)):
            parts = [rng.choice([*symbols, "[a]", "[b]"]) for _ in range(rng.choice([1, 2, 2, 3]))]
            bodies.append(", ".join(parts))
        for label, body in zip(labels(rng, len(bodies)), bodies, strict=True):
            lines.append(f"{label} :: {symbol} --> {body}.")
    words = ",".join(rng.choice("ab") for _ in range(rng.randint(1, 5)))
    return Drawn("\n".join(lines), f"s([{words}], [])")


def fold(rng: random.Random) -> Drawn:
    """A sum over draws, the recursive call first, in the middle or last; the value by counting."""
    digits = rng.randint(2, 4)
    weights = labels(rng, digits)
    facts = " ".join(f"{w} :: d({i})." for i, w in enumerate(weights))
    body = rng.choice(
        ["f(Xs, T), d(A), S is A + T", "d(A), f(Xs, T), S is A + T", "f(Xs, T), d(A), S is T + A"]
    )
    n = rng.randint(1, 9)
    total = rng.randint(0, (digits - 1) * n)
    counts = {0: Fraction(1)}
    for _ in range(n):
        added: dict[int, Fraction] = {}
        for value, weight in counts.items():
            for i, w in enumerate(weights):
                added[value + i] = added.get(value + i, Fraction(0)) + weight * w
        counts = added
    text = f"{facts}\nf([], 0).\nf([_|Xs], S) :- {body}.\n"
    return Drawn(text, f"f({[0] * n}, {total})", counts.get(total, Fraction(0)))


def tree(rng: random.Random) -> Drawn:
    """A tree of calls of some depth whose leaves succeed or not: p to the number of leaves."""
    (label,) = labels(rng, 1)
    width, depth = rng.choice([(2, 5), (2, 9), (3, 4)])
    calls = ", ".join(["t(M)"] * width)
    text = f"{label} :: leaf.\nt(0) :- leaf.\nt(N) :- N > 0, M is N - 1, {calls}.\n"
    return Drawn(text, f"t({depth})", label ** (width**depth))


def walk(rng: random.Random) -> Drawn:
    """A walk on a few states with cycles, a guard in some steps, calls behind others."""
    n = rng.randint(2, 5)
    lines = ["ok(N) :- \\+ far(N).", "far(9).", "0.5 :: pause. 0.25 :: pause."]
    for i in range(n):
        ends = [
            rng.choice([f"w({rng.randrange(n)})", "true", "fail"]) for _ in range(rng.randint(1, 3))
        ]
        for label, end in zip(labels(rng, len(ends)), ends, strict=True):
            before = rng.choice(["", "", f"ok({i}), ", "pause, "])
            after = rng.choice(["", "", ", pause"])
            lines.append(f"{label} :: w({i}) :- {before}{end}{after}.")
    return Drawn("\n".join(lines), "w(0)")


KINDS = (grammar, grammar, fold, tree, walk)


def outcome(ask: Callable[[], float]) -> float | str:
    """A value, or the name of what was raised in its place."""
    try:
        return ask()
    except dpl.ProofLogError as error:
        return type(error).__name__


def agree(values: list[float | str]) -> bool:
    """All alike: the same error, or numbers equal to nine digits."""
    first = values[0]
    if isinstance(first, str) or any(isinstance(v, str) for v in values):
        return all(v == first for v in values)
    return all(math.isclose(v, first, rel_tol=1e-9, abs_tol=1e-290) for v in values)  # type: ignore[arg-type]


def total(found: dict[str, float]) -> float:
    return math.fsum(found.values())


def values_of(drawn: Drawn) -> dict[str, float | str]:
    """The value by every method; the graph's own only where the graph is small."""
    program, query = dpl.Program(drawn.text), drawn.query
    model = dpl.Model(program)

    def batch(method: Method, unfolding: bool) -> float:
        compiled = model.compile([query], MANY, method=method, unfolding=unfolding)
        return float(model.log_prob(compiled).detach().exp())

    found: dict[str, float | str] = {
        "auto": outcome(lambda: dpl.prob(program, query, budget=MANY)),
        "tabled": outcome(lambda: dpl.prob(program, query, method="tabled", budget=MANY)),
        "answers": outcome(lambda: total(dpl.answers(program, query, budget=MANY))),
        "Model": outcome(lambda: model.prob(query, MANY)),
        "batch": outcome(lambda: batch("auto", False)),
        "unfolded": outcome(lambda: float(model.log_prob([query], dpl.Budget()).detach().exp())),
        "tabled batch": outcome(lambda: batch("tabled", False)),
    }
    if drawn.value is not None:
        found["known"] = float(drawn.value)
    graph = outcome(lambda: dpl.prob(program, query, method="graph", budget=FEW))
    if graph != "Inexact":
        found["graph"] = graph
        found["graph batch"] = outcome(lambda: batch("graph", False))
        if isinstance(graph, float):
            found["fraction"] = float(dpl.exact_fraction(program, query, budget=FEW))
    return found


def budgets_of(drawn: Drawn, rng: random.Random) -> tuple[dpl.Budget, dict[str, float | str]]:
    """What every question says within one tight budget; "" for a best proof that holds anyway."""
    program, query = dpl.Program(drawn.text), drawn.query
    limit = rng.choice(
        [
            {"max_goals": rng.randint(1, 300)},
            {"max_depth": rng.randint(1, 40)},
            {"max_steps": rng.randint(1, 3)},
            {"max_atoms": rng.randint(1, 900)},
        ]
    )
    # The graph of a long tree of calls is finite: without a limit of its own it would take long.
    budget = dpl.Budget(**{"max_goals": 1500, **limit})
    model = dpl.Model(program)
    found: dict[str, float | str] = {
        "prob": outcome(lambda: dpl.prob(program, query, budget=budget)),
        "answers": outcome(lambda: total(dpl.answers(program, query, budget=budget))),
        "log_prob": outcome(lambda: float(model.log_prob([query], budget).detach().exp())),
        "Model.prob": outcome(lambda: model.prob(query, budget)),
    }
    return budget, found


def best_is_one(drawn: Drawn, budget: dpl.Budget, exact: bool) -> bool:
    """Within a budget the best proof is refused or is the one found without it."""
    model = dpl.Model(dpl.Program(drawn.text))

    def best(method: Method, limit: dpl.Budget) -> float | str:
        return outcome(lambda: model.best_proof(drawn.query, limit, method=method).log_prob)

    whole = best("auto", MANY)
    held = [best("tabled", MANY)] if whole != "Inexact" else []
    tight = best("auto", budget)
    if exact or tight != "Inexact":
        held.append(tight)
    return agree([whole, *held])


def attack(rounds: Rounds) -> Tally:
    """Draw programs; compare methods, then questions under a tight budget."""
    tally = Tally()
    for rng in rounds:
        drawn = rng.choice(KINDS)(rng)
        found = values_of(drawn)
        tally.record(agree(list(found.values())), f"{drawn.text} ?- {drawn.query}: {found}")
        budget, asked = budgets_of(drawn, rng)
        tally.record(
            agree(list(asked.values())), f"{drawn.text} ?- {drawn.query} {budget}: {asked}"
        )
        exact = isinstance(asked["prob"], float)
        tally.record(
            best_is_one(drawn, budget, exact),
            f"best proof of {drawn.text} ?- {drawn.query} {budget}",
        )
    return tally
