"""The policy of walks: what each step weighs, given the query's relation, the hop and the state.

For a query relation q (a relation or an inverse), hop n and states s, s':

    begin[q, s]         the weight of beginning in state s
    turn[q, n, s, s']   the weight of going from state s to s', a softmax over the head's states
    step[q, n, s', r]   the weight of then stepping along r, a softmax over relations and stay
    gate[q, n, s](x)    a factor below 1 for leaving the entity x in state s, from x's profile
    leap[q, head]       the weight of reaching any entity without a walk
    suit[q](y)          the log-weight of the answer y, from y's profile

All of it comes from vectors of relations, hops and states through small networks; no parameter
belongs to an entity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from deepprooflog.kg.walk.options import WalkOptions


@dataclass(frozen=True, eq=False)
class Weights:
    """What the policy says of a batch of query relations."""

    begin: Float[Tensor, "batch states"]
    turn: Float[Tensor, "hops batch states states"]
    step: Float[Tensor, "hops steps batch states"]
    gate: Float[Tensor, "hops numbers_and_1 batch states"] | None  # of `presence`, and a bias
    leap: Float[Tensor, "batch heads"]
    suit: Float[Tensor, "amounts batch"] | None
    sharp: Float[Tensor, " batch"]


class WalkPolicy(nn.Module):
    """The weights of steps, from vectors of relations, hops and states."""

    same_head: Tensor

    def __init__(self, relations: int, options: WalkOptions) -> None:
        super().__init__()
        self.options, self.relations = options, relations
        directed, width = 2 * relations, options.width
        hops, states = options.hops, options.states
        self.query = nn.Parameter(torch.randn(directed, width))
        self.role = nn.Parameter(torch.randn(1 if options.alike else hops, states, width))
        self.of_query = nn.Linear(width, options.hidden)
        self.of_role = nn.Linear(width, options.hidden, bias=False)
        self.out = nn.Linear(options.hidden, 2 * width + states)
        self.step = nn.Parameter(torch.randn(directed + 1, width) * 3 * width**-0.5)
        bias = torch.zeros(directed + 1)
        bias[-1] = math.log(directed)
        self.step_bias = nn.Parameter(bias)
        self.seen = nn.Parameter(torch.randn(directed + 1, width) * width**-0.5)
        self.gate_bias = nn.Parameter(torch.full((hops, states), 2.0))
        self.start = nn.Linear(width, states)
        self.leap = nn.Linear(width, options.heads)
        self.power = nn.Parameter(torch.zeros(directed))
        self.sharp = nn.Parameter(torch.zeros(directed))
        self.suit_query = nn.Parameter(torch.randn(directed, width) * width**-0.5)
        self.suit_seen = nn.Parameter(torch.zeros(2 * directed + 2, width))
        self.suit_own = nn.Parameter(torch.zeros(directed, 4))
        self.suit_all = nn.Parameter(torch.zeros(4))
        head = torch.arange(states) // (states // options.heads)
        self.register_buffer("same_head", head[:, None] == head[None], persistent=False)
        with torch.no_grad():
            for layer in (self.start, self.leap):
                layer.weight.mul_(0.1)
                layer.bias.zero_()
            # Below what a walk of two steps weighs at first, so that walks are learned from.
            self.leap.bias.fill_(-6.0 - 2.0 * math.log(directed))

    def powers(self) -> Float[Tensor, " directed"]:
        """The power of the degree that a step is divided by, for each relation and inverse."""
        if self.options.counting == "learned":
            return self.power.sigmoid()
        return torch.full_like(self.power, float(self.options.counting == "one"))

    def forward(self, relation: Int[Tensor, " batch"]) -> Weights:
        """The weights for queries of these relations; those from R on are inverses."""
        o, width = self.options, self.options.width
        hops, states, batch = o.hops, o.states, len(relation)
        query = self.query[relation]
        inner = self.of_query(query)[None, :, None] + self.of_role(self.role)[:, None]
        inner = inner.expand(hops, -1, -1, -1)
        out = self.out(inner.relu())  # [hops, batch, states, 2 width + states]
        to, at, turn = out.split([width, width, states], -1)
        logits = torch.einsum("nbsw,rw->nrbs", to, self.step) + self.step_bias[:, None, None]
        turn = turn.masked_fill(~self.same_head, -torch.inf).softmax(-1)
        gate = None
        if o.gates:
            numbers = torch.einsum("nbsw,fw->nfbs", at, self.seen)
            bias = self.gate_bias[:, None, None].expand(hops, 1, batch, states)
            gate = torch.cat([numbers, bias], 1)
        begin = self.start(query).view(batch, o.heads, -1).softmax(-1).view(batch, states)
        leap = self.leap(query).clamp(-30, 0).exp()
        suit = self._suit(relation) if o.suits else None
        sharp = self.sharp[relation].exp()
        return Weights(begin, turn, logits.softmax(1), gate, leap, suit, sharp)

    def _suit(self, relation: Tensor) -> Tensor:
        """Coefficients of `amounts`: those of any relation, and of the query's own among them."""
        directed, batch = 2 * self.relations, len(relation)
        table = self.suit_seen @ self.suit_query[relation].T
        own = self.suit_all + self.suit_own[relation]  # [batch, 4]
        inverse = (relation + self.relations) % directed
        row = torch.stack([inverse, directed + inverse, torch.full_like(inverse, 2 * directed),
                           torch.full_like(inverse, 2 * directed + 1)], 1)  # fmt: skip
        query = torch.arange(batch, device=relation.device)[:, None].expand(batch, 4)
        return table.index_put((row, query), own, accumulate=True)
