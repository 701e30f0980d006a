"""The tensor bank of a batch: one stacked tensor where shapes allow it, else a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from deepprooflog.errors import ModelError
from deepprooflog.score.weigh import WeighRequest

StackedBank = Tensor | list[Tensor]


def tensor_of(value: object) -> Tensor:
    """A tensor, or an array of numpy as one: also one that is turned round or of another machine.

    >>> tensor_of(np.array([1, 2, 3], dtype=">i4")[::-1]).tolist()
    [3, 2, 1]
    """
    try:
        if isinstance(value, np.ndarray):
            return torch.as_tensor(np.array(value, dtype=value.dtype.newbyteorder("=")))
        tensor = torch.as_tensor(value)
        if tensor.is_meta or tensor.layout != torch.strided or tensor.is_quantized:
            raise ValueError("it is not an array of numbers in memory")
        return tensor
    except (TypeError, ValueError, RuntimeError, OverflowError, AttributeError) as reason:
        raise ModelError(
            f"a {type(value).__name__} in a goal is no tensor: {reason}",
            hint="pass tensors, or arrays of numbers; to_dense() or dequantize() makes plain ones",
        ) from None


def bank_of(tensors: Sequence[object] | Tensor | np.ndarray) -> StackedBank:
    """The tensors as a bank: a tensor or an array with a row for each is one already."""
    if isinstance(tensors, Tensor):
        return tensor_of(tensors)
    if isinstance(tensors, np.ndarray):
        shared = tensors.flags.writeable and min(tensors.strides, default=0) >= 0
        native = tensors.dtype.isnative and tensors.dtype.kind in "biuf"
        return torch.from_numpy(tensors) if shared and native else tensor_of(tensors)
    bank = [tensor_of(t) for t in tensors]
    shapes = {(tuple(t.shape), t.dtype, t.device) for t in bank}
    return torch.stack(bank) if len(shapes) == 1 else bank


def replaced(bank: StackedBank, tensors: Sequence[Tensor] | Tensor) -> StackedBank:
    """Other tensors in place of a bank's: as many as it has."""
    fits = tensors.ndim > 0 if isinstance(tensors, Tensor) else isinstance(tensors, Sequence)
    if not fits:
        raise ModelError(
            f"a {type(tensors).__name__} is no bank of tensors",
            hint="a list of tensors, or one tensor with a row for each",
        )
    if len(tensors) != len(bank):
        raise ModelError(f"the batch has {len(bank)} tensors, not {len(tensors)}")
    return tensors if isinstance(tensors, Tensor) else [tensor_of(t) for t in tensors]


def moved(bank: StackedBank, device: torch.device) -> StackedBank:
    """The bank on a device."""
    return bank.to(device) if isinstance(bank, Tensor) else [t.to(device) for t in bank]


def narrowed(
    asked: Sequence[WeighRequest], bank: StackedBank, device: torch.device
) -> tuple[list[WeighRequest], list[Tensor]]:
    """What is asked over those tensors of the bank alone that it names."""
    if not asked:
        return [], []
    used, own = np.unique(np.concatenate([a.slots.reshape(-1) for a in asked]), return_inverse=True)
    ends = np.cumsum([a.slots.size for a in asked])
    parts = np.split(own.reshape(-1), ends[:-1])
    narrow = [
        replace(a, slots=part.reshape(a.slots.shape)) for a, part in zip(asked, parts, strict=True)
    ]
    return narrow, [bank[int(n)].to(device) for n in used]


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
