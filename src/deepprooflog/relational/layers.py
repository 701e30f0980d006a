"""Goal graphs of many queries at once, layer by layer.

Layer d holds the distinct goals that are d resolution steps from some query. A node is a goal and
its depth, so the graph is acyclic also for recursive programs, and p_success is one sweep from the
last layer to the first. Queries of a batch share goals. True stays a node and is not expanded.

Budgets cut, and what they cut stays visible: an open node is a goal that was not expanded, so that
the mass that reaches it is neither success nor failure.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from deepprooflog.logic.limits.counts import note
from deepprooflog.relational.database import Database
from deepprooflog.relational.goals import Goals, group_rows
from deepprooflog.relational.match import Calls, match
from deepprooflog.relational.resolve import Resolvents, from_rows, resolve


@dataclass(frozen=True)
class Steps:
    """The edges from one layer to the next, ordered by source."""

    source: Int[Tensor, " steps"]
    target: Int[Tensor, " steps"]
    clause: Int[Tensor, " steps"]  # the first of the clauses that lead there, or one of them


@dataclass(frozen=True)
class Cut:
    """How many goals each budget left open."""

    depth: int = 0
    atoms: int = 0
    goals: int = 0

    @property
    def total(self) -> int:
        """How many in all."""
        return self.depth + self.atoms + self.goals

    def __bool__(self) -> bool:
        return bool(self.total)


@dataclass(frozen=True)
class Layers:
    """The goal graph of a batch of queries."""

    goals: tuple[Goals, ...]
    steps: tuple[Steps, ...]  # between a layer and the next
    roots: Int[Tensor, " queries"]  # each query's place in layer 0
    open: tuple[Int[Tensor, " _open"], ...]  # for each layer the goals that budgets left open
    cut: Cut

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return sum(map(len, self.goals))


def explore(
    database: Database,
    goals: Goals,
    *,
    max_depth: int,
    max_atoms: int | None = None,
    max_goals: int | None = None,
    every_clause: bool = False,
) -> Layers:
    """The layers that `max_depth` resolution steps reach.

    Goals of more than `max_atoms` atoms are not expanded. Before a layer is made its goals are
    counted, equal ones not yet merged: where they would exceed `max_goals` nodes in all, only the
    first goals of the layer before are expanded, as many as fit. Clauses that lead from a goal to
    the same goal are one step or, with `every_clause`, for scorers that weigh clauses, a step each.

    >>> from deepprooflog.logic.program import Program
    >>> database = Database.of(Program("p(X) :- q(X, Y), p(Y). p(c). q(a, b). q(b, c)."))
    >>> layers = explore(database, database.goals(["p(a)", "p(b)"]), max_depth=9)
    >>> [len(layer) for layer in layers.goals], bool(layers.cut)
    ([2, 2, 2, 3, 1, 2], False)
    """
    layer, roots = distinct(goals)
    made, steps, open_ = [layer], [], []
    size = len(layer)
    counts = {"depth": 0, "atoms": 0, "goals": 0}
    nothing = torch.zeros(0, dtype=torch.long, device=goals.device)
    while True:
        left: dict[str, Tensor] = {}
        active = ~layer.is_true
        if max_atoms is not None:
            left["atoms"] = layer.length > max_atoms
            active &= ~left["atoms"]
        if len(made) > max_depth:
            left["depth"] = active
            active = torch.zeros_like(active)
        calls = match(database, layer, active)
        if max_goals is not None and calls.total > max_goals - size:
            fits = (calls.rules + calls.facts).cumsum(0) <= max_goals - size
            left["goals"] = active & ~fits & (calls.rules + calls.facts > 0)
            calls = match(database, layer, active & fits)
        open_.append(_open(left, counts) if left else nothing)
        if calls.total == 0:
            break
        layer, between = next_layer(database, layer, calls, every_clause)
        if len(layer) == 0:
            break
        made.append(layer)
        steps.append(between)
        size += len(layer)
        note(goals=size, depth=len(steps))
    return Layers(tuple(made), tuple(steps), roots, tuple(open_), Cut(**counts))


def _open(left: dict[str, Tensor], counts: dict[str, int]) -> Int[Tensor, " open"]:
    found = torch.stack([mask.sum() for mask in left.values()]).tolist()
    for reason, number in zip(left, found, strict=True):
        counts[reason] += number
    return torch.stack(list(left.values())).any(0).nonzero().squeeze(1)


def distinct(goals: Goals) -> tuple[Goals, Int[Tensor, " queries"]]:
    """The distinct goals, and where each is."""
    rows = torch.cat([goals.left_out[:, None], goals.answer, goals.atoms.flatten(1)], 1)
    groups = group_rows(rows)
    place = torch.empty_like(groups.order)
    place[groups.order] = groups.number
    return goals.select(groups.members), place


def next_layer(
    database: Database, layer: Goals, calls: Calls, every_clause: bool
) -> tuple[Goals, Steps]:
    """The next layer and the steps that lead there."""
    found = resolve(database, layer, calls)
    if database.open_facts:
        # Such a clause may lead where a ground fact leads: bring these pairs together.
        order = found.parent.sort(stable=True).indices
        found = Resolvents(found.parent[order], found.clause[order], found.rows[order])
    groups = group_rows(found.rows)
    parent = found.parent.index_select(0, groups.order)
    if every_clause:
        kept = torch.arange(len(parent), device=parent.device)
    else:
        # Within a group parents ascend, so that equal successors of one goal are neighbours.
        fresh = groups.first.clone()
        fresh[1:] |= parent[1:] != parent[:-1]
        kept = fresh.nonzero().squeeze(1)
    chosen = groups.order.index_select(0, kept)
    source, order = torch.sort(parent.index_select(0, kept), stable=True)
    target = groups.number.index_select(0, kept.index_select(0, order))
    clause = found.clause.index_select(0, chosen.index_select(0, order))
    rows = found.rows.index_select(0, groups.members)
    made = from_rows(rows, layer.answer.shape[1], database.shape.width)
    if database.tables.test_argument.shape[1]:
        # Resolvents that tests turned away were counted among the widest.
        made = made.narrowed()
    return made, Steps(source, target, clause)
