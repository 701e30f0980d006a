"""Exact inference, batched and differentiable: log p_success by dynamic programming.

    log V(G) = log Σ over steps G → G' of exp(w(step) + log V(G')),      V(True) = 1

Values are computed level by level along the schedule, for a batch of weightings of one graph at
once; a cyclic component is solved as the linear system x = A x + b. The backward pass is written
out: the gradient of log V with respect to a step's log-weight is the expected number of times the
step is taken in a successful derivation, found by one sweep in the opposite direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from deepprooflog.errors import ModelError
from deepprooflog.graph.schedule import Schedule
from deepprooflog.infer.semiring import divergent


@dataclass(frozen=True)
class Layer:
    """One level: its acyclic goals, their live edges, and its cyclic components."""

    nodes: Tensor  # [n]
    edges: Tensor  # [m] edges out of these nodes
    targets: Tensor  # [m] their target nodes
    segment: Tensor  # [m] position in `nodes` of each edge's source
    cycles: tuple[Cycle, ...]


@dataclass(frozen=True)
class Cycle:
    """A cyclic component: edges that stay inside and edges that leave."""

    nodes: Tensor  # [n]
    inner: Tensor  # [k] edges inside
    inner_source: Tensor  # [k] position in `nodes`
    inner_target: Tensor  # [k] position in `nodes`
    edges: Tensor  # [m] edges leaving
    targets: Tensor  # [m]
    segment: Tensor  # [m] position in `nodes`
    members: tuple[int, ...]


@dataclass(frozen=True)
class Layered:
    """A schedule as index tensors on one device."""

    plan: Schedule
    targets: Tensor
    layers: tuple[Layer, ...]

    def to(self, device: torch.device) -> Layered:
        """The same layers with their index tensors on a device."""
        if self.targets.device == device:
            return self
        return layered(self.plan, device)


def layered(plan: Schedule, device: torch.device | None = None) -> Layered:
    """Index tensors for the levels of a schedule."""
    graph = plan.graph
    levels = plan.levels
    first = graph.first
    live = plan.live

    def tensor(values: object) -> Tensor:
        return torch.as_tensor(np.asarray(values, dtype=np.int64), device=device)

    by_level: list[tuple[list[int], list[int]]] = [
        ([], []) for _ in range(int(levels.max()) + 1 if len(levels) else 0)
    ]
    for c, level in enumerate(levels.tolist()):
        by_level[level][1 if plan.cyclic[c] else 0].append(c)
    layers = []
    for plain, cyclic in by_level:
        nodes = [plan.components[c][0] for c in plain]
        edges, segment = _edges_of(nodes, first, live, graph.target)
        cycles = []
        for c in cyclic:
            members = plan.components[c]
            out, seg = _edges_of(members, first, live, graph.target)
            inside = plan.component_of[graph.target[out]] == c
            position = {n: i for i, n in enumerate(members)}
            cycles.append(
                Cycle(
                    nodes=tensor(members),
                    inner=tensor(out[inside]),
                    inner_source=tensor(seg[inside]),
                    inner_target=tensor([position[t] for t in graph.target[out[inside]].tolist()]),
                    edges=tensor(out[~inside]),
                    targets=tensor(graph.target[out[~inside]]),
                    segment=tensor(seg[~inside]),
                    members=tuple(members),
                )
            )
        layers.append(
            Layer(tensor(nodes), tensor(edges), tensor(graph.target[edges]), tensor(segment),
                  tuple(cycles))
        )  # fmt: skip
    return Layered(plan, tensor(plan.targets), tuple(layers))


def _edges_of(
    nodes: list[int], first: np.ndarray, live: np.ndarray, target: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    begin = first[nodes]
    counts = first[np.asarray(nodes, dtype=np.int64) + 1] - begin
    segment = np.repeat(np.arange(len(nodes)), counts)
    offset = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    edges = np.repeat(begin, counts) + offset
    keep = live[target[edges]]
    return edges[keep], segment[keep]


def log_values(
    layers: Layered,
    weights: Float[Tensor, "edges batch"],
    given: Float[Tensor, "targets batch"] | None = None,
) -> Float[Tensor, "nodes batch"]:
    """log V of every goal under each column of `weights`; `given` are the targets' log values."""
    if given is None:
        given = weights.new_zeros((len(layers.targets), weights.shape[1]))
    values: Tensor = _LogValues.apply(weights, given, layers)  # type: ignore[no-untyped-call]
    return values


class _LogValues(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, given: Tensor, layers: Layered) -> Tensor:
        nodes = layers.plan.graph.nodes
        values = weights.new_full((nodes, weights.shape[1]), -torch.inf)
        values[layers.targets] = given
        systems: list[tuple[Tensor, Tensor, Tensor]] = []
        for layer in layers.layers:
            if len(layer.nodes):
                items = weights[layer.edges] + values[layer.targets]
                values[layer.nodes] = segment_logsumexp(items, layer.segment, len(layer.nodes))
            for cycle in layer.cycles:
                solved, system = _solve_cycle(cycle, weights, values, layers)
                values[cycle.nodes] = solved
                systems.append(system)
        ctx.layers = layers
        ctx.systems = systems
        ctx.save_for_backward(weights, values)
        return values

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        refuse_second_derivatives()
        weights, values = ctx.saved_tensors
        layers: Layered = ctx.layers
        systems = list(ctx.systems)
        flow = torch.nan_to_num(grads[0].clone())
        out = torch.zeros_like(weights)
        for layer in reversed(layers.layers):
            for cycle in reversed(layer.cycles):
                _flow_through_cycle(cycle, systems.pop(), weights, values, flow, out)
            if len(layer.nodes):
                base = values[layer.nodes]
                base = torch.where(base == -torch.inf, torch.zeros_like(base), base)
                items = weights[layer.edges] + values[layer.targets]
                share = torch.exp(items - base[layer.segment]) * flow[layer.nodes][layer.segment]
                out[layer.edges] = share
                flow.index_add_(0, layer.targets, share)
        return out, flow[layers.targets], None


def refuse_second_derivatives() -> None:
    """A backward pass that is itself recorded would take its results for constants."""
    if torch.is_grad_enabled():
        raise ModelError(
            "log p_success has first derivatives only", hint="leave out create_graph=True"
        )


def segment_logsumexp(
    items: Float[Tensor, "items batch"], segment: Tensor, segments: int
) -> Float[Tensor, "segments batch"]:
    """log Σ exp over the items of each segment; −inf for an empty one."""
    shape = (segments, items.shape[1])
    index = segment.unsqueeze(1).expand_as(items)
    top = items.new_full(shape, -torch.inf).scatter_reduce(0, index, items, "amax")
    top = torch.where(top == -torch.inf, torch.zeros_like(top), top)
    total = items.new_zeros(shape).index_add_(0, segment, torch.exp(items - top[segment]))
    return torch.log(total) + top


def _solve_cycle(
    cycle: Cycle, weights: Tensor, values: Tensor, layers: Layered
) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
    n, batch = len(cycle.nodes), weights.shape[1]
    items = weights[cycle.edges] + values[cycle.targets]
    outer = segment_logsumexp(items, cycle.segment, n)
    top = outer.amax(0, keepdim=True)
    top = torch.where(top == -torch.inf, torch.zeros_like(top), top)
    right = torch.exp(outer - top)
    matrix = torch.eye(n, dtype=weights.dtype, device=weights.device).repeat(batch, 1, 1)
    inside = torch.exp(weights[cycle.inner])
    place = cycle.inner_source * n + cycle.inner_target
    inside = inside * _productive(cycle, weights, outer)[cycle.inner_target]
    matrix.view(batch, n * n).index_add_(1, place, -inside.T)
    both = torch.stack([right.T, torch.ones_like(right.T)], dim=2)
    solved, info = torch.linalg.solve_ex(matrix, both)
    if bool((info != 0).any()) or not bool((solved[..., 1] > 0).all()):
        raise divergent(layers.plan, cycle.members)
    x = solved[..., 0].clamp_min(0.0).T
    return torch.log(x) + top, (matrix, x, right)


def _productive(cycle: Cycle, weights: Tensor, outer: Tensor) -> Tensor:
    """[n, batch] 1 for goals that reach True by steps of nonzero weight, else 0.

    The others have value 0, but a cycle of theirs would make the matrix singular.
    """
    found = (outer > -torch.inf).to(weights.dtype)
    inner = weights[cycle.inner]
    if not bool((inner == -torch.inf).any()):
        return found.amax(0, keepdim=True).expand_as(found)
    passes = (inner > -torch.inf).to(weights.dtype)
    index = cycle.inner_source.unsqueeze(1).expand_as(inner)
    while True:
        more = found.scatter_reduce(0, index, passes * found[cycle.inner_target], "amax")
        if bool((more == found).all()):
            return found
        found = more


def _flow_through_cycle(
    cycle: Cycle,
    system: tuple[Tensor, Tensor, Tensor],
    weights: Tensor,
    values: Tensor,
    flow: Tensor,
    out: Tensor,
) -> None:
    matrix, x, right = system
    incoming = torch.where(x > 0, flow[cycle.nodes] / x, torch.zeros_like(x))
    visits = torch.linalg.solve(matrix.mT, incoming.T.unsqueeze(2)).squeeze(2).T
    inside = torch.exp(weights[cycle.inner])
    out[cycle.inner] = visits[cycle.inner_source] * inside * x[cycle.inner_target]
    leaving = visits * right
    items = weights[cycle.edges] + values[cycle.targets]
    outer = segment_logsumexp(items, cycle.segment, len(cycle.nodes))
    outer = torch.where(outer == -torch.inf, torch.zeros_like(outer), outer)
    share = torch.exp(items - outer[cycle.segment]) * leaving[cycle.segment]
    out[cycle.edges] = share
    flow.index_add_(0, cycle.targets, share)
