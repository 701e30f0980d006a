"""Embeddings side by side: their scores are the means of the members', on every way to ask."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from deepprooflog.errors import ModelError
from deepprooflog.kg.kge.complex import ComplEx
from deepprooflog.kg.kge.distmult import DistMult
from deepprooflog.kg.kge.joined import joined
from deepprooflog.kg.kge.kge import Kge
from deepprooflog.kg.kge.rotate import RotatE
from deepprooflog.kg.kge.table import BY_NAME
from deepprooflog.kg.kge.transe import TransE


def members(kind: str, dimensions: tuple[int, ...]) -> list[Kge]:
    torch.manual_seed(0)
    if kind == "rotate":
        return [RotatE(7, 3, d, margin=6.0) for d in dimensions]
    if kind == "transe":
        return [TransE(7, 3, d, margin=6.0) for d in dimensions]
    real = DistMult if kind == "distmult" else ComplEx
    return [real(7, 3, d, scale=1.0) for d in dimensions]


@pytest.mark.parametrize("dimensions", [(4,), (4, 4), (2, 5, 3)])
@pytest.mark.parametrize("kind", BY_NAME)
def test_scores_are_means(kind: str, dimensions: tuple[int, ...]) -> None:
    parts = members(kind, dimensions)
    whole = joined(parts)
    assert whole.dimension == sum(dimensions)
    h, r, t = torch.randint(3, (3, 20))
    asks: list[Callable[[Kge], Tensor]] = [
        lambda m: m.score(h, r, t),
        lambda m: m.all_tails(h, r),
        lambda m: m.all_heads(r, t),
    ]
    for ask in asks:
        mean = torch.stack([ask(m) for m in parts]).mean(0)
        torch.testing.assert_close(ask(whole), mean, rtol=1e-4, atol=1e-4)


def test_what_cannot_be_joined() -> None:
    one = RotatE(7, 3, 4, margin=6.0)
    others: list[list[Kge]] = [
        [],
        [one, ComplEx(7, 3, 4)],
        [one, RotatE(8, 3, 4, margin=6.0)],
        [one, RotatE(7, 3, 4, margin=9.0)],
        [RotatE(7, 3, 4, norm="euclidean"), RotatE(7, 3, 4, norm="euclidean")],
    ]
    for parts in others:
        with pytest.raises(ModelError, match="joined"):
            joined(parts)
