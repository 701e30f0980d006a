"""What leftmost atoms unify with: for each goal a list of rules and a range of facts.

One lookup by call pattern and predicate finds the rules, one by predicate and bound arguments the
facts. All counts that shape the resolvents come to the host in one transfer.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from deepprooflog.errors import ProgramError
from deepprooflog.logic.clause import at
from deepprooflog.relational.database import Database
from deepprooflog.relational.goals import PAD, Goals
from deepprooflog.relational.guards import INTEGERS, TERMS
from deepprooflog.syntax.terms import functor_of
from deepprooflog.syntax.writer import write_term


@dataclass(frozen=True)
class Calls:
    """What the leftmost atoms of goals unify with."""

    pattern: Int[Tensor, " goals"]
    rule_start: Int[Tensor, " goals"]
    rules: Int[Tensor, " goals"]  # how many
    fact_start: Int[Tensor, " goals"]
    facts: Int[Tensor, " goals"]  # how many
    rule_total: int
    fact_total: int
    widest: int  # atoms of the longest resolvent
    repeats: bool  # a variable is twice in one call
    left_out: bool  # some goals may not use a fact

    @property
    def total(self) -> int:
        """How many resolvents there are at most."""
        return self.rule_total + self.fact_total


def match(database: Database, goals: Goals, active: Bool[Tensor, " goals"] | None = None) -> Calls:
    """Look up the rules and facts of each leftmost atom; only of `active` goals where given."""
    device = goals.device
    if len(goals) == 0 or goals.atoms.shape[1] == 0:
        none = torch.zeros(len(goals), dtype=torch.long, device=device)
        return Calls(none, none, none, none, none, 0, 0, 0, False, False)
    shape = database.shape
    first = goals.leftmost
    called = first[:, 0] != PAD
    active = called if active is None else called & active
    predicate = first[:, 0].clamp(min=0).long()
    arguments = first[:, 1 : 1 + shape.arity]
    entry = (-1 - arguments).clamp_(min=0)
    tables = database.tables
    code = (entry * tables.weights).sum(1)
    pattern = torch.searchsorted(tables.codes, code).clamp_(max=len(tables.codes) - 1)
    known = (tables.codes.index_select(0, pattern) == code) & (entry <= tables.most).all(1)
    number = pattern * shape.predicates + predicate
    if shape.nested:
        number += database.standing(first[:, -1]) * (len(tables.codes) * shape.predicates)
    rules = tables.list_size.index_select(0, number) * active
    compared = torch.zeros_like(active)
    if shape.guards:
        holds, compared = _guards(database, predicate, first[:, 1:3])
        rules = rules * holds
        compared = compared & active
    fact_start, facts = database.index.lookup(predicate, arguments)
    facts = facts * active
    length = goals.length - 1 + tables.list_longest.index_select(0, number) * (rules > 0)
    totals = torch.stack(
        [
            rules.sum(),
            facts.sum(),
            (length * (rules + facts > 0)).max(),
            (active & ~known).any(),
            (active & tables.list_unbound[number]).any(),
            (active & tables.repeats[pattern]).any(),
            (goals.left_out >= 0).any(),
            compared.any(),
        ]
    ).tolist()
    rule_total, fact_total, widest, unknown, unbound, repeats, left_out, wrong = totals
    if unknown:
        _learn(database, code[active & ~known], entry[active & ~known])
        return match(database, goals, active)
    if wrong:
        _refuse_comparison(database, goals, compared)
    if unbound:
        _refuse_unbound(database, goals, active & tables.list_unbound[number])
    return Calls(
        pattern,
        tables.list_start.index_select(0, number),
        rules,
        fact_start,
        facts,
        rule_total,
        fact_total,
        widest,
        bool(repeats),
        bool(left_out),
    )


def _guards(
    database: Database, predicate: Int[Tensor, " goals"], arguments: Int[Tensor, "goals 2"]
) -> tuple[Bool[Tensor, " goals"], Bool[Tensor, " goals"]]:
    """False where a guard does not hold; where one compares what is no integer."""
    left, right = arguments.unbind(1)
    holds = torch.ones_like(predicate, dtype=torch.bool)
    wrong = torch.zeros_like(holds)
    for number in sorted(database.shape.guards):
        functor, here = database.symbols.predicates[number], predicate == number
        if functor in TERMS:
            found = TERMS[functor](left, right)
        else:
            values, are_integers = database.integers
            a, b = (side.clamp(min=0).long() for side in (left, right))
            both = (left >= 0) & (right >= 0) & are_integers[a] & are_integers[b]
            wrong = wrong | (here & ~both)
            found = INTEGERS[functor](values[a], values[b])
        holds = torch.where(here, found, holds)
    return holds, wrong


def _learn(
    database: Database, code: Int[Tensor, " calls"], entry: Int[Tensor, "calls arity"]
) -> None:
    if bool((entry > database.tables.most).any()):
        raise ValueError("the goals' variables are not numbered by first occurrence")
    database.learn(torch.unique(code).tolist())


def _refuse_comparison(database: Database, goals: Goals, which: Bool[Tensor, " goals"]) -> None:
    atom = database.decode(goals.select(which.nonzero()[0]))[0].leftmost
    functor = functor_of(atom)
    calling = (
        rule.clause.place
        for rule in database.rules
        if any(functor_of(other) is functor for other in rule.clause.body)
    )
    raise ProgramError(
        f"{write_term(atom)} compares what is no integer",
        **at(next(calling, None)),
        hint="call the guard after the atoms that bind its variables; entities compare by \\=",
    )


def _refuse_unbound(database: Database, goals: Goals, which: Bool[Tensor, " goals"]) -> None:
    goal = database.decode(goals.select(which.nonzero()[0]))[0]
    raise ProgramError(
        f"{write_term(goal.leftmost)} calls a neural fact with a variable",
        hint="its network needs all arguments bound: call it after the atoms that bind them",
    )
