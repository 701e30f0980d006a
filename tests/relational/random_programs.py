"""Random function-free programs and goals, and the reference engine's successors of them.

Arities 0 to 3 are mixed; heads and bodies hold constants and repeated variables; some clauses are
facts with variables, some have head variables that their body lacks.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from deepprooflog.logic.clause import Clause
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.program import Order, Program
from deepprooflog.logic.resolve import start, successors
from deepprooflog.syntax.terms import Term

PREDICATES = {"z": 0, "u": 1, "p": 2, "q": 2, "t": 3}
CONSTANTS = ["a", "b", "c", "7", "'B c'"]
VARIABLES = ["X", "Y", "Z", "W"]


@dataclass(frozen=True)
class Dice:
    """Draws texts of atoms and clauses."""

    random: random.Random

    def term(self, constants: float) -> str:
        return self.random.choice(CONSTANTS if self.random.random() < constants else VARIABLES)

    def atom(self, constants: float) -> str:
        name = self.random.choice(list(PREDICATES))
        terms = [self.term(constants) for _ in range(PREDICATES[name])]
        return f"{name}({', '.join(terms)})" if terms else name

    def clause(self) -> str:
        head = self.atom(0.2)
        body = [self.atom(0.15) for _ in range(self.random.choice([0, 1, 1, 2, 2, 3]))]
        return f"{head} :- {', '.join(body)}." if body else f"{head}."

    def program(self, *, rules: int = 8, facts: int = 25) -> str:
        declared = ", ".join(f"{name}/{arity}" for name, arity in PREDICATES.items())
        clauses = {self.clause() for _ in range(rules)}
        clauses |= {f"{self.atom(1.0)}." for _ in range(facts)}
        mixed = sorted(clauses)
        self.random.shuffle(mixed)
        # Every constant occurs, so that a query may use any.
        return f":- dynamic([{declared}]).\nall({', '.join(CONSTANTS)}).\n" + "\n".join(mixed)

    def query(self) -> str:
        return ", ".join(self.atom(0.3) for _ in range(self.random.randint(1, 4)))


def drawn(seed: int, order: Order) -> tuple[Program, list[str]]:
    """A program and queries for it."""
    dice = Dice(random.Random(seed))
    return Program(dice.program(), order=order), [dice.query() for _ in range(6)]


def roots(program: Program, queries: Sequence[str]) -> list[Goal]:
    """The goals that the reference engine starts from."""
    return [start(program.query(q).atoms, Interner()) for q in queries]


State = tuple[tuple[Term, ...], tuple[Term, ...]]


def state(goal: Goal) -> State:
    """A goal and its answer; canonical, so equal exactly for variants."""
    return goal.atoms, goal.answer


def reference(program: Program, goal: Goal) -> list[tuple[State, Clause]]:
    """What `logic.resolve.successors` finds, and by which clause; nothing for True."""
    if goal.is_true:
        return []
    steps = list(successors(program, goal, Interner()))
    return [(state(s.goal), s.choice.clause) for s in steps if s.choice.clause is not None]
