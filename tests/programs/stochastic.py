"""Random terminating stochastic logic programs whose unlabelled clauses exclude each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from hypothesis import strategies as st

from oracles.problog_oracle import Atom, Guard, SlpClause
from programs.cases import Dice, Draw
from programs.parts import labels

CONSTANTS = ("a", "b", "c")
PEANO = ("z", "s(z)", "s(s(z))", "s(s(s(z)))")
DERIVATIONS = 120
"""About how many a query may have: what ProbLog compiles grows exponentially with them."""


@dataclass(frozen=True)
class SlpCase:
    """A stochastic logic program and queries, open and ground."""

    clauses: tuple[SlpClause, ...]
    queries: tuple[Atom, ...]

    @property
    def text(self) -> str:
        return "\n".join(map(str, self.clauses)) + "\n"


@dataclass(frozen=True)
class Slp(Dice):
    """Draws predicates: sources p(Out), kernels p(In, Out), and their clauses so far."""

    sources: list[str] = field(default_factory=list)
    kernels: list[str] = field(default_factory=list)
    clauses: list[SlpClause] = field(default_factory=list)
    derivations: dict[str, int] = field(default_factory=dict)

    def count(self, body: Sequence[Atom | Guard]) -> int:
        """At most how many derivations a body has."""
        return math.prod(self.derivations[g[0]] for g in body if not isinstance(g, Guard))

    def few(self, names: list[str], limit: int = 12) -> str:
        """One of the predicates with few derivations; the first always has few."""
        return self.pick([n for n in names if self.derivations[n] <= limit])

    def labels(self, most: int, least: int = 1) -> list[Fraction]:
        """Labels in twentieths with a sum of at most 1, often exactly 1."""
        return list(self.draw(labels(most, least, grain=20)))

    def add(self, label: Fraction | None, head: Atom, *body: Atom | Guard, row: str = "") -> None:
        self.clauses.append(SlpClause(label, head, tuple(body), row))
        if all(isinstance(g, Guard) or g[0] != head[0] for g in body):
            self.derivations[head[0]] = self.derivations.get(head[0], 0) + self.count(body)

    def facts(self, name: str) -> None:
        """A source of labelled facts; the same fact may be there twice."""
        for label in self.labels(4):
            self.add(label, (name, (self.pick(CONSTANTS),)))
        self.sources.append(name)

    def rows(self, name: str) -> None:
        """A kernel of facts, a distribution for each input, perhaps none for some."""
        for given in CONSTANTS[: 2 + self.below(2)]:
            for label in self.labels(3):
                self.add(label, (name, (given, self.pick(CONSTANTS))), row=given)
        self.kernels.append(name)

    def reach(self, out: str, start: str | None) -> list[Atom | Guard]:
        """Goals that bind `out`: draws that must agree, detours, guards."""
        body: list[Atom | Guard] = []
        at = start
        if at is None or self.below(3) == 1:
            at = f"{out}0"
            body.append((self.few(self.sources), (at,)))
        if self.below(3) == 1:
            body.append(Guard(f"{at} \\= {self.pick(CONSTANTS)}"))
        if self.kernels and self.below(2):
            body.append((self.few(self.kernels), (at, f"{out}1")))
            at = f"{out}1"
        shape = self.below(3)
        if shape == 0:
            body.append(Guard(f"{out} = {at}"))
        elif shape == 1:
            body += [Guard(f"{out} = {at}"), (self.few(self.sources), (out,))]
        else:
            body.append((self.few(self.sources), (out,)))
            if self.below(2):
                body.append(Guard(f"{out} \\= {at}"))
        return body

    def rules(self, name: str) -> None:
        """A labelled source or kernel defined by rules."""
        kernel = bool(self.below(2))
        for label in self.labels(3):
            args = ("I", "O") if kernel else ("O",)
            self.add(label, (name, args), *self.reach("O", "I" if kernel else None))
        (self.kernels if kernel else self.sources).append(name)

    def dispatch(self, name: str) -> None:
        """An unlabelled kernel whose clauses differ in their first argument."""
        for given in CONSTANTS:
            self.add(None, (name, (given, "O")), *self.reach("O", None))
        self.kernels.append(name)

    def walk(self, name: str) -> Atom:
        """A chain along a list, unlabelled; returns a query."""
        step, seen = self.few(self.kernels), self.few(self.kernels)
        self.add(None, (name, ("[]", "S", "S")))
        heads: list[Atom | Guard] = [(seen, ("S", "H"))] if self.below(2) else []
        body: list[Atom | Guard] = [*heads, (step, ("S", "S1"))]
        self.add(None, (name, ("[H|T]", "S", "E")), *body, (name, ("T", "S1", "E")))
        longest = max(1, int(math.log(DERIVATIONS, max(2, self.count(body)))))
        items = ",".join(self.pick(CONSTANTS) for _ in range(1 + self.below(min(3, longest))))
        return name, (f"[{items}]", self.pick(CONSTANTS), "E")

    def grow(self, name: str) -> Atom:
        """A list of random length up to a bound, labelled; returns a query."""
        stop, go = self.labels(2, 2)
        source = self.few(self.sources)
        self.add(Fraction(1), (name, ("z", "[]")), row="z")
        self.add(stop, (name, ("s(_)", "[]")), row="s")
        again = (name, ("N", "T"))
        self.add(go, (name, ("s(M)", "[H|T]")), (source, ("H",)), Guard("N = M"), again, row="s")
        longest = max(1, int(math.log(DERIVATIONS, max(2, self.derivations[source]))))
        return name, (PEANO[min(3, longest) - self.below(2)], "L")


@st.composite
def slp_cases(draw: Draw) -> SlpCase:
    """Programs with two open queries and a ground one."""
    slp = Slp(draw)
    slp.facts("c0")
    slp.facts("c1")
    slp.rows("r0")
    for i in range(2 + slp.below(3)):
        slp.pick([slp.rules, slp.dispatch, slp.rules, slp.rows])(f"d{i}")
    source, kernel = slp.sources[-1], slp.kernels[-1]
    last = slp.walk("w") if slp.below(2) else slp.grow("g")
    ground: Atom = (kernel, (slp.pick(CONSTANTS), slp.pick(CONSTANTS)))
    return SlpCase(tuple(slp.clauses), (last, ground, (source, ("O",))))
