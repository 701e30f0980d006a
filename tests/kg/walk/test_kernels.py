"""The kernels of a GPU against sums term by term, over rows of no, few and many terms."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from deepprooflog.kg.walk.hops.edges import Edges
from deepprooflog.kg.walk.hops.plan import Chunks, Gathered
from kg.walk.interpreted import WHERE

pytest.importorskip("triton", reason="Triton runs the kernels of a GPU")
from deepprooflog.kg.walk.hops import fused, kernels

SIZES = (0, 1, 9, 3, 0, 70)
TERMS = sum(SIZES)
ROW = torch.repeat_interleave(torch.arange(len(SIZES)), torch.tensor(SIZES)).to(WHERE)
POINTER = torch.tensor([0, *SIZES], device=WHERE).cumsum(0)


def drawn(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.rand(shape, generator=generator, dtype=torch.float64).to(WHERE)


def numbers(below: int) -> Tensor:
    generator = torch.Generator().manual_seed(below)
    return torch.randint(below, (TERMS,), generator=generator).to(WHERE)


def summed(terms: Tensor) -> Tensor:
    return terms.new_zeros(len(SIZES), terms.shape[1]).index_add(0, ROW, terms)


@pytest.mark.parametrize("narrow", [1, 4])
@pytest.mark.parametrize("most", [2, 64])
def test_a_gathered_row_is_the_sum_of_its_terms(narrow: int, most: int) -> None:
    table, factor, weight = drawn(7, 300 // narrow), drawn(3, 300), drawn(TERMS)
    other, relation = numbers(7), numbers(3)
    chunks = Chunks.of(POINTER, most)
    gathered = Gathered(other.int(), relation.int(), other, chunks)
    terms = table[other].repeat_interleave(narrow, 1) * factor[relation]
    for own in (None, weight):
        expected = summed(terms if own is None else terms * own[:, None])
        found = kernels.gather(gathered, table, factor, own, narrow=narrow)
        torch.testing.assert_close(found, expected)
    found = kernels.gather(gathered, table, None, weight, narrow=narrow)
    wide = table[other].repeat_interleave(narrow, 1)
    torch.testing.assert_close(found, summed(wide * weight[:, None]))


@pytest.mark.parametrize("narrow", [1, 4])
def test_a_row_of_products_is_the_sum_of_its_terms(narrow: int) -> None:
    left, right, weight, more = drawn(7, 300), drawn(5, 300 // narrow), drawn(TERMS), drawn(TERMS)
    one, two = numbers(7), numbers(5)
    terms = left[one] * right[two].repeat_interleave(narrow, 1) * weight[:, None]
    found, twofold = kernels.products(
        Chunks.of(POINTER, 4), left, right, one, two, weight, more, narrow=narrow
    )
    torch.testing.assert_close(found, summed(terms))
    torch.testing.assert_close(twofold, summed(terms * more[:, None]))


def test_columns_are_added_up_in_groups() -> None:
    table, factor = drawn(7, 320), drawn(3, 320)
    source, block = numbers(7)[:10], torch.tensor([2, 0], device=WHERE)
    found = kernels.shrunk(table, factor, source, block, 8, 4)
    relation = torch.tensor([2] * 8 + [0] * 2, device=WHERE)
    expected = (table[source] * factor[relation]).view(10, 80, 4).sum(2)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("states", [1, 4, 6, 16])
@pytest.mark.parametrize("entities", [0, 3, 700])
def test_squares_are_sums_of_outer_products(entities: int, states: int) -> None:
    left, right = drawn(entities, 3, states), drawn(entities, 3, states).flip(0)
    expected = torch.einsum("eqs,eqt->qst", left, right)
    torch.testing.assert_close(kernels.squares(left, right), expected)


def test_a_graph_is_laid_out_once() -> None:
    edges = Edges.of(np.array([[0, 0, 1], [0, 0, 2]]), entities=3, relations=1)
    plan = fused.plan_of(edges)
    assert fused.plan_of(edges) is plan
    # Two facts go both ways and three entities stay: seven terms, by their targets.
    assert plan.into.other.tolist() == [1, 2, 0, 0, 1, 0, 2]
    assert plan.into.relation.tolist() == [1, 1, 2, 0, 2, 0, 2]
