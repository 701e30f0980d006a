"""Exact inference, batched and differentiable: log p_success by dynamic programming.

    log V(G) = log Σ over steps G → G' of exp(w(step) + log V(G')),      V(True) = 1

Values are computed level by level along the schedule, for a batch of weightings of one graph at
once; a cyclic component is eliminated state by state, as its structure allows. The backward pass is
written out: the gradient of log V with respect to a step's log-weight is the expected number of
times the step is taken in a successful derivation, found by one sweep in the opposite direction.
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
from deepprooflog.infer.cycles.component import Closed, close_cycle
from deepprooflog.infer.cycles.elimination import NoLimit, solve_transposed
from deepprooflog.infer.cycles.wide import Floats, normal, over, times, to_float, to_log
from deepprooflog.infer.graphs.semiring import divergent
from deepprooflog.infer.graphs.values import Component, component
from deepprooflog.score.fixed import Slack, unknown_slack
from deepprooflog.score.segments import segment_logsumexp


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
    """A cyclic component: the edges that leave it for goals that can succeed, and its structure."""

    number: int  # of the component in the schedule
    nodes: Tensor  # [n]
    edges: Tensor  # [m] edges leaving
    targets: Tensor  # [m]
    segment: Tensor  # [m] position in `nodes`
    part: Component


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
            part = component(plan, c)
            leaving = part.outer[part.alive]
            cycles.append(
                Cycle(
                    number=c,
                    nodes=tensor(plan.components[c]),
                    edges=tensor(leaving),
                    targets=tensor(graph.target[leaving]),
                    segment=tensor(part.steps.outer_source[part.alive]),
                    part=part,
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
    slack: Slack = unknown_slack,
) -> Float[Tensor, "nodes batch"]:
    """log V of every goal under each column of `weights`; `given` are the targets' log values.

    `slack` tells what the weights of goals on cycles leave over, where more is known than weights.
    """
    if given is None:
        given = weights.new_zeros((len(layers.targets), weights.shape[1]))
    values: Tensor = _LogValues.apply(weights, given, layers, slack)  # type: ignore[no-untyped-call]
    return values


class _LogValues(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, given: Tensor, layers: Layered, slack: Slack) -> Tensor:
        nodes = layers.plan.graph.nodes
        values = weights.new_full((nodes, weights.shape[1]), -torch.inf)
        values[layers.targets] = given
        systems: list[Closed] = []
        for layer in layers.layers:
            if len(layer.nodes):
                items = weights[layer.edges] + values[layer.targets]
                values[layer.nodes] = segment_logsumexp(items, layer.segment, len(layer.nodes))
            for cycle in layer.cycles:
                system = _solve_cycle(cycle, weights, values, layers, slack)
                values[cycle.nodes] = weights.new_tensor(to_log(system.x))
                systems.append(system)
        ctx.layers = layers
        ctx.systems = systems
        ctx.save_for_backward(weights, values)
        return values

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None]:
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
        return out, flow[layers.targets], None, None


def refuse_second_derivatives() -> None:
    """A backward pass that is itself recorded would take its results for constants."""
    if torch.is_grad_enabled():
        raise ModelError(
            "log p_success has first derivatives only", hint="leave out create_graph=True"
        )


def _solve_cycle(
    cycle: Cycle, weights: Tensor, values: Tensor, layers: Layered, slack: Slack
) -> Closed:
    items = weights[cycle.edges] + values[cycle.targets]
    right = segment_logsumexp(items, cycle.segment, len(cycle.nodes))
    part, every = cycle.part, _floats(weights)
    members = layers.plan.components[cycle.number]
    try:
        return close_cycle(
            part.steps, every[part.inner], every[part.outer], _floats(right), slack(members)
        )
    except NoLimit:
        raise divergent(layers.plan, members) from None


def _flow_through_cycle(
    cycle: Cycle, system: Closed, weights: Tensor, values: Tensor, flow: Tensor, out: Tensor
) -> None:
    """Hand the flow into a cycle's goals on to its steps and to where they leave."""
    x, steps = system.x, cycle.part.steps
    some = x.m != 0
    incoming = over(normal(_floats(flow[cycle.nodes]), 0), x._replace(m=np.where(some, x.m, 1.0)))
    visits = solve_transposed(system.factors, incoming._replace(m=np.where(some, incoming.m, 0.0)))
    inside = times(times(visits.at(steps.inner_source), system.steps), x.at(steps.inner_target))
    out[torch.as_tensor(cycle.part.inner, device=out.device)] = out.new_tensor(to_float(inside))
    leaving = out.new_tensor(to_float(times(visits, system.right)))
    items = weights[cycle.edges] + values[cycle.targets]
    outer = segment_logsumexp(items, cycle.segment, len(cycle.nodes))
    outer = torch.where(outer == -torch.inf, torch.zeros_like(outer), outer)
    share = torch.exp(items - outer[cycle.segment]) * leaving[cycle.segment]
    out[cycle.edges] = share
    flow.index_add_(0, cycle.targets, share)


def _floats(values: Tensor) -> Floats:
    found: Floats = values.detach().double().cpu().numpy()
    return found
