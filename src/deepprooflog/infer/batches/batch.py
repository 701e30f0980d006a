"""Batches of queries: their graphs built once, in the cheapest form each query allows.

    unfolded   from templates: chains of small matrices, or shapes solved level by level
    graphs     the goal graph, step by step
    tabled     where the goal graph has no end, or outgrows the tables

A compiled batch keeps structure only: tensors stay in its bank, which can be replaced, and a
selection of its queries can be evaluated by itself, so that one compilation serves all epochs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepprooflog.graph.bundles import group, place_tensors
from deepprooflog.graph.unfold.way_table import Ints
from deepprooflog.infer.batches.bank import StackedBank, bank_of, moved, replaced
from deepprooflog.infer.batches.unfolded_part import (
    UnfoldedPart,
    may_unfold,
    unfold_queries,
    unfolded_log_prob,
    unfolded_parts,
)
from deepprooflog.infer.batches.written_part import (
    GraphPart,
    TabledPart,
    selected,
    write_groups,
    written_log_prob,
)
from deepprooflog.infer.method import Method
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.score.parameters import Labels
from deepprooflog.score.weigh import ModelWeights


@dataclass(frozen=True)
class Texts:
    """The texts of queries by their numbers; unlike a lambda, it can be pickled."""

    queries: tuple[Query, ...]

    def __call__(self, number: int) -> str:
        return str(self.queries[number])


@dataclass(frozen=True)
class Compiled:
    """A batch of goals whose graphs are built."""

    queries: int
    describe: Callable[[int], str]
    unfolded: list[UnfoldedPart]
    graphs: list[GraphPart]
    tabled: list[TabledPart]
    bank: StackedBank

    def __len__(self) -> int:
        return self.queries

    def with_bank(self, bank: Sequence[Tensor] | Tensor) -> Compiled:
        """The same goals over other tensors: a new epoch's augmentation, without rebuilding."""
        return replace(self, bank=replaced(self.bank, bank))

    def to(self, device: torch.device | str) -> Compiled:
        """The same batch with its tensors and indices on a device."""
        target = torch.device(device)
        unfolded = [u.to(target) for u in self.unfolded]
        graphs = [replace(g, layers=g.layers.to(target)) for g in self.graphs]
        return replace(self, bank=moved(self.bank, target), unfolded=unfolded, graphs=graphs)


def compile_batch(
    program: Program,
    queries: Sequence[Query],
    *,
    local: bool,
    budget: Budget | None = None,
    unfolding: bool = True,
    method: Method = "auto",
) -> Compiled:
    """Build the graphs or tables of a batch of queries; without `unfolding`, each from its goal."""
    budget = (budget or Budget()).start()
    placed = place_tensors(queries)
    parts: list[UnfoldedPart] = []
    rest = np.arange(len(queries))
    if local and unfolding and may_unfold(program, queries, budget, method):
        unfolded = unfold_queries(program, queries, budget)
        if unfolded is not None:
            parts, rest = unfolded_parts(unfolded, placed.rows)
    written: list[GraphPart | TabledPart] = []
    if len(rest):
        groups = group(queries, placed, rest.tolist())
        written = write_groups(program, groups, local, budget, method)
    return Compiled(
        len(queries), Texts(tuple(queries)), parts,
        [p for p in written if isinstance(p, GraphPart)],
        [p for p in written if isinstance(p, TabledPart)],
        bank_of(placed.bank),
    )  # fmt: skip


def batch_log_prob(
    compiled: Compiled,
    weights: ModelWeights,
    select: Int[Tensor, "selected"] | None = None,
) -> Float[Tensor, "batch"]:
    """log p_success of the batch's goals, or of those selected, in order."""
    if select is not None and not len(select):
        return weights.labels.logits.new_zeros(0, dtype=torch.float64)
    if len(compiled.unfolded) == 1 and len(compiled.unfolded[0].form.queries) == compiled.queries:
        # One part that holds every query in its place: nothing to put in order.
        return unfolded_log_prob(compiled.unfolded[0], compiled.bank, weights, select)
    wanted = None if select is None else select.cpu().numpy()
    places: list[Ints] = []
    values: list[Tensor] = []
    for part in compiled.unfolded:
        members = None if wanted is None else part.member[wanted]
        if members is not None:
            members = members[members >= 0]
            if not len(members):
                continue
        places.append(part.form.queries[slice(None) if members is None else members])
        chosen = None if members is None else torch.as_tensor(members)
        values.append(unfolded_log_prob(part, compiled.bank, weights, chosen))
    graphs, tabled = compiled.graphs, compiled.tabled
    if wanted is not None:
        graphs = [g for g in graphs if np.isin(g.bundle.queries, wanted).any()]
        tabled = [selected(t, wanted) for t in tabled if np.isin(t.queries, wanted).any()]
    if graphs or tabled:
        bank = compiled.bank
        more_places, more = written_log_prob(bank, graphs, tabled, weights)
        places, values = [*places, *more_places], [*values, *more]
    return _in_order(places, values, compiled.queries, wanted, weights.labels)


def _in_order(
    places: Sequence[Ints], values: Sequence[Tensor], queries: int, wanted: Ints | None,
    labels: Labels,
) -> Tensor:  # fmt: skip
    if not values:
        return labels.logits.new_zeros(0)
    joined = torch.cat(list(values))
    order = np.full(queries, -1, dtype=np.int64)
    where = np.concatenate(list(places))
    order[where] = np.arange(len(where))
    if wanted is not None:
        order = order[wanted]
    return joined[torch.as_tensor(order, device=joined.device)]
