"""Unfolded queries of a batch: chains of small matrices, or shapes solved level by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from deepprooflog.graph.unfold.flat import flatten
from deepprooflog.graph.unfold.pattern import WholeTensors
from deepprooflog.graph.unfold.template import Templates
from deepprooflog.graph.unfold.unfold import kept_templates, unfold
from deepprooflog.graph.unfold.way_table import AskedRows, Ints, Unfolded, unfolded_rows
from deepprooflog.infer.batches.bank import StackedBank
from deepprooflog.infer.batches.chain import Chains, chain_log_prob, find_chains
from deepprooflog.infer.batches.shapes import SharedGraph, find_shapes, shape_log_prob
from deepprooflog.infer.method import Method, write_down
from deepprooflog.logic.clause import Clause
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.limits.budget import Budget, BudgetExceeded
from deepprooflog.logic.limits.gc_pause import gc_paused
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.logic.resolve import start
from deepprooflog.score.weigh import ModelWeights
from deepprooflog.syntax.terms import Slot, Struct, Term, deref


@dataclass(frozen=True)
class UnfoldedPart:
    """Unfolded queries of one form, with what each network reads as numbers into the bank."""

    form: Chains | SharedGraph
    asked: list[AskedRows]
    rows: tuple[Tensor, ...]  # for each network: [Q, rows, arity] into the bank
    alone: tuple[bool, ...]  # for each network: no input is read by two queries
    member: Ints  # [queries of the batch] a query's place in the form; −1 for none
    clauses: list[Clause]  # trainable clauses, by number

    def to(self, device: torch.device) -> UnfoldedPart:
        """The same part with its indices on a device."""
        rows = tuple(r.to(device) for r in self.rows)
        return replace(self, form=self.form.to(device), rows=rows)


def may_unfold(program: Program, queries: Sequence[Query], budget: Budget, method: Method) -> bool:
    """True when unfolding is worth its while and a tight budget does not forbid it.

    What unfolding meets are templates and their instances: a limit on goals, depth or the steps of
    a guard that is tighter than the default would not mean what it says. Where calls are nested the
    templates may be as many as the goals, and the largest query shows whether tables do better.
    """
    if method == "tabled" or not any(_has_parts(q) for q in queries) or _tight(budget):
        return False
    if method == "auto" and any(program.table_below(q.atoms) for q in queries):
        return False
    nested = [q for q in queries if program.nests(q.atoms)]
    if not nested:
        return True
    if len(queries) == 1:
        # To find out about a query is to write it down: nothing is left to be shared.
        return False
    interner = Interner()
    largest = start(max(nested, key=_terms).atoms, interner)
    return write_down(program, largest, interner, budget=budget, method=method).method == "graph"


def _tight(budget: Budget) -> bool:
    """True when a limit that counts goals or steps is lower than the default."""
    default = Budget()
    return any(
        limit is not None and (usual is None or limit < usual)
        for limit, usual in (
            (budget.max_goals, default.max_goals),
            (budget.max_atoms, default.max_atoms),
            (budget.max_depth, default.max_depth),
            (budget.max_steps, default.max_steps),
        )
    )


def _terms(query: Query) -> int:
    """How many terms a query is made of."""
    count = 0
    stack: list[Term] = list(query.atoms)
    while stack:
        term = deref(stack.pop())
        count += 1
        if type(term) is Struct:
            stack.extend(term.args)
    return count


def _has_parts(query: Query) -> bool:
    """True when some argument is a tensor or a compound: something a pattern can leave open."""
    return any(
        type(deref(t)) in (Struct, Slot) for a in query.atoms if type(a) is Struct for t in a.args
    )


@gc_paused()
def unfold_queries(program: Program, queries: Sequence[Query], budget: Budget) -> Unfolded | None:
    """The queries as instances of templates; None where templates do not help."""
    interner = Interner()
    goals = [start(q.atoms, interner) for q in queries]
    try:
        with kept_templates(program) as store:
            templates = Templates(program, interner, budget, store)
            return unfolded_rows(store, unfold(templates, goals))
    except (BudgetExceeded, WholeTensors):
        return None


def unfolded_parts(
    unfolded: Unfolded, placed: Sequence[Sequence[int]]
) -> tuple[list[UnfoldedPart], Ints]:
    """Unfolded queries by form, and the queries that have no derivation at all."""
    starts = unfolded.starts()
    chains, rest = find_chains(unfolded, starts)
    forms: list[Chains | SharedGraph] = [*chains]
    if len(rest):
        forms += find_shapes(flatten(unfolded, rest), rest, starts)
    parts = []
    for form in forms:
        rows = [_banked(own, [placed[q] for q in form.queries.tolist()]) for own in form.rows]
        alone = tuple(_all_distinct(r) for r in rows)
        member = np.full(len(placed), -1, dtype=np.int64)
        member[form.queries] = np.arange(len(form.queries))
        tensors = tuple(torch.as_tensor(r) for r in rows)
        parts.append(UnfoldedPart(form, unfolded.asked, tensors, alone, member, unfolded.clauses))
    done = np.concatenate([np.zeros(0, dtype=np.int64), *(p.form.queries for p in parts)])
    return parts, np.setdiff1d(np.arange(len(placed)), done)


def _all_distinct(rows: Ints) -> bool:
    """True when no two of the rows [Q, rows, arity] are the same."""
    flat = rows.reshape(-1, rows.shape[-1])
    if flat.shape[1] == 1:
        return len(np.unique(flat)) == len(flat)
    return len(np.unique(flat, axis=0)) == len(flat)


def _banked(own: Ints, placed: Sequence[Sequence[int]]) -> Ints:
    """A query's own slots [Q, rows, arity] as numbers into the bank."""
    width = max((len(p) for p in placed), default=0)
    table = np.zeros((len(placed), max(width, 1)), dtype=np.int64)
    for i, p in enumerate(placed):
        table[i, : len(p)] = p
    return np.take_along_axis(table, own.reshape(len(placed), -1), axis=1).reshape(own.shape)


def unfolded_log_prob(
    part: UnfoldedPart, bank: StackedBank, weights: ModelWeights, select: Tensor | None
) -> Tensor:
    """log p of a part's queries, or of those selected."""
    device = weights.device
    part = part.to(device)
    chosen = None if select is None else select.to(device)
    outputs = []
    for asked, rows, alone in zip(part.asked, part.rows, part.alone, strict=True):
        own = rows if chosen is None else rows[chosen]  # [q, rows, arity]
        if not own.shape[1]:
            outputs.append(weights.labels.logits.new_zeros((len(own), 0, 1)))
            continue
        log = weights.ask(asked, bank, own.reshape(-1, own.shape[2]), distinct=alone)
        outputs.append(log.reshape(len(own), own.shape[1], -1))
    used = weights.log_labels(part.clauses)
    if isinstance(part.form, SharedGraph):
        return shape_log_prob(part.form, used, outputs, chosen)
    return chain_log_prob(part.form, used, outputs, chosen)
