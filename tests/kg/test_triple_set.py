"""Sets of triples against Python's, as arrays and as tensors, by heads and by tails."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from deepprooflog.errors import DataError
from deepprooflog.kg.data.triple_set import Side, TripleSet, check_triples, column, contexts
from deepprooflog.kg.data.triples import SIDES

ENTITIES, RELATIONS = 6, 3
EVERY = torch.cartesian_prod(
    torch.arange(ENTITIES), torch.arange(RELATIONS), torch.arange(ENTITIES)
)


def some() -> torch.Tensor:
    """Forty triples, some of them twice."""
    generator = torch.Generator().manual_seed(0)
    sizes = (ENTITIES, RELATIONS, ENTITIES)
    return torch.stack([torch.randint(n, (40,), generator=generator) for n in sizes], 1)


@pytest.mark.parametrize("side", SIDES)
def test_membership(side: Side) -> None:
    facts = {tuple(row) for row in some().tolist()}
    known = TripleSet.of(some(), entities=ENTITIES, side=side)
    assert len(known) == len(facts)
    wanted = [tuple(row) in facts for row in EVERY.tolist()]
    assert known.holds(*EVERY.unbind(1)).tolist() == wanted
    arrays = TripleSet.of(some().numpy(), entities=ENTITIES, side=side)
    assert arrays.holds(*EVERY.numpy().T).tolist() == wanted
    assert {tuple(map(int, row)) for row in zip(*arrays.columns(), strict=True)} == facts


@pytest.mark.parametrize("side", SIDES)
def test_completions(side: Side) -> None:
    """Every context of a small graph, with how many and which entities complete it."""
    facts = {tuple(row) for row in some().tolist()}
    asked = contexts(EVERY, side, ENTITIES).unique()
    wanted = [
        (place, row[column(side)])
        for place, context in enumerate(asked.tolist())
        for row in sorted(facts, key=lambda row: row[column(side)])
        if row[1] * ENTITIES + row[2 - column(side)] == context
    ]
    tensors = TripleSet.of(some(), entities=ENTITIES, side=side)
    arrays = TripleSet.of(some().numpy(), entities=ENTITIES, side=side)
    assert list(zip(*(part.tolist() for part in tensors.pairs(asked)), strict=True)) == wanted
    assert list(zip(*(p.tolist() for p in arrays.pairs(asked.numpy())), strict=True)) == wanted
    counts = np.bincount([place for place, _ in wanted], minlength=len(asked)).tolist()
    assert tensors.count(asked).tolist() == arrays.count(asked.numpy()).tolist() == counts


def test_of_nothing() -> None:
    assert not TripleSet.of(some()[:0], entities=ENTITIES).holds(*EVERY.unbind(1)).any()
    empty = TripleSet.of(some().numpy()[:0], entities=ENTITIES)
    assert empty.count(np.arange(4)).tolist() == [0] * 4
    assert [part.tolist() for part in empty.pairs(np.arange(4))] == [[], []]


def test_a_number_out_of_range_is_named() -> None:
    with pytest.raises(DataError, match="triple 1 has relation 2, but there are 2"):
        check_triples(torch.tensor([[0, 0, 1], [0, 2, 1]]), entities=3, relations=2)
