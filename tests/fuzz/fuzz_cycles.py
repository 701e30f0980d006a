"""Random cyclic programs through every engine, against fractions solved without rounding.

States p0 … pn with labelled clauses to each other, to success and to failure; rows that lose
nothing, rows that leak, loops of weight 1 − 10⁻ᵏ. What `measure` says about its error is held
against the truth, and gradients against expected counts found over fractions.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction

import deepprooflog as dpl
from fuzz.rounds import Rounds, Tally
from infer.random_cycles import System, dense_solution, log_fraction

PROMISE = "probabilities round cycles are right to the error they state, and gradients to 1e-8"
QUICK = 25


@dataclass(frozen=True)
class Chain:
    """Clauses (i, label, target): target n succeeds, n + 1 fails."""

    n: int
    clauses: tuple[tuple[int, Fraction, int], ...]

    def text(self, learned: bool = False) -> str:
        """The chain as a program, with constant or with trainable labels."""
        lines = []
        for i, label, j in self.clauses:
            body = "" if j == self.n else " :- fail" if j > self.n else f" :- p{j}"
            weight = f"t({label})" if learned else str(label)
            lines.append(f"{weight} :: p{i}{body}.")
        return "\n".join(lines)


def draw_chain(rng: random.Random) -> Chain:
    """Rows of up to four clauses."""
    n = rng.randint(1, 7)
    clauses = []
    for i in range(n):
        ends = [rng.randrange(n + 2) for _ in range(rng.randint(1, 4))]
        parts = [Fraction(rng.randint(1, 9)) for _ in ends]
        if rng.random() < 0.3:
            parts[0] *= Fraction(10) ** rng.choice([3, 8, 16, 40])
        leak = rng.choice([Fraction(0), Fraction(0), Fraction(1, 7), Fraction(1, 10**16)])
        total = sum(parts, Fraction(0)) / (1 - leak)
        clauses += [(i, part / total, j) for part, j in zip(parts, ends, strict=True)]
    return Chain(n, tuple(clauses))


def attack(rounds: Rounds) -> Tally:
    """Compare each chain's values, errors and gradients with fractions."""
    tally = Tally()
    for number, rng in enumerate(rounds):
        chain = draw_chain(rng)
        tally.record(*_values(chain, number))
        tally.record(*_gradients(chain, number))
    return tally


def _values(chain: Chain, number: int) -> tuple[bool, str]:
    case = f"case {number}: {chain.text()!r}"
    x = _solution(chain)[0]
    program = dpl.Program(chain.text())
    if dpl.exact_fraction(program, "p0") != x:
        return False, f"{case}: exact_fraction is not {x}"
    for method in ("graph", "tabled"):
        found = dpl.success(program, "p0", method=method)
        if not x:
            if found.lower != 0 or not found.exact:
                return False, f"{case}: {method} gives {found} for 0"
            continue
        log = log_fraction(x)
        ulp = 2.0**-51 * (1 + abs(log))  # of the logarithm that is compared with
        if found.exact:
            held = found.error <= 1e-9 and abs(found.log_lower - log) <= found.error + ulp
        else:
            held = found.log_lower <= log + ulp
            held &= found.log_upper is None or found.log_upper >= log - ulp
        if not held or found.lower > 1 or (method == "graph" and not found.exact):
            return False, f"{case}: {method} gives {found} for {log}"
    log_prob = dpl.Model(program).log_prob(["p0"]).item()
    if x and abs(log_prob - log_fraction(x)) > 1e-12:
        return False, f"{case}: log_prob gives {log_prob}"
    return True, case


def _gradients(chain: Chain, number: int) -> tuple[bool, str]:
    """d log x₀ / d logit of a clause: how often success takes it, less its share of all."""
    case = f"gradients of case {number}: {chain.text(learned=True)!r}"
    if any(label < Fraction(1, 10**5) for _, label, _ in chain.clauses):
        return True, f"{case}: labels that small begin elsewhere"
    x, visits = _solution(chain)
    if not x:
        return True, case
    values, _ = _all(chain)
    count = []
    for i, label, j in chain.clauses:
        after = Fraction(1) if j == chain.n else Fraction(0) if j > chain.n else values[j]
        count.append(visits[i] * label * after / x)
    model = dpl.Model(dpl.Program(chain.text(learned=True)))
    log = model.log_prob(["p0"])
    if abs(log.item() - log_fraction(x)) > 1e-9:
        return False, f"{case}: {log.item()} for {log_fraction(x)}"
    log.sum().backward()
    assert model.labels.logits.grad is not None
    found = model.labels.logits.grad.tolist()
    written = [c for p in model.program.predicates.values() for c in p.entries]
    for k, place in enumerate(model.labels.numbers(written)):
        i, label, _ = chain.clauses[k]
        taken = sum(
            (n for n, c in zip(count, chain.clauses, strict=True) if c[0] == i), Fraction(0)
        )
        expected = float(count[k] - label * taken)
        if abs(found[place] - expected) > 1e-8 * (1 + float(taken)):
            return False, f"{case}: clause {k} has {found[place]} for {expected}"
    return True, case


def _all(chain: Chain) -> tuple[list[Fraction], list[Fraction]]:
    """x of all states, and the visits of walks from state 0, among states that can succeed."""
    n = chain.n
    alive = {n}
    while True:
        more = {i for i, label, j in chain.clauses if label and j in alive}
        if more <= alive:
            break
        alive |= more
    steps = tuple(
        (i, j, label) for i, label, j in chain.clauses if i in alive and j in alive and j < n
    )
    right = [Fraction(0)] * n
    for i, label, j in chain.clauses:
        if j == n:
            right[i] += label
    system = System(n, steps, tuple(right))
    begin = [Fraction(int(i == 0 and 0 in alive)) for i in range(n)]
    return dense_solution(system, right), dense_solution(system, begin, transposed=True)


def _solution(chain: Chain) -> tuple[Fraction, list[Fraction]]:
    values, visits = _all(chain)
    return values[0], visits
