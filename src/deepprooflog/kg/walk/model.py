"""The scores of all tails of a query, by a sparse dynamic program over (entity, state).

    score(h, q, y) = suit_q(y) · Π over heads of
                     (leap + Σ over walks from h to y of the product of their steps' weights)

A walk has `hops` steps, staying included; `forward` sums over all of them by as many sparse
products. What the sum ranges over are the derivations of the program in `kg/walk/program.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from deepprooflog.errors import DataError
from deepprooflog.kg.data.triples import Graph, did_you_mean
from deepprooflog.kg.walk.hops.edges import Edges
from deepprooflog.kg.walk.hops.gates import gated, gates_of_cells
from deepprooflog.kg.walk.hops.own_fact import OwnFact
from deepprooflog.kg.walk.hops.profile import Profile, amounts, presence
from deepprooflog.kg.walk.hops.reached import Fan, Reached
from deepprooflog.kg.walk.hops.sums import sums_for
from deepprooflog.kg.walk.hops.weighted import degrees, left_out, weighted
from deepprooflog.kg.walk.options import WalkOptions
from deepprooflog.kg.walk.policy import WalkPolicy, Weights


@dataclass(frozen=True, eq=False)
class WalkGraph:
    """The facts that walks go along, with what the policy reads of entities."""

    edges: Edges
    kept: Float[Tensor, " edges"] | None  # 0 for edges to do without; None keeps all
    degree: Float[Tensor, " pairs"]  # of the edges that are kept
    profile: Profile
    presence: Float[Tensor, "entities numbers"]
    amounts: Float[Tensor, "entities amounts"]

    @classmethod
    def of(
        cls, triples: Int[Tensor, "facts 3"], *, entities: int, relations: int,
        device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32,
    ) -> WalkGraph:  # fmt: skip
        """From facts (h, r, t)."""
        edges = Edges.of(triples.cpu().numpy(), entities=entities, relations=relations)
        return cls.keeping(edges.to(device), None, dtype)

    @classmethod
    def keeping(
        cls, edges: Edges, kept: Float[Tensor, " edges"] | None, dtype: torch.dtype
    ) -> WalkGraph:
        """From edges, some of which may be left out for all queries."""
        degree = degrees(edges, kept)
        profile = Profile.of(edges, degree, dtype)
        return cls(
            edges, kept, degree, profile, presence(profile.counts), amounts(profile.counts)
        )  # fmt: skip

    def thinned(self, share: float) -> WalkGraph:
        """The graph without a random share of its facts, as if it had never had them."""
        edges, dtype = self.edges, self.presence.dtype
        facts = torch.rand(edges.count // 2 + 1, device=edges.key.device)
        return WalkGraph.keeping(edges, (facts >= share).to(dtype)[edges.fact_of], dtype)


def walk_graph(
    graph: Graph,
    relations: Sequence[str],
    *,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> WalkGraph:
    """A graph's training triples for a model of these relations, which are matched by name."""
    triples = torch.from_numpy(graph.train)
    numbers = relation_numbers(graph, relations)
    triples = torch.stack([triples[:, 0], numbers[triples[:, 1]], triples[:, 2]], 1)
    known = triples[triples[:, 1] >= 0]
    return WalkGraph.of(
        known, entities=len(graph.entities), relations=len(relations), device=device, dtype=dtype
    )


def relation_numbers(graph: Graph, relations: Sequence[str]) -> Int[Tensor, " relations"]:
    """The number that each of a graph's relations has in a model; −1 where it has none."""
    ids = {name: number for number, name in enumerate(relations)}
    found = torch.tensor([ids.get(name, -1) for name in graph.relations], dtype=torch.long)
    if not len(found) or bool((found < 0).all()):
        name = graph.relations[0] if graph.relations else ""
        raise DataError(
            f"{graph.name} has none of the relations that the walks were trained on",
            hint=did_you_mean(name, relations) or "give a graph with the same relations",
        )
    return found


class WalkModel(nn.Module):
    """Scores queries q(h, ?) on any graph with the model's relations.

    >>> facts = torch.tensor([[0, 0, 1], [1, 0, 2]])
    >>> graph = WalkGraph.of(facts, entities=3, relations=1)
    >>> model = WalkModel(("next",), WalkOptions(hops=2, states=2, gates=False, suits=False))
    >>> scores = model(graph, torch.tensor([0]), torch.tensor([0]))
    >>> scores.shape, bool((scores > -11).all())
    (torch.Size([1, 3]), True)
    """

    def __init__(self, relations: Sequence[str], options: WalkOptions | None = None) -> None:
        super().__init__()
        self.relations, self.options = tuple(relations), options or WalkOptions()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.options.seed)
            self.policy = WalkPolicy(len(self.relations), self.options)

    def forward(
        self,
        graph: WalkGraph,
        head: Int[Tensor, " batch"],
        relation: Int[Tensor, " batch"],
        tail: Int[Tensor, " batch"] | None = None,
    ) -> Float[Tensor, "batch entities"]:
        """The log-score of every tail; relations from R on are inverses, whose tails are heads.

        Where `tail` is given, a query's own fact is left out, if it is one, for that query alone.
        """
        return self.by_entity(graph, head, relation, tail)[0].T

    def by_entity(
        self,
        graph: WalkGraph,
        head: Int[Tensor, " batch"],
        relation: Int[Tensor, " batch"],
        tail: Int[Tensor, " batch"] | None = None,
    ) -> tuple[Float[Tensor, "entities batch"], Weights]:
        """The same with entities first, as they are worked out, and the policy's weights."""
        heads, weights, own = self._arrived(graph, head, relation, tail)
        score = (heads + weights.leap).log().sum(-1)
        if weights.suit is not None:
            score = score + suited(graph, weights.suit, own)
        return score, weights

    def by_walks(
        self, graph: WalkGraph, head: Int[Tensor, " batch"], relation: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch entities"]:
        """The share of every tail's score that no leap is in."""
        heads, weights, _ = self._arrived(graph, head, relation, None)
        return (heads / (heads + weights.leap)).prod(-1).T

    def _arrived(
        self,
        graph: WalkGraph,
        head: Int[Tensor, " batch"],
        relation: Int[Tensor, " batch"],
        tail: Int[Tensor, " batch"] | None,
    ) -> tuple[Float[Tensor, "entities batch heads"], Weights, OwnFact | None]:
        """What the walks of each head weigh that end at every entity.

        Over what the walks can reach while that is little, then over all entities.
        """
        weights, power, o = self.policy(relation), self.policy.powers(), self.options
        edges = weighted(graph.edges, power, graph.degree, graph.kept)
        without = own = None
        if tail is not None:
            without = left_out(edges, head, relation, tail)
            own = OwnFact(graph.profile, head, relation, tail, without)
        walks, n = Reached.heads(head, weights.begin, graph.edges.entities), 0
        while walks.few(graph.edges):
            fan = Fan.of(walks.cells, graph.edges, graph.degree, graph.kept, without)
            gate = None
            if weights.gate is not None:
                gate = gates_of_cells(walks.cells, weights.gate[n], graph.presence, own)
            walks = walks.turned(gate, weights.turn[n])
            if n == o.hops - 1:
                return walks.last_step(weights.step[n], power, fan, o.heads), weights, own
            walks, n = walks.step(weights.step[n], power, fan), n + 1
        at = walks.spread()
        sums = sums_for(at.device, o.states // o.heads)
        for m in range(n, o.hops):
            if weights.gate is not None:
                at = gated(at, weights.gate[m], graph.presence, own, sums.gates)
            at = sums.turned(at, weights.turn[m])
            if m < o.hops - 1:
                at = sums.hop(at, weights.step[m], edges, without)
        return sums.last_hop(at, weights.step[-1], edges, o.heads, without), weights, own


def suited(
    graph: WalkGraph, suit: Float[Tensor, "amounts batch"], own: OwnFact | None
) -> Float[Tensor, "entities batch"]:
    """The log-weights of all entities as answers; that of the best is 0."""
    logits = graph.amounts @ suit
    if own is not None:
        found = (own.amounts * suit.T[own.query]).sum(1)
        logits = own.put(logits, found)
    return logits - logits.amax(0)
