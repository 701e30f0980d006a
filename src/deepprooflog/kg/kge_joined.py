"""Several embeddings as one: side by side they score by the mean of their scores.

    RotatE     γ − (1/k) Σⱼ Σᵢ |hᵢ rᵢ − tᵢ|        entities over k, in k · d dimensions
    ComplEx    (1/k) Σⱼ Re Σᵢ hᵢ rᵢ t̄ᵢ             entities over √k

Embeddings from different seeds err differently, so that their mean often ranks better than one of
them; where they are large and well trained there may be nothing to gain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from deepprooflog.errors import ModelError
from deepprooflog.kg.kge import ComplEx, Kge, RotatE

K = TypeVar("K", bound=Kge)


@torch.no_grad()
def joined(members: Sequence[K]) -> K:
    """One embedding whose scores are the means of the members' scores.

    >>> one, two = ComplEx(4, 1, 3, scale=1.0), ComplEx(4, 1, 3, scale=1.0)
    >>> triple = torch.tensor(0), torch.tensor(0), torch.tensor(1)
    >>> mean = (one.score(*triple) + two.score(*triple)) / 2
    >>> bool(torch.isclose(joined([one, two]).score(*triple), mean, atol=1e-5))
    True
    """
    if not members:
        raise ModelError("no embeddings to be joined")
    if len(members) == 1:
        return members[0]
    kinds = {(type(m), m.entities, m.relations) for m in members}
    if len(kinds) > 1:
        raise ModelError("embeddings of different kinds or graphs cannot be joined")
    first, count = members[0], len(members)
    dimension = sum(m.dimension for m in members)
    result: Kge
    if isinstance(first, RotatE):
        result = _joined_rotations([m for m in members if isinstance(m, RotatE)], dimension)
        scale = float(count)
    elif isinstance(first, ComplEx):
        result = ComplEx(first.entities, first.relations, dimension)
        result.factor.copy_(_beside([m.factor for m in members if isinstance(m, ComplEx)]))
        scale = math.sqrt(count)
    else:
        raise ModelError(f"{type(first).__name__} cannot be joined")
    result.entity.copy_(_beside([m.entity for m in members]) / scale)
    result = result.to(first.entity.device).train(first.training)
    assert isinstance(result, type(first))
    return result


def _joined_rotations(members: Sequence[RotatE], dimension: int) -> RotatE:
    first = members[0]
    if len({(m.margin, m.norm) for m in members}) > 1 or first.norm != "moduli":
        raise ModelError(
            "joined RotatEs have one margin and the norm of moduli",
            hint="distances of another norm do not add up",
        )
    result = RotatE(first.entities, first.relations, dimension, first.margin)
    result.set_phase(torch.cat([m.phase for m in members], 1))
    return result


def _beside(parts: Sequence[Float[Tensor, "n _width"]]) -> Float[Tensor, "n width"]:
    """Complex vectors one after another: all real parts, then all imaginary ones."""
    halves = [part.chunk(2, -1) for part in parts]
    return torch.cat([h[0] for h in halves] + [h[1] for h in halves], -1)
