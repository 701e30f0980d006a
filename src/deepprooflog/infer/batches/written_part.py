"""Queries of a batch that are written down one by one, by their goal graphs or by tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from deepprooflog.graph.bundles import Bundle, SlotGroups
from deepprooflog.graph.explore import Exploration
from deepprooflog.graph.goalgraph import GoalGraph, Ints
from deepprooflog.graph.schedule import schedule
from deepprooflog.infer.batches.bank import StackedBank, narrowed
from deepprooflog.infer.graphs.exact import Layered, layered, log_values
from deepprooflog.infer.method import FIRST, Method, over_budget, write_down
from deepprooflog.infer.tables.levels import Levels, level_log_values, levels_of, tabled_log_values
from deepprooflog.infer.tables.tabled import Tabled
from deepprooflog.logic.goal import Goal
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.program import Program
from deepprooflog.score.edges import EdgeTable, edge_table
from deepprooflog.score.fixed import label_slack
from deepprooflog.score.weigh import ModelWeights, WeighRequest, edge_weights


@dataclass(frozen=True)
class GraphPart:
    """One goal graph, ready to be weighed and solved."""

    bundle: Bundle
    table: EdgeTable
    layers: Layered


@dataclass(frozen=True)
class TabledPart:
    """The tables of one query, or of several that differ only in their tensors."""

    queries: Ints  # [B] positions in the batch
    slots: Ints  # [B, slots] into the bank
    tabled: Tabled
    table: EdgeTable
    levels: Levels | None  # None where the tables have cycles


def write_groups(
    program: Program, groups: SlotGroups, local: bool, budget: Budget, method: Method
) -> list[GraphPart | TabledPart]:
    """A goal graph or tables for each template, and for the queries that are alone in theirs."""
    parts: list[GraphPart | TabledPart] = []

    def add(goal: Goal, slots: Ints, queries: Ints) -> None:
        written = write_down(
            program, goal, groups.interner, local=local, budget=budget, method=method
        )
        if not written.complete:
            raise over_budget(goal, written.stopped)
        if written.graph is not None:
            parts.append(_graph_part(Bundle(written.graph, slots, queries[:, None])))
        else:
            assert written.table is not None
            system = written.table.system
            table, levels = edge_table(system.choices), levels_of(system)
            parts.append(TabledPart(queries, slots, written.table, table, levels))

    for item in groups.shared:
        add(item.template, item.slots, item.queries)
    alone = np.asarray(groups.alone, dtype=np.int64)
    together = _together(program, groups, local, budget, method)
    if together is not None:
        return [*parts, _graph_part(Bundle(together, groups.named, alone[None, :]))]
    for query in groups.alone:
        add(groups.goals[query], groups.named, np.asarray([query], dtype=np.int64))
    return parts


def _together(
    program: Program, groups: SlotGroups, local: bool, budget: Budget, method: Method
) -> GoalGraph | None:
    """One graph for all queries that are alone in their templates; None when it is not complete.

    Where tables may do better, it has a first turn for each of its queries.
    """
    if len(groups.alone) < 2 or method == "tabled":
        return None
    roots = [groups.goals[i] for i in groups.alone]
    if local and method == "auto" and any(program.table_below(g.atoms) for g in roots):
        return None
    exploration = Exploration(program, roots, groups.interner, budget)
    turns = local and method == "auto" and budget.max_depth is None
    exploration.advance(FIRST * len(roots) if turns else None)
    return exploration.graph() if exploration.complete else None


def _graph_part(item: Bundle) -> GraphPart:
    return GraphPart(item, edge_table(item.graph.choices), layered(schedule(item.graph)))


def written_log_prob(
    bank: StackedBank,
    graphs: Sequence[GraphPart],
    tabled: Sequence[TabledPart],
    model: ModelWeights,
) -> tuple[list[Ints], list[Tensor]]:
    device = model.device
    asked = [WeighRequest(p.table, p.bundle.graph, p.bundle.slots) for p in graphs]
    asked += [WeighRequest(t.table, t.tabled.calls, t.slots) for t in tabled]
    weights = edge_weights(*narrowed(asked, bank, device), model)
    places: list[Ints] = []
    values: list[Tensor] = []
    for part, w in zip(graphs, weights, strict=False):
        layers = part.layers.to(device)
        graph = part.bundle.graph
        roots = torch.as_tensor(graph.roots, device=device)
        slack = label_slack(graph.first, graph.choices, graph.program)
        values.append(log_values(layers, w, slack=slack)[roots].T.reshape(-1))
        places.append(part.bundle.queries.reshape(-1))
    for item, w in zip(tabled, weights[len(graphs) :], strict=True):
        values.append(_tabled_values(item, w))
        places.append(item.queries)
    return places, values


def _tabled_values(part: TabledPart, weights: Tensor) -> Tensor:
    """log p of a part's queries, one for each column of weights."""
    unknown = next(iter(part.tabled.answers.values()), None)
    if unknown is None:
        return weights.new_full((weights.shape[1],), -torch.inf)
    if part.levels is not None:
        return level_log_values(part.levels, weights)[unknown]
    return torch.stack([tabled_log_values(part.tabled.system, w)[unknown] for w in weights.T])


def selected(part: TabledPart, wanted: Ints) -> TabledPart:
    """The queries of a part that are wanted."""
    here = np.isin(part.queries, wanted)
    return replace(part, queries=part.queries[here], slots=part.slots[here])
