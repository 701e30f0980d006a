"""Random programs of unary and binary relations whose goal graphs are small.

The bodies of relation k call relations below k, or with `recursive` also relation k itself.
"""

from __future__ import annotations

import random

from deepprooflog.logic.program import Order, Program

CONSTANTS = ["a", "b", "c", "7"]
HIGHEST = 3


def text_of(dice: random.Random, recursive: bool) -> str:
    """Facts and rules; every constant occurs."""
    clauses = [f":- dynamic([u/1, {', '.join(f'r{k}/2' for k in range(HIGHEST + 1))}])."]
    clauses += [f"all({', '.join(CONSTANTS)})."]
    clauses += [f"u({c})." for c in CONSTANTS if dice.random() < 0.5]
    for k in range(HIGHEST + 1):
        for _ in range(6 - k):
            clauses.append(f"r{k}({dice.choice(CONSTANTS)}, {dice.choice(CONSTANTS)}).")
        for _ in range(dice.randint(1, 3) if k else 0):
            clauses.append(_rule(dice, k, k if recursive else k - 1))
    return "\n".join(dict.fromkeys(clauses))


def _rule(dice: random.Random, head: int, highest: int) -> str:
    bodies = ["{0}(X, Y)", "{0}(Y, X)", "{0}(X, Z), {1}(Z, Y)", "{0}(X, Z), {1}(Y, Z), u(Z)"]
    bodies += ["{0}(X, X), {1}(X, Y)", "u(X), {0}(X, Y), u(Y)", "{0}(X, b), {1}(c, Y)"]
    names = [f"r{dice.randint(0, highest)}" for _ in range(2)]
    return f"r{head}(X, Y) :- {dice.choice(bodies).format(*names)}."


def drawn_small(seed: int, order: Order, *, recursive: bool = False) -> tuple[Program, list[str]]:
    """A program and queries for it, ground and open."""
    dice = random.Random(seed)
    program = Program(text_of(dice, recursive), order=order)
    terms = [*CONSTANTS, *CONSTANTS, "V", "W"]
    queries = [
        f"r{dice.randint(1, HIGHEST)}({dice.choice(terms)}, {dice.choice(terms)})" for _ in range(4)
    ]
    return program, [*queries, f"{queries[0]}, u({dice.choice(terms)})"]
