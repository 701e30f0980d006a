"""Selections of a batch's goals: numbers or a mask, checked before anything is read by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from deepprooflog.errors import ModelError

Select: TypeAlias = Sequence[int] | Tensor | NDArray[Any]

HINT = "goals are selected by their numbers, or by a mask with a boolean for each goal"


def selection(select: Select, goals: int) -> Int[Tensor, "selected"]:
    """The numbers of the selected goals: as given (−1 is the last), or where a mask is True.

    >>> selection([2, -1], 4).tolist(), selection([True, False, True], 3).tolist()
    ([2, 3], [0, 2])

    Numbers that are on a GPU already are not looked at, so that nothing waits for the device.
    """
    try:
        index = torch.as_tensor(select)
    except (TypeError, ValueError, RuntimeError, OverflowError) as reason:
        raise ModelError(f"goals cannot be selected by this: {reason}", hint=HINT) from None
    if index.layout != torch.strided or index.is_meta:
        raise ModelError("goals cannot be selected by a sparse or empty tensor", hint=HINT)
    if index.ndim != 1:
        raise ModelError(
            f"a selection of goals has one dimension, not {index.ndim}: {list(index.shape)}",
            hint=HINT,
        )
    if not index.numel():
        return index.to(torch.int64)
    if index.dtype == torch.bool:
        if len(index) != goals:
            raise ModelError(
                f"the mask that selects goals has {len(index)} entries for {goals} goals", hint=HINT
            )
        return index.nonzero().squeeze(1)
    if index.dtype.is_floating_point or index.dtype.is_complex or index.is_quantized:
        raise ModelError(f"goals cannot be selected by numbers of {index.dtype}", hint=HINT)
    index = index.to(torch.int64)
    if index.device.type == "cpu":
        low, high = int(index.min()), int(index.max())
        if low < -goals or high >= goals:
            raise ModelError(
                f"goal {low if low < -goals else high} is selected, of {goals} goals",
                hint="goals are numbered from 0; −1 is the last",
            )
    return torch.where(index < 0, index + goals, index)
