"""N(G) for many goals at once: equal successors of one goal made one.

`match` finds what each goal's leftmost atom unifies with, `resolve` writes the resolvents.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from deepprooflog.relational.database import Database
from deepprooflog.relational.goals import Goals
from deepprooflog.relational.match import match
from deepprooflog.relational.merge import group_rows
from deepprooflog.relational.resolve import from_rows, resolve


@dataclass(frozen=True)
class Successors:
    """The successors of a batch of goals, ordered by parent; rules before facts."""

    parent: Int[Tensor, " successors"]
    goals: Goals
    clause: Int[Tensor, " successors"]  # rules 0 … R − 1, then facts


def expand(database: Database, goals: Goals, *, merge: bool = True) -> Successors:
    """The successors of each goal; with `merge` those that are equal are one, by its first clause.

    Goals must be canonical, as `Database.goals` and `expand` make them; True has no successors.

    >>> from deepprooflog.logic.program import Program
    >>> database = Database.of(Program("p(X) :- q(X, Y), p(Y). p(c). q(a, b). q(a, c)."))
    >>> found = expand(database, database.goals(["p(X)"]))
    >>> [(goal.atoms, goal.answer) for goal in database.decode(found.goals)]
    [((Struct(q(_0,_1)), Struct(p(_1))), (_0,)), ((), (Atom('c'),))]
    """
    calls = match(database, goals)
    found = resolve(database, goals, calls)
    parent, clause, rows = found.parent, found.clause, found.rows
    if merge and len(rows):
        groups = group_rows(torch.cat([parent.to(rows.dtype)[:, None], rows], 1))
        chosen = groups.members.sort().values
        parent, clause = parent.index_select(0, chosen), clause.index_select(0, chosen)
        rows = rows.index_select(0, chosen)
    order = parent.sort(stable=True).indices
    made = from_rows(rows.index_select(0, order), goals.answer.shape[1], database.shape.width)
    return Successors(parent.index_select(0, order), made, clause.index_select(0, order))
