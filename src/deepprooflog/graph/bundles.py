"""Templates: queries that differ only in their tensors share one goal graph.

A batch is templates × slot matrix × tensor bank. Slots are renumbered by first occurrence; queries
that then agree are one *template* and are explored once, with row b of the slot matrix saying which
tensors of the bank query b has in the template's slots. Queries that are alone in their template
are explored together into one graph, in which goals they have in common are met once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from deepprooflog.graph.explore import explore
from deepprooflog.graph.goalgraph import GoalGraph, Ints
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.goal_batch import AnyBank, BankRows
from deepprooflog.logic.limits.budget import Budget
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

    goals: dict[int, Goal]  # by position in the batch, over the tensors that they name
    bundles: list[Bundle]
    bank: AnyBank
    interner: Interner


@dataclass(frozen=True)
class Shared:
    """A goal that several queries are up to their tensors: slots and position of each query."""

    template: Goal
    slots: Ints  # [B, slots] into the bank
    queries: Ints  # [B] positions in the batch


@dataclass(frozen=True)
class SlotGroups:
    """Queries by template: those that share one, and those that are alone in theirs."""

    goals: dict[int, Goal]  # by position in the batch, over the tensors that they name
    shared: list[Shared]
    alone: list[int]
    named: Ints  # [1, slots] into the bank: the tensors that the queries name
    interner: Interner


def group(queries: Sequence[Query], placed: Placed, which: Sequence[int]) -> SlotGroups:
    """Sort some queries by template."""
    interner = Interner()
    named = sorted({row for i in which for row in placed.rows[i]})
    number = {row: n for n, row in enumerate(named)}
    goals: dict[int, Goal] = {}
    templates: dict[Goal, list[tuple[int, list[int]]]] = {}
    for i in which:
        query, slots = queries[i], placed.rows[i]
        template_atoms, order = renumber(query.atoms)
        template = start(template_atoms, interner)
        row = [slots[s] for s in order]
        goals[i] = start(renumber(query.atoms, [number[s] for s in slots])[0], interner)
        templates.setdefault(template, []).append((i, row))
    shared: list[Shared] = []
    alone: list[int] = []
    for template, rows in templates.items():
        if len(rows) == 1:
            alone.append(rows[0][0])
            continue
        matrix = np.asarray([row for _, row in rows], dtype=np.int64).reshape(len(rows), -1)
        shared.append(Shared(template, matrix, np.asarray([i for i, _ in rows], dtype=np.int64)))
    matrix = np.asarray([named], dtype=np.int64)
    return SlotGroups(goals, shared, alone, matrix, interner)


def bundle(
    program: Program,
    queries: Sequence[Query],
    budget: Budget | None = None,
    *,
    placed: Placed | None = None,
    track_answers: bool = False,
) -> Batch:
    """Explore a batch of queries, each template once."""
    budget = (budget or Budget()).start()
    placed = place_tensors(queries) if placed is None else placed
    groups = group(queries, placed, range(len(queries)))
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
            bundles.append(Bundle(graph, groups.named, np.asarray([some], dtype=np.int64)))
        else:
            # One query without an end should not cost the others their graphs.
            together.extend([i] for i in some)
    return Batch(goals, bundles, placed.bank, interner)


@dataclass(frozen=True)
class Placed:
    """The tensors of some queries, each once, and each query's slots as numbers into them."""

    bank: AnyBank
    rows: Sequence[Sequence[int]]


def place_tensors(queries: Sequence[Query]) -> Placed:
    """Number the tensors of queries: where all are rows of one bank, by their rows."""
    banks = {id(q.tensors.bank) if isinstance(q.tensors, BankRows) else None
             for q in queries if q.tensors}  # fmt: skip
    if len(banks) == 1 and None not in banks:
        rows = [q.tensors.rows if isinstance(q.tensors, BankRows) else () for q in queries]
        bank = next(q.tensors.bank for q in queries if isinstance(q.tensors, BankRows))
        return Placed(bank, rows)
    tensors: list[object] = []
    number: dict[object, int] = {}
    placed = []
    for query in queries:
        slots = []
        for key, tensor in _keyed(query.tensors):
            n = number.get(key)
            if n is None:
                n = number[key] = len(tensors)
                tensors.append(tensor)
            slots.append(n)
        placed.append(slots)
    return Placed(tensors, placed)


def _keyed(tensors: Sequence[object]) -> Iterator[tuple[object, object]]:
    """Tensors with what tells them apart: the object, or the bank and the row."""
    if isinstance(tensors, BankRows):
        bank = id(tensors.bank)
        return (((bank, row), tensors.bank[row]) for row in tensors.rows)
    return ((id(tensor), tensor) for tensor in tensors)


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
