"""Random labelled programs as data, with their meaning computed from the data alone.

A program is a list of clauses (label, head, body) over propositional predicates. `chains` have at
most one recursive call, last in the body, so that their goal graph is finite and their
probabilities solve a linear system, cycles included; `layered` programs call only later predicates,
so that their derivations can be listed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from programs.parts import clause, labels

LEAVES = {"d": (0.5, 0.25), "e": (0.75,)}
"""Predicates of labelled facts: two ways to succeed, or one."""


@dataclass(frozen=True)
class Labelled:
    """Clauses of predicates p0 … p(n−1), and those of the leaves."""

    n: int
    clauses: tuple[tuple[float, int, tuple[str, ...]], ...]

    @property
    def text(self) -> str:
        lines = [clause(name, (), p) for name, facts in LEAVES.items() for p in facts]
        lines += [clause(f"p{head}", body, label) for label, head, body in self.clauses]
        defined = {head for _, head, _ in self.clauses}
        lines += [f"1 :: p{i} :- fail." for i in range(self.n) if i not in defined]
        return "\n".join(lines) + "\n"


@st.composite
def chains(draw: st.DrawFn) -> Labelled:
    """Clauses `p_i :- leaves, p_j` or `p_i :- leaves`: a Markov chain with failing."""
    n = draw(st.integers(1, 6))
    clauses = []
    for head in range(n):
        for label in map(float, draw(labels())):
            body = draw(st.lists(st.sampled_from(sorted(LEAVES)), max_size=2))
            after = draw(st.integers(-1, n - 1))
            clauses.append((label, head, (*body, *([f"p{after}"] if after >= 0 else []))))
    return Labelled(n, tuple(clauses))


@st.composite
def layered(draw: st.DrawFn) -> Labelled:
    """Clauses whose bodies call later predicates and leaves only."""
    n = draw(st.integers(1, 4))
    clauses = []
    for head in range(n):
        later = [f"p{i}" for i in range(head + 1, n)] + sorted(LEAVES)
        for label in map(float, draw(labels())):
            body = draw(st.lists(st.sampled_from(later), max_size=3))
            clauses.append((label, head, tuple(body)))
    return Labelled(n, tuple(clauses))


def linear_system(program: Labelled) -> tuple[np.ndarray, np.ndarray]:
    """A and b of V = A V + b for a chain."""
    a, b = np.zeros((program.n, program.n)), np.zeros(program.n)
    for label, head, body in program.clauses:
        weight = label
        calls = [int(atom[1:]) for atom in body if atom.startswith("p")]
        for atom in body:
            weight *= math.fsum(LEAVES[atom]) if atom in LEAVES else 1.0
        if calls:
            a[head, calls[0]] += weight
        else:
            b[head] += weight
    return a, b


def reaching(program: Labelled) -> np.ndarray:
    """Which predicates of a chain have a derivation of nonzero weight."""
    a, b = linear_system(program)
    live = b > 0
    for _ in range(program.n):
        live = live | (a @ live > 0)
    return live


def chain_values(program: Labelled) -> np.ndarray:
    """p_success of each predicate of a chain, by one dense solve."""
    a, b = linear_system(program)
    live = np.flatnonzero(reaching(program))
    values = np.zeros(program.n)
    inner = a[np.ix_(live, live)]
    values[live] = np.linalg.solve(np.eye(len(live)) - inner, b[live])
    return values


def derivations(program: Labelled, head: int) -> Iterator[float]:
    """The weights of all successful derivations of a layered program's predicate."""
    for label, other, body in program.clauses:
        if other == head and label > 0:
            for weight in _of_body(program, body):
                yield label * weight


def _of_body(program: Labelled, body: tuple[str, ...]) -> Iterator[float]:
    if not body:
        yield 1.0
        return
    first = body[0]
    options = LEAVES[first] if first in LEAVES else derivations(program, int(first[1:]))
    for weight in options:
        for rest in _of_body(program, body[1:]):
            yield weight * rest
