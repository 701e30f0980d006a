"""The walks behind a score, heaviest first.

A sweep from the answer backwards finds for every entity, state and hop the weight of the best way
to go on. With that as the exact bound of what is still to come, a best-first search from the
question's entity meets whole walks in order of their weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import islice, product

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from deepprooflog.kg.walk.hops.edges import BLOCK
from deepprooflog.kg.walk.hops.gates import gate_logits
from deepprooflog.kg.walk.hops.own_fact import OwnFact
from deepprooflog.kg.walk.hops.weighted import LeftOut, Weighted, left_out, weighted
from deepprooflog.kg.walk.model import WalkGraph, WalkModel, suited


@dataclass(frozen=True)
class Hop:
    """One hop: the state it is made in, the directed relation (2R stays), the entity reached."""

    state: int
    relation: int
    entity: int
    log_weights: tuple[float, float, float]  # of the turn with the gate, the step, the fact


@dataclass(frozen=True)
class Walk:
    """A walk of one head; without hops it is a leap."""

    state: int
    log_begin: float
    hops: tuple[Hop, ...] = ()

    @property
    def leaps(self) -> bool:
        """True where any entity is reached without a walk."""
        return not self.hops

    @property
    def log_weight(self) -> float:
        """The logarithm of the product of its steps' weights."""
        return math.fsum([self.log_begin, *(w for hop in self.hops for w in hop.log_weights)])


@dataclass(frozen=True)
class WalkProof:
    """A walk for each head, and the weight of the answer."""

    walks: tuple[Walk, ...]
    log_suit: float

    @property
    def log_weight(self) -> float:
        """The logarithm of the proof's share of the score."""
        return math.fsum([self.log_suit, *(walk.log_weight for walk in self.walks)])


@torch.no_grad()
def best_walks(
    model: WalkModel,
    facts: WalkGraph,
    head: int,
    relation: int,
    tail: int,
    n: int = 10,
    *,
    leave_out: bool = False,
) -> list[WalkProof]:
    """The `n` heaviest proofs of relation(head, tail), fewer where there are fewer.

    `leave_out` does without the fact itself, if it is one. The weights of all proofs add up to the
    score of the tail.

    >>> from deepprooflog.kg.walk.options import WalkOptions
    >>> facts = WalkGraph.of(torch.tensor([[0, 0, 1], [1, 0, 2]]), entities=3, relations=1)
    >>> model = WalkModel(("next",), WalkOptions(hops=2, states=1))
    >>> [walk] = best_walks(model, facts, 0, 0, 2, n=1)[0].walks
    >>> [(hop.relation, hop.entity) for hop in walk.hops]
    [(0, 1), (0, 2)]
    """
    tables = _Tables(model, facts, head, relation, tail if leave_out else None)
    states = model.options.states // model.options.heads
    found = []
    for number in range(model.options.heads):
        own = range(number * states, (number + 1) * states)
        walks = list(islice(_walks(tables, own, head, tail), n))
        walks.append(Walk(own[0], float(tables.leap[number])))
        found.append(sorted(walks, key=lambda walk: -walk.log_weight)[:n])
    proofs = [WalkProof(walks, float(tables.suit[tail])) for walks in product(*found)]
    return sorted(proofs, key=lambda proof: -proof.log_weight)[:n]


class _Tables:
    """What every step weighs for one query, as logarithms, on the CPU."""

    def __init__(
        self, model: WalkModel, facts: WalkGraph, head: int, relation: int, tail: int | None
    ) -> None:
        device, edges = facts.edges.key.device, facts.edges
        start, query = (torch.tensor([x], device=device) for x in (head, relation))
        weights = model.policy(query)
        each = weighted(edges, model.policy.powers(), facts.degree, facts.kept)
        own, log_edge = None, each.weight.log()
        if tail is not None:
            target = torch.tensor([tail], device=device)
            without = left_out(each, start, query, target)
            own = OwnFact(facts.profile, start, query, target, without)
            log_edge = _without(each, log_edge, without)
        hops, states = model.options.hops, model.options.states
        self.hops, self.stay = hops, 2 * edges.relations
        self.begin, self.leap = _logs(weights.begin[0]), _logs(weights.leap[0])
        self.turn, self.step = _logs(weights.turn[:, 0]), _logs(weights.step[:, :, 0])
        open_ = np.zeros((hops, edges.entities, states))
        if weights.gate is not None:
            logits = [gate_logits(facts.presence, gate, own)[:, 0] for gate in weights.gate]
            open_ = np.stack([_logs(logit.sigmoid()) for logit in logits])
        self.gate = open_
        self.suit = np.zeros(edges.entities)
        if weights.suit is not None:
            self.suit = suited(facts, weights.suit, own)[:, 0].double().cpu().numpy()
        self.source = edges.source[edges.pair_of].cpu().numpy()
        self.target = edges.out_target.cpu().numpy().astype(np.int64)
        self.relation = edges.block[edges.pair_of // BLOCK].cpu().numpy()
        self.edge = log_edge.double().cpu().numpy()
        # The edges that leave an entity, by entity.
        self.order = np.argsort(self.source, kind="stable")
        self.first = np.searchsorted(self.source[self.order], np.arange(edges.entities + 1))

    def ahead(self, tail: int) -> list[Float64[np.ndarray, "entities states"]]:
        """For each hop, entity and state the weight of the best way on to the tail."""
        value = np.full(self.gate.shape[1:], -np.inf)
        value[tail] = 0.0
        found = [value]
        for n in reversed(range(self.hops)):
            step = self.step[n]
            best = value + step[self.stay]
            along = value[self.target] + step[self.relation] + self.edge[:, None]
            np.maximum.at(best, self.source, along)
            value = self.gate[n] + (best[:, None, :] + self.turn[n]).max(2)
            found.append(value)
        return found[::-1]


def _walks(tables: _Tables, states: range, head: int, tail: int) -> Iterator[Walk]:
    """The walks that begin in some states, heaviest first."""
    ahead = tables.ahead(tail)
    # Entries: the bound, a number that settles ties, the weight so far, the walk so far.
    waiting: list[tuple[float, int, float, Walk, int, int]] = []
    met = 0
    for state in states:
        log = float(tables.begin[state])
        bound = log + float(ahead[0][head, state])
        if bound > -math.inf:
            met += 1
            heappush(waiting, (-bound, met, log, Walk(state, log), head, state))
    while waiting:
        _, _, log, walk, entity, state = heappop(waiting)
        n = len(walk.hops)
        if n == tables.hops:
            yield walk
            continue
        for hop in _hops(tables, n, entity, state, states):
            weight = log + math.fsum(hop.log_weights)
            bound = weight + float(ahead[n + 1][hop.entity, hop.state])
            if bound > -math.inf:
                met += 1
                longer = Walk(walk.state, walk.log_begin, (*walk.hops, hop))
                heappush(waiting, (-bound, met, weight, longer, hop.entity, hop.state))


def _hops(tables: _Tables, n: int, entity: int, state: int, states: range) -> Iterator[Hop]:
    """The hops that lead on from where a walk stands."""
    leaving = tables.order[tables.first[entity] : tables.first[entity + 1]].tolist()
    gate = float(tables.gate[n, entity, state])
    for other in states:
        turn, step = gate + float(tables.turn[n, state, other]), tables.step[n, :, other]
        yield Hop(other, tables.stay, entity, (turn, float(step[tables.stay]), 0.0))
        for edge in leaving:
            r, to = int(tables.relation[edge]), int(tables.target[edge])
            yield Hop(other, r, to, (turn, float(step[r]), float(tables.edge[edge])))


def _without(each: Weighted, log: Tensor, without: LeftOut) -> Tensor:
    """The edges' weights when two of them are left out, and their pairs have one edge less."""
    log, edges = log.clone(), each.edges
    for number in without.there.nonzero()[:, 0].tolist():
        of_pair = (edges.pair_of == without.pair[number]).nonzero()[:, 0]
        less = (without.degree[number] - 1).clamp_min(1).log()
        there = log[of_pair] > -torch.inf
        log[of_pair] = torch.where(there, -each.power[without.relation[number]] * less, -torch.inf)
        log[of_pair[edges.out_target[of_pair] == without.target[number]]] = -torch.inf
    return log


def _logs(values: Tensor) -> np.ndarray:
    return np.asarray(values.double().log().cpu().numpy())
