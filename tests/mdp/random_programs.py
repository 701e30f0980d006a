"""Random function-free programs, recursive ones too, and queries to them."""

from __future__ import annotations

import random

ARITY = {"e": 2, "f": 1, "p": 2, "q": 1, "r": 3, "s": 0}
CONSTANTS = ["a", "b", "c", "d", "7"]
VARIABLES = ["X", "Y", "Z"]


def _atom(dice: random.Random, name: str, terms: list[str]) -> str:
    arguments = ", ".join(dice.choice(terms) for _ in range(ARITY[name]))
    return f"{name}({arguments})" if arguments else name


def random_program(seed: int) -> tuple[str, list[str]]:
    """The text of a program, and queries: ground, open, and conjunctions."""
    dice = random.Random(seed)
    clauses = [_atom(dice, name, CONSTANTS) for name in "eeeeeefffr"]
    mixed = VARIABLES * 3 + CONSTANTS
    for name in "ppqqrrs":
        body = [_atom(dice, dice.choice(list(ARITY)), mixed) for _ in range(dice.randint(0, 3))]
        head = _atom(dice, name, mixed)
        clauses.append(f"{head} :- {', '.join(body)}" if body else head)
    dice.shuffle(clauses)
    known = [_atom(dice, name, CONSTANTS) for name in "epqrsf"]
    asked = [_atom(dice, name, mixed) for name in "eppqr"]
    asked += [f"{_atom(dice, 'p', mixed)}, {_atom(dice, 'q', mixed)}"]
    # Every constant and predicate is in the program, so that each of them has a number.
    every = [_atom(dice, name, CONSTANTS) for name in ARITY] + [f"f({c})" for c in CONSTANTS]
    return "\n".join(f"{c}." for c in dict.fromkeys(clauses + every)), known + asked
