"""Batches of queries: their graphs built once, in the cheapest form each query allows.

    unfolded   from templates: chains of small matrices, or shapes solved level by level
    graphs     the goal graph, step by step
    tabled     where the goal graph has no end, or outgrows the tables

A compiled batch keeps structure only: tensors stay in its bank, which can be replaced, and a
selection of its queries can be evaluated by itself, so that one compilation serves all epochs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepprooflog.graph.explore import Exploration
from deepprooflog.graph.flat import Asked as AskedRows
from deepprooflog.graph.flat import Ints, flatten, row_starts
from deepprooflog.graph.goalgraph import GoalGraph
from deepprooflog.graph.macro import Templates
from deepprooflog.graph.pattern import WholeTensors
from deepprooflog.graph.schedule import schedule
from deepprooflog.graph.templates import Bundle, Groups, group, place_tensors
from deepprooflog.graph.unfold import unfold
from deepprooflog.infer.bank import Bank, moved, replaced, stacked
from deepprooflog.infer.chain import Chains, chain_log_prob, find_chains
from deepprooflog.infer.exact import Layered, layered, log_values
from deepprooflog.infer.method import FIRST, Method, over_budget, write_down
from deepprooflog.infer.shapes import Shape, find_shapes, shape_log_prob
from deepprooflog.infer.tabled import Tabled
from deepprooflog.infer.tabled_grad import tabled_log_values
from deepprooflog.infer.tabled_levels import Levels, level_log_values, levels_of
from deepprooflog.logic.budget import Budget, BudgetExceeded
from deepprooflog.logic.clause import Clause
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.logic.resolve import start
from deepprooflog.score.edges import EdgeTable, edge_table
from deepprooflog.score.network import Network
from deepprooflog.score.parameters import Labels
from deepprooflog.score.scorer import Scorer
from deepprooflog.score.slack import label_slack
from deepprooflog.score.weigh import Asked, edge_weights, network_of, stack
from deepprooflog.syntax.terms import Slot, Struct, Term, deref


@dataclass(frozen=True)
class UnfoldedPart:
    """Unfolded queries of one form, with what each network reads as numbers into the bank."""

    form: Chains | Shape
    asked: list[AskedRows]
    rows: tuple[Tensor, ...]  # for each network: [Q, rows, arity] into the bank
    alone: tuple[bool, ...]  # for each network: no input is read by two queries
    member: Ints  # [queries of the batch] a query's place in the form; −1 for none
    clauses: list[Clause]  # trainable clauses, by number

    def to(self, device: torch.device) -> UnfoldedPart:
        """The same part with its indices on a device."""
        rows = tuple(r.to(device) for r in self.rows)
        return replace(self, form=self.form.to(device), rows=rows)


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
    bank: Bank

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
    bank, placed = place_tensors(queries)
    unfolded: list[UnfoldedPart] = []
    rest = np.arange(len(queries))
    if local and unfolding and _may_unfold(program, queries, budget, method):
        unfolded, rest = _unfold(program, queries, placed, budget)
    parts = _write_down(program, group(queries, rest.tolist()), local, budget, method)
    return Compiled(
        len(queries), Texts(tuple(queries)), unfolded,
        [p for p in parts if isinstance(p, GraphPart)],
        [p for p in parts if isinstance(p, TabledPart)],
        stacked(bank),
    )  # fmt: skip


def _write_down(
    program: Program, groups: Groups, local: bool, budget: Budget, method: Method
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
        return [*parts, _graph_part(Bundle(together, groups.identity, alone[None, :]))]
    for query in groups.alone:
        add(groups.goals[query], groups.identity, np.asarray([query], dtype=np.int64))
    return parts


def _together(
    program: Program, groups: Groups, local: bool, budget: Budget, method: Method
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


def _may_unfold(program: Program, queries: Sequence[Query], budget: Budget, method: Method) -> bool:
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


def _unfold(
    program: Program, queries: Sequence[Query], placed: Sequence[Sequence[int]],
    budget: Budget | None,
) -> tuple[list[UnfoldedPart], Ints]:  # fmt: skip
    interner = Interner()
    templates = Templates(program, interner, budget or Budget())
    goals = [start(q.atoms, interner) for q in queries]
    try:
        flat = flatten(templates, unfold(templates, goals))
    except (BudgetExceeded, WholeTensors):
        return [], np.arange(len(queries))
    starts = row_starts(flat)
    chains, rest = find_chains(flat, starts)
    shapes = find_shapes(flat, rest, starts)
    parts = []
    forms: list[Chains | Shape] = [*chains, *shapes]
    for form in forms:
        rows = [_banked(own, [placed[q] for q in form.queries.tolist()]) for own in form.rows]
        alone = tuple(len(np.unique(_flat(r), axis=0)) == len(_flat(r)) for r in rows)
        member = np.full(len(queries), -1, dtype=np.int64)
        member[form.queries] = np.arange(len(form.queries))
        tensors = tuple(torch.as_tensor(r) for r in rows)
        parts.append(UnfoldedPart(form, flat.asked, tensors, alone, member, flat.clauses))
    done = np.concatenate([np.zeros(0, dtype=np.int64), *(p.form.queries for p in parts)])
    return parts, np.setdiff1d(np.arange(len(queries)), done)


def _flat(rows: Ints) -> Ints:
    return rows.reshape(-1, rows.shape[-1])


def _banked(own: Ints, placed: Sequence[Sequence[int]]) -> Ints:
    """A query's own slots [Q, rows, arity] as numbers into the bank."""
    width = max((len(p) for p in placed), default=0)
    table = np.zeros((len(placed), max(width, 1)), dtype=np.int64)
    for i, p in enumerate(placed):
        table[i, : len(p)] = p
    return np.take_along_axis(table, own.reshape(len(placed), -1), axis=1).reshape(own.shape)


def batch_log_prob(
    compiled: Compiled,
    networks: Mapping[str, Network],
    labels: Labels,
    scorer: Scorer,
    select: Int[Tensor, "selected"] | None = None,
) -> Float[Tensor, "batch"]:
    """log p_success of the batch's goals, or of those selected, in order."""
    if select is not None and not len(select):
        return labels.logits.new_zeros(0, dtype=torch.float64)
    if len(compiled.unfolded) == 1 and len(compiled.unfolded[0].form.queries) == compiled.queries:
        # One part that holds every query in its place: nothing to put in order.
        return _unfolded_values(compiled.unfolded[0], compiled.bank, networks, labels, select)
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
        values.append(_unfolded_values(part, compiled.bank, networks, labels, chosen))
    graphs, tabled = compiled.graphs, compiled.tabled
    if wanted is not None:
        graphs = [g for g in graphs if np.isin(g.bundle.queries, wanted).any()]
        tabled = [_selected(t, wanted) for t in tabled if np.isin(t.queries, wanted).any()]
    more_places, more = _graph_values(compiled, graphs, tabled, networks, labels, scorer)
    return _in_order([*places, *more_places], [*values, *more], compiled.queries, wanted, labels)


def _unfolded_values(
    part: UnfoldedPart,
    bank: Bank,
    networks: Mapping[str, Network],
    labels: Labels,
    select: Tensor | None,
) -> Tensor:
    """log p of a part's queries, or of those selected."""
    device = labels.device
    part = part.to(device)
    chosen = None if select is None else select.to(device)
    outputs = []
    for asked, rows, alone in zip(part.asked, part.rows, part.alone, strict=True):
        own = rows if chosen is None else rows[chosen]  # [q, rows, arity]
        if not own.shape[1]:
            outputs.append(labels.logits.new_zeros((len(own), 0, 1)))
            continue
        flat = own.reshape(-1, own.shape[2])
        inverse: Tensor | None = None
        if not alone:
            flat, inverse = torch.unique(flat, dim=0, return_inverse=True)
        net = network_of(networks, asked.network, asked.clause)
        inputs = [
            stack(bank, flat[:, j], asked.network, asked.clause, device)
            for j in range(flat.shape[1])
        ]
        log = net.log_probabilities(
            inputs, asked.domain, asked.bernoulli, asked.network, asked.clause
        )
        log = log if inverse is None else log[inverse]
        outputs.append(log.reshape(len(own), own.shape[1], -1))
    used = labels.log_values()
    if part.clauses:
        used = used[labels.numbers(part.clauses)]
    used = used[: len(part.clauses)]
    if isinstance(part.form, Shape):
        return shape_log_prob(part.form, used, outputs, chosen)
    return chain_log_prob(part.form, used, outputs, chosen)


def _graph_values(
    compiled: Compiled,
    graphs: Sequence[GraphPart],
    tabled: Sequence[TabledPart],
    networks: Mapping[str, Network],
    labels: Labels,
    scorer: Scorer,
) -> tuple[list[Ints], list[Tensor]]:
    device = labels.device
    asked = [Asked(p.table, p.bundle.graph, p.bundle.slots) for p in graphs]
    asked += [Asked(t.table, t.tabled.calls, t.slots) for t in tabled]
    bank = [t.to(device) for t in compiled.bank]
    weights = edge_weights(asked, bank, networks, labels, scorer)
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


def _selected(part: TabledPart, wanted: Ints) -> TabledPart:
    """The queries of a part that are wanted."""
    here = np.isin(part.queries, wanted)
    return replace(part, queries=part.queries[here], slots=part.slots[here])


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
