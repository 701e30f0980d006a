"""What a fact left out changes, by hand: a pair of three edges that loses one."""

from __future__ import annotations

import math

import numpy as np
import torch

from deepprooflog.kg.walk.hops.edges import Edges
from deepprooflog.kg.walk.hops.last_hop import TorchPairs, last_hop
from deepprooflog.kg.walk.hops.own_edges import OwnEdges
from deepprooflog.kg.walk.hops.weighted import degrees, left_out, weighted

FACTS = np.array([[0, 0, 1], [0, 0, 2], [0, 0, 3]])


def test_the_others_weigh_more_and_the_one_nothing() -> None:
    edges = Edges.of(FACTS, entities=4, relations=1)
    power = torch.tensor([0.5, 0.5], dtype=torch.float64)
    weights = weighted(edges, power, degrees(edges, None))
    query = torch.tensor([0])
    without = left_out(weights, query, query, torch.tensor([2]))
    own = OwnEdges.of(weights, without)
    # Along the relation three edges of 3^-1/2, then two of 2^-1/2; back one edge of 1, then none.
    assert own.cell.tolist() == [1, 2, 3, 0]
    assert own.owner.tolist() == [0, 0, 0, 1]
    whole, rest = 3**-0.5, 2**-0.5
    change = torch.tensor([rest - whole, -whole, rest - whole, -1], dtype=torch.float64)
    torch.testing.assert_close(own.change.double(), change, atol=1e-7, rtol=0)
    # The derivative of 3^-p by p is -log 3 3^-p, of 2^-p is -log 2 2^-p; 1 has none.
    slope = math.log(3) * whole
    of_power = [slope - math.log(2) * rest, slope, slope - math.log(2) * rest, 0]
    expected = torch.tensor(of_power, dtype=torch.float64)
    torch.testing.assert_close(own.of_power.double(), expected, atol=1e-7, rtol=0)


def test_the_last_hop_adds_states_up() -> None:
    """Two states of one head at entity 0: 2 + 3 by the edges, 2 · 10 + 3 · 10 by staying."""
    edges = Edges.of(FACTS, entities=4, relations=1)
    weights = weighted(edges, torch.zeros(2), degrees(edges, None))
    at = torch.zeros(4, 1, 2)
    at[0, 0] = torch.tensor([2.0, 3.0])
    step = torch.ones(3, 1, 2)
    step[2] = 10
    found = last_hop(at, step, weights, 1, None, TorchPairs())
    assert found[:, 0, 0].tolist() == [50.0, 5.0, 5.0, 5.0]
