"""Several embeddings as one: side by side they score by the mean of their scores.

Embeddings from different seeds err differently, so that their mean often ranks better than one of
them; where they are large and well trained there may be nothing to gain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import torch

from deepprooflog.errors import ModelError
from deepprooflog.kg.kge.kge import Kge

K = TypeVar("K", bound=Kge)


@torch.no_grad()
def joined(members: Sequence[K]) -> K:
    """One embedding whose scores are the means of the members' scores.

    >>> from deepprooflog.kg.kge.complex import ComplEx
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
    first = members[0]
    result = type(first).side_by_side(members, sum(m.dimension for m in members))
    assert isinstance(result, type(first))
    return result.to(first.entity.device).train(first.training)
