"""One hop against dense matrices, one for each relation and direction."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from deepprooflog.kg.walk.edges import BLOCK, Edges
from deepprooflog.kg.walk.hop import degrees, hop, left_out, weighted
from kg.walk.small import ENTITIES, RELATIONS, Facts, facts

DIRECTED = 2 * len(RELATIONS)


def adjacency(rows: Facts) -> torch.Tensor:
    """[relation, source, target], relations and then their inverses."""
    found = torch.zeros(DIRECTED, ENTITIES, ENTITIES, dtype=torch.float64)
    for h, r, t in rows:
        found[r, h, t] = found[r + len(RELATIONS), t, h] = 1
    return found


def dense(at: torch.Tensor, step: torch.Tensor, power: torch.Tensor, rows: Facts) -> torch.Tensor:
    """The hop of one query by definition."""
    matrix = adjacency(rows)
    degree = matrix.sum(2, keepdim=True).clamp_min(1)
    weight = matrix * degree ** -power[:, None, None]
    return at * step[-1] + torch.einsum("xs,rs,rxy->ys", at, step[:-1], weight)


@settings(max_examples=30)
@given(facts(), st.integers(0, 2**31))
def test_a_hop_is_a_sum_of_matrix_products(rows: Facts, seed: int) -> None:
    """Values and gradients; every query without a fact of its own, or with all of them."""
    generator = torch.Generator().manual_seed(seed)
    batch, states = len(rows), 2
    at = torch.rand(ENTITIES, batch, states, generator=generator, dtype=torch.float64)
    step = torch.rand(DIRECTED + 1, batch, states, generator=generator, dtype=torch.float64)
    power = torch.rand(DIRECTED, generator=generator, dtype=torch.float64)
    inputs = [x.requires_grad_() for x in (at, step, power)]
    edges = Edges.of(np.array(rows), entities=ENTITIES, relations=len(RELATIONS))
    weights = weighted(edges, power, degrees(edges, None))
    h, r, t = (torch.tensor(column) for column in zip(*rows, strict=True))
    mix = torch.rand(ENTITIES, batch, states, generator=generator, dtype=torch.float64)
    for out in (None, left_out(weights, h, r, t)):
        rest = [[f for f in rows if out is None or f != own] for own in rows]
        expected = torch.stack(
            [dense(at[:, i], step[:, i], power, rest[i]) for i in range(batch)], 1
        )
        found = hop(at, step, weights, out)
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
        pairs = zip(
            torch.autograd.grad((found * mix).sum(), inputs),
            torch.autograd.grad((expected * mix).sum(), inputs),
            strict=True,
        )
        for a, b in pairs:
            torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)


def test_pairs_are_padded_to_blocks_of_one_relation() -> None:
    rows = np.array([(h, r, h % 3) for h in range(BLOCK + 1) for r in range(2)])
    edges = Edges.of(rows, entities=BLOCK + 1, relations=2)
    assert edges.block.tolist() == [0, 0, 1, 1, 2, 3, 0]
    assert edges.pairs == BLOCK * 7
    assert degrees(edges, None).sum() == edges.count == 2 * len(rows)
