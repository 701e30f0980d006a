"""Edge log-weights of a batch: labels, trainable labels, networks and the scorer put together.

Each network runs once over the distinct inputs of the whole batch, however many graphs and edges
ask it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from deepprooflog.device import capturing
from deepprooflog.errors import ModelError
from deepprooflog.graph.goalgraph import CallGraph, GoalGraph, goal_text
from deepprooflog.graph.unfold.way_table import AskedRows
from deepprooflog.logic.clause import Clause, at
from deepprooflog.score.edges import EdgeTable, Ints, NetworkEdges
from deepprooflog.score.network import Network
from deepprooflog.score.parameters import Labels
from deepprooflog.score.scorer import Scene, Scorer
from deepprooflog.syntax.terms import Slot
from deepprooflog.syntax.writer import write_term

NetworkCall: TypeAlias = NetworkEdges | AskedRows
"""A network as a label asks it: its name, how many values it has, and the clause."""


@dataclass(frozen=True)
class WeighRequest:
    """Steps to weigh: a table of edges, their graph (its calls when tabled), its slot matrix."""

    table: EdgeTable
    graph: GoalGraph | CallGraph
    slots: Ints  # [B, slots]


@dataclass(frozen=True)
class ModelWeights:
    """All that weighs the steps of a model: its networks by name, its labels and its scorer."""

    networks: Mapping[str, Network]
    labels: Labels
    scorer: Scorer

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.labels.device

    def network(self, asked: NetworkCall) -> Network:
        """The network a label names."""
        name = asked.network
        if name not in self.networks:
            raise ModelError(
                f"the program's network {name} was not given "
                f"(networks: {', '.join(self.networks) or 'none'})",
                **at(asked.clause.place),
                hint=f"dpl.Model(program, networks={{{name!r}: module}})",
            )
        return self.networks[name]

    def ask(
        self,
        asked: NetworkCall,
        bank: Sequence[Tensor] | Tensor,
        numbers: Ints | Tensor,
        *,
        distinct: bool = True,
    ) -> Float[Tensor, "rows domain"]:
        """A network's log-probabilities for rows of numbers: of tensors in the bank, or of terms.

        Rows that are not `distinct` are asked once each.
        """
        inverse: Tensor | None = None
        if not distinct and isinstance(numbers, Tensor):
            numbers, inverse = torch.unique(numbers, dim=0, return_inverse=True)
        net, device = self.network(asked), self.device
        if not len(numbers):
            return torch.zeros((0, asked.domain), dtype=torch.float64, device=device)
        inputs = [
            stack(bank, numbers[:, j], asked.network, asked.clause, device)
            if net.number is None
            else torch.as_tensor(numbers[:, j], device=device)
            for j in range(numbers.shape[1])
        ]
        log = net.log_probabilities(
            inputs, asked.domain, asked.bernoulli, asked.network, asked.clause
        )
        return log if inverse is None else log[inverse]

    def log_labels(self, clauses: Sequence[Clause]) -> Float[Tensor, "clauses"]:
        """The log-probabilities of trainable clauses."""
        every = self.labels.log_values()
        return every[self.labels.numbers(clauses)] if clauses else every[:0]


def edge_weights(
    asked: Sequence[WeighRequest], bank: Sequence[Tensor] | Tensor, weights_of: ModelWeights
) -> list[Float[Tensor, "edges batch"]]:
    """The log-weights of each table's edges, in float64."""
    device, labels, scorer = weights_of.device, weights_of.labels, weights_of.scorer
    outputs = _ask(asked, bank, weights_of)
    log_labels = labels.log_values()
    result = []
    for number, item in enumerate(asked):
        batch = len(item.slots)
        table = item.table
        weights = torch.as_tensor(table.constant, device=device)[:, None].repeat(1, batch)
        if len(table.trainable):
            picked = log_labels[labels.numbers(table.clauses)]
            weights = weights.index_copy(
                0, _index(table.trainable, device), picked[:, None].expand(-1, batch)
            )
        for k, edges in enumerate(table.networks):
            log, rows = outputs[number, k]
            place = torch.as_tensor(rows[:, edges.row].T.copy(), device=device)  # [K, B]
            column = _index(edges.column, device)[:, None]
            weights = weights.index_copy(0, _index(edges.edges, device), log[place, column])
        if len(table.scored) and not scorer.weighs_one:
            scene = _scene(item, bank, device)
            scored = scorer.log_weights(scene).expand(-1, batch)
            _check_scored(scored, scene)
            weights = weights.index_copy(0, _index(table.scored, device), scored)
        result.append(weights)
    return result


def _scene(item: WeighRequest, bank: Sequence[Tensor] | Tensor, device: torch.device) -> Scene:
    """What the scorer is asked of a table's edges."""
    steps, slots = item.table.scored, torch.as_tensor(item.slots, device=device)
    if isinstance(item.graph, CallGraph):
        calls = item.graph
        return Scene(calls.graph, _index(calls.edges_of(steps), device), slots, list(bank))
    return Scene(item.graph, _index(steps, device), slots, list(bank))


def _check_scored(scored: Tensor, scene: Scene) -> None:
    """Refuse a scorer's NaN or infinite weight, with the clause it was given to."""
    if capturing() or not bool((wrong := torch.isnan(scored) | (scored == torch.inf)).any()):
        return
    step, query = wrong.nonzero()[0].tolist()
    graph, edge = scene.graph, int(scene.steps[step])
    clause = graph.choices[edge].clause
    place = None if clause is None else clause.place
    raise ModelError(
        f"the scorer weighs a step of {goal_text(graph.goals[int(graph.source[edge])])} by "
        f"{float(scored.detach()[step, query])}",
        **at(place),
        hint="check the scorer's parameters: a learning rate too high leaves NaN behind",
    )


def _index(values: Ints, device: torch.device) -> Tensor:
    return torch.as_tensor(values, device=device)


def _ask(
    asked: Sequence[WeighRequest],
    bank: Sequence[Tensor] | Tensor,
    weights_of: ModelWeights,
) -> dict[tuple[int, int], tuple[Tensor, Ints]]:
    """For each table and network: the network's outputs, and [B, inputs] rows into them."""
    requests: dict[tuple[str, int, bool, int], list[tuple[int, int, Ints]]] = {}
    first: dict[tuple[str, int, bool, int], NetworkEdges] = {}
    for number, item in enumerate(asked):
        for k, edges in enumerate(item.table.networks):
            ids = _numbers(edges, weights_of.network(edges), item.slots)  # [B, inputs, arity]
            key = (edges.network, edges.domain, edges.bernoulli, ids.shape[2])
            requests.setdefault(key, []).append((number, k, ids))
            first.setdefault(key, edges)
    result = {}
    for key, parts in requests.items():
        arity = key[3]
        flat = np.concatenate([ids.reshape(-1, arity) for _, _, ids in parts])
        distinct, inverse = np.unique(flat, axis=0, return_inverse=True)
        inverse = inverse.reshape(-1)
        log = weights_of.ask(first[key], bank, distinct)
        offset = 0
        for number, k, ids in parts:
            size = ids.shape[0] * ids.shape[1]
            rows = inverse[offset : offset + size].reshape(ids.shape[:2])
            result[number, k] = (log, rows)
            offset += size
    return result


def _numbers(edges: NetworkEdges, net: Network, slots: Ints) -> Ints:
    """What each query gives a network: numbers into the bank, or numbers of terms."""
    if net.number is None:
        return slots[:, _slots_of(edges)]
    own = [[net.number(j, term) for j, term in enumerate(terms)] for terms in edges.inputs]
    numbers = np.asarray(own, dtype=np.int64)
    return np.broadcast_to(numbers, (len(slots), *numbers.shape))


def _slots_of(edges: NetworkEdges) -> Ints:
    numbers = []
    for inputs in edges.inputs:
        row = []
        for term in inputs:
            if type(term) is not Slot:
                place = edges.clause.place
                raise ModelError(
                    f"the network {edges.network} is called with {write_term(term)}, which is not "
                    "a tensor",
                    **at(place),
                    hint="pass a tensor with dpl.goal(..., X=tensor), one number as "
                    "tensor.reshape(1); a network on names is dpl.Network(net, number=...)",
                )
            row.append(term.number)
        numbers.append(row)
    return np.asarray(numbers, dtype=np.int64)


def stack(
    bank: Sequence[Tensor] | Tensor,
    numbers: Ints | Tensor,
    name: str,
    clause: Clause,
    device: torch.device,
) -> Tensor:
    """The bank's tensors of these numbers along a new first axis, on a device."""
    if isinstance(bank, Tensor):
        return bank[torch.as_tensor(numbers, device=bank.device)].to(device)
    tensors = [bank[n] for n in numbers.tolist()]
    shapes = {tuple(t.shape) for t in tensors}
    if len(shapes) > 1:
        place = clause.place
        raise ModelError(
            f"the network {name} gets tensors of different shapes: "
            + ", ".join(str(list(s)) for s in sorted(shapes)),
            **at(place),
            hint="give all inputs of a network one shape",
        )
    return torch.stack(tensors).to(device)
