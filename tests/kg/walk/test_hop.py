"""One hop against dense matrices, one for each relation and direction."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from deepprooflog.kg.walk.hops.edges import BLOCK, Edges
from deepprooflog.kg.walk.hops.gates import gated
from deepprooflog.kg.walk.hops.hop import sparse_sum
from deepprooflog.kg.walk.hops.own_fact import OwnFact
from deepprooflog.kg.walk.hops.plan import Chunks
from deepprooflog.kg.walk.hops.profile import Profile, presence
from deepprooflog.kg.walk.hops.sums import PLAIN, HopSums
from deepprooflog.kg.walk.hops.weighted import degrees, left_out, weighted
from kg.walk.interpreted import WHERE, sums_of_a_gpu
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
    matrix = adjacency(rows).to(at.device)
    degree = matrix.sum(2, keepdim=True).clamp_min(1)
    weight = matrix * degree ** -power[:, None, None]
    return at * step[-1] + torch.einsum("xs,rs,rxy->ys", at, step[:-1], weight)


@settings(max_examples=30)
@given(facts(), st.integers(0, 2**31))
def test_a_hop_is_a_sum_of_matrix_products(rows: Facts, seed: int) -> None:
    """Values and gradients; every query without a fact of its own, or with all of them."""
    hops_are_matrix_products(PLAIN, torch.device("cpu"), rows, seed)


@settings(max_examples=2)
@given(facts(), st.integers(0, 2**31))
def test_so_is_a_hop_of_a_gpu(rows: Facts, seed: int) -> None:
    hops_are_matrix_products(sums_of_a_gpu(), WHERE, rows, seed)


def hops_are_matrix_products(sums: HopSums, device: torch.device, rows: Facts, seed: int) -> None:
    """Any hop, and the last one, of which the states of each head are added up."""
    generator = torch.Generator().manual_seed(seed)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=generator, dtype=torch.float64).to(device)

    batch, states, heads = len(rows), 4, 1 + seed % 2
    inputs = [drawn(ENTITIES, batch, states), drawn(DIRECTED + 1, batch, states), drawn(DIRECTED)]
    at, step, power = (x.requires_grad_() for x in inputs)
    edges = Edges.of(np.array(rows), entities=ENTITIES, relations=len(RELATIONS)).to(device)
    weights = weighted(edges, power, degrees(edges, None))
    h, r, t = (torch.tensor(column, device=device) for column in zip(*rows, strict=True))
    for out in (None, left_out(weights, h, r, t)):
        rest = [[f for f in rows if out is None or f != own] for own in rows]
        expected = torch.stack(
            [dense(at[:, i], step[:, i], power, rest[i]) for i in range(batch)], 1
        )
        last = expected.unflatten(2, (heads, -1)).sum(-1)
        for found, asked in (
            (sums.hop(at, step, weights, out), expected),
            (sums.last_hop(at, step, weights, heads, out), last),
        ):
            torch.testing.assert_close(found, asked, rtol=1e-9, atol=1e-12)
            mix = drawn(*asked.shape)
            pairs = zip(
                torch.autograd.grad((found * mix).sum(), (at, step, power)),
                torch.autograd.grad((asked * mix).sum(), (at, step, power), retain_graph=True),
                strict=True,
            )
            for a, b in pairs:
                torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("sums", "device"),
    [(lambda: PLAIN, torch.device("cpu")), (sums_of_a_gpu, WHERE)],
    ids=["plain", "fused"],
)
@pytest.mark.parametrize("states", [4, 6])
@pytest.mark.parametrize("left", [False, True], ids=["whole", "left out"])
def test_gates_and_turns(
    sums: Callable[[], HopSums], device: torch.device, states: int, left: bool
) -> None:
    """A factor below 1 for each entity, then a product for each query: values and gradients.

    What is read of an entity is another where a query's own fact is left out; the second is a loop.
    """
    generator = torch.Generator().manual_seed(0)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=generator, dtype=torch.float64).to(device)

    rows = np.array([(0, 0, 1), (2, 1, 2), (1, 0, 4)])
    edges = Edges.of(rows, entities=5, relations=2).to(device)
    power = torch.zeros(4, dtype=torch.float64, device=device)
    h, r, t = (torch.tensor(column, device=device) for column in rows.T)
    degree = degrees(edges, None)
    profile = Profile.of(edges, degree, torch.float64)
    without = left_out(weighted(edges, power, degree), h, r, t)
    own = OwnFact(profile, h, r, t, without) if left else None
    seen = presence(profile.counts)
    at = drawn(5, 3, states).requires_grad_()
    gate = (drawn(seen.shape[1] + 1, 3, states) - 0.5).requires_grad_()
    turn = drawn(3, states, states).requires_grad_()
    expected = []
    for query in range(3):
        read = seen.clone()
        if left:
            rest = Edges.of(np.delete(rows, query, 0), entities=5, relations=2).to(device)
            less = presence(Profile.of(rest, degrees(rest, None), torch.float64).counts)
            read[rows[query, [0, 2]]] = less[rows[query, [0, 2]]]
        logit = read @ gate[:-1, query] + gate[-1, query]
        expected.append((at[:, query] / (1 + (-logit).exp())) @ turn[query])
    asked, own_sums = torch.stack(expected, 1), sums()
    found = own_sums.turned(gated(at, gate, seen, own, own_sums.gates), turn)
    torch.testing.assert_close(found, asked, rtol=1e-12, atol=1e-12)
    mix = drawn(*asked.shape)
    pairs = zip(
        torch.autograd.grad((found * mix).sum(), (at, gate, turn)),
        torch.autograd.grad((asked * mix).sum(), (at, gate, turn)),
        strict=True,
    )
    for a, b in pairs:
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


@given(facts(), st.integers(0, 2**31))
def test_a_sparse_sum_is_a_matrix_product(rows: Facts, seed: int) -> None:
    """Of the edges into each entity, without a warning of torch."""
    generator = torch.Generator().manual_seed(seed)
    edges = Edges.of(np.array(rows), entities=ENTITIES, relations=len(RELATIONS))
    pairs = torch.rand(edges.pairs, 3, generator=generator, dtype=torch.float64)
    value = torch.rand(edges.count, generator=generator, dtype=torch.float64)
    expected = torch.zeros(ENTITIES, 3, dtype=torch.float64)
    for entity in range(ENTITIES):
        for place in range(int(edges.in_row[entity]), int(edges.in_row[entity + 1])):
            expected[entity] += value[place] * pairs[int(edges.in_pair[place])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = sparse_sum(edges.in_row, edges.in_pair, value, pairs, ENTITIES)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


@given(st.lists(st.integers(0, 9), max_size=6), st.integers(1, 4))
def test_chunks_are_the_places_of_their_rows(sizes: list[int], most: int) -> None:
    pointer = torch.tensor([0, *sizes]).cumsum(0)
    chunks = Chunks.of(pointer, most)
    of_row: dict[int, list[int]] = {row: [] for row in range(len(sizes))}
    behind = iter(chunks.more.tolist())
    for begin, end, row, place in zip(
        chunks.begin.tolist(), chunks.end.tolist(), chunks.row.tolist(), chunks.place.tolist(),
        strict=True,
    ):  # fmt: skip
        assert end - begin <= most
        assert row == (place if place < len(sizes) else next(behind))
        of_row[row] += range(begin, end)
    bounds = pointer.tolist()
    assert of_row == {row: [*range(*bounds[row : row + 2])] for row in range(len(sizes))}


def test_pairs_are_padded_to_blocks_of_one_relation() -> None:
    rows = np.array([(h, r, h % 3) for h in range(BLOCK + 1) for r in range(2)])
    edges = Edges.of(rows, entities=BLOCK + 1, relations=2)
    assert edges.block.tolist() == [0, 0, 1, 1, 2, 3, 0]
    assert edges.pairs == BLOCK * 7
    assert degrees(edges, None).sum() == edges.count == 2 * len(rows)
