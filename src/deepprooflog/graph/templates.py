"""Templates: queries that differ only in their tensors share one goal graph.

A batch is templates × slot matrix × tensor bank. Slots are renumbered by first occurrence; queries
that then agree are one *template* and are explored once, with row b of the slot matrix saying which
tensors of the bank query b has in the template's slots. Queries that are alone in their template
are explored together into one graph, in which goals they have in common are met once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from deepprooflog.graph.explore import explore
from deepprooflog.graph.goalgraph import GoalGraph, Ints
from deepprooflog.logic.budget import Budget
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.logic.resolve import start
from deepprooflog.syntax.terms import Slot, Struct, Term, deref

Replace = Callable[[Slot], Slot]


@dataclass(frozen=True)
class Bundle:
    """A graph for some queries: query `queries[b, r]` starts at root r with slot row b."""

    graph: GoalGraph
    slots: Ints  # [B, slots] into the bank
    queries: Ints  # [B, R] positions in the batch


@dataclass(frozen=True)
class Batch:
    """Queries ready for inference: their goals, bundles of graphs, and the tensors they name."""

    goals: dict[int, Goal]  # by position in the batch, over bank slots
    bundles: list[Bundle]
    bank: list[object]
    interner: Interner


@dataclass(frozen=True)
class Shared:
    """A goal that several queries are up to their tensors: slots and position of each query."""

    template: Goal
    slots: Ints  # [B, slots] into the bank
    queries: Ints  # [B] positions in the batch


@dataclass(frozen=True)
class Groups:
    """Queries by template: those that share one, and those that are alone in theirs."""

    goals: dict[int, Goal]  # by position in the batch, over bank slots
    shared: list[Shared]
    alone: list[int]
    bank: list[object]
    interner: Interner

    @property
    def identity(self) -> Ints:
        """The slot matrix [1, slots] of goals over bank slots."""
        return np.arange(len(self.bank), dtype=np.int64)[None, :]


def group(queries: Sequence[Query], which: Sequence[int] | None = None) -> Groups:
    """Sort queries (or `which` of them) by template."""
    interner = Interner()
    bank, placed = place_tensors(queries)
    goals: dict[int, Goal] = {}
    templates: dict[Goal, list[tuple[int, list[int]]]] = {}
    for i in range(len(queries)) if which is None else which:
        query, slots = queries[i], placed[i]
        template_atoms, order = renumber(query.atoms)
        template = start(template_atoms, interner)
        row = [slots[s] for s in order]
        goals[i] = start(renumber(query.atoms, slots)[0], interner)
        templates.setdefault(template, []).append((i, row))
    shared: list[Shared] = []
    alone: list[int] = []
    for template, rows in templates.items():
        if len(rows) == 1:
            alone.append(rows[0][0])
            continue
        matrix = np.asarray([row for _, row in rows], dtype=np.int64).reshape(len(rows), -1)
        shared.append(Shared(template, matrix, np.asarray([i for i, _ in rows], dtype=np.int64)))
    return Groups(goals, shared, alone, bank, interner)


def bundle(
    program: Program,
    queries: Sequence[Query],
    budget: Budget | None = None,
    *,
    which: Sequence[int] | None = None,
    track_answers: bool = False,
) -> Batch:
    """Explore a batch of queries (or `which` of them), each template once."""
    budget = (budget or Budget()).start()
    groups = group(queries, which)
    goals, interner = groups.goals, groups.interner
    bundles: list[Bundle] = []
    for item in groups.shared:
        graph = explore(program, [item.template], interner, budget, track_answers=track_answers)
        bundles.append(Bundle(graph, item.slots, item.queries[:, None]))
    together = [groups.alone] if groups.alone else []
    while together:
        some = together.pop()
        roots = [goals[i] for i in some]
        graph = explore(program, roots, interner, budget, track_answers=track_answers)
        if graph.complete or len(some) == 1:
            bundles.append(Bundle(graph, groups.identity, np.asarray([some], dtype=np.int64)))
        else:
            # One query without an end should not cost the others their graphs.
            together.extend([i] for i in some)
    return Batch(goals, bundles, groups.bank, interner)


def place_tensors(queries: Sequence[Query]) -> tuple[list[object], list[list[int]]]:
    """All tensors of the queries, each object once, and each query's slots as numbers into them."""
    bank: list[object] = []
    number: dict[int, int] = {}
    placed = []
    for query in queries:
        slots = []
        for tensor in query.tensors:
            n = number.get(id(tensor))
            if n is None:
                n = number[id(tensor)] = len(bank)
                bank.append(tensor)
            slots.append(n)
        placed.append(slots)
    return bank, placed


def renumber(
    atoms: Sequence[Term], numbers: Sequence[int] | None = None
) -> tuple[list[Term], list[int]]:
    """The atoms with slot s as `numbers[s]`, by default numbered by first occurrence.

    Also returns the slots met, in order.

    >>> from deepprooflog.syntax.terms import Functor
    >>> renumber([Struct(Functor("p", 2), (Slot(5), Slot(2)))])[1]
    [5, 2]
    """
    met: dict[int, int] = {}

    def slot(term: Slot) -> Slot:
        place = met.setdefault(term.number, len(met))
        return Slot(place if numbers is None else numbers[term.number])

    result = [_replace(deref(a), slot) for a in atoms]
    return result, list(met)


def _replace(root: Term, slot: Replace) -> Term:
    if type(root) is Slot:
        return slot(root)
    if type(root) is not Struct:
        return root
    open_: list[tuple[Struct, list[Term]]] = [(root, [])]
    while True:
        source, done = open_[-1]
        descend: Struct | None = None
        while len(done) < len(source.args):
            a = deref(source.args[len(done)])
            if type(a) is Struct:
                descend = a
                break
            done.append(slot(a) if type(a) is Slot else a)
        if descend is not None:
            open_.append((descend, []))
            continue
        open_.pop()
        same = all(a is b for a, b in zip(done, source.args, strict=True))
        result = source if same else Struct(source.functor, tuple(done), source.ground)
        if not open_:
            return result
        open_[-1][1].append(result)
